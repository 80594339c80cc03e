package plot

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"

	"rollcall/internal/files"
)

func (f Figure) writeSVG(w io.Writer, inches float64) error {
	var svg bytes.Buffer
	err := f.write(&svg, inches, func(width, height vg.Length) vg.CanvasWriterTo { return vgsvg.New(width, height) })
	if err != nil {
		return err
	}
	_, err = files.Printed(w).Write(corrected(svg.Bytes()))
	return err
}

// corrected adds fonts of the same widths to an SVG, for viewers without the font that was measured. Its pictures are
// PNG, which gonum calls JPEG, and fill their place, whatever their shape. Its lines are [relative].
func corrected(svg []byte) []byte {
	svg = bytes.ReplaceAll(svg, []byte("data:image/jpg;"), []byte("data:image/png;"))
	svg = bytes.ReplaceAll(svg, []byte("<image "), []byte(`<image preserveAspectRatio="none" `))
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	return polyline.ReplaceAllFunc(svg, relative)
}

// polyline is a path of straight lines in an SVG, from M to its last point.
var polyline = regexp.MustCompile(`M[^"A-Z]+(L[^"A-Z]+)+`)

// relative returns a polyline in hundredths of a point, each of its points as the distance from the one before: long
// curves take 40 % less. What is rounded are the points, as the errors of rounded distances would add up.
func relative(path []byte) []byte {
	var short coordinates
	lastX, lastY := 0, 0
	for i, point := range strings.Split(string(path[1:]), "L") {
		var x, y float64
		if _, err := fmt.Sscanf(point, "%g,%g", &x, &y); err != nil {
			return path
		}
		if i < 2 {
			short.command("Ml"[i])
		}
		atX, atY := int(math.Round(100*x)), int(math.Round(100*y))
		short.add(atX - lastX)
		short.add(atY - lastY)
		lastX, lastY = atX, atY
	}
	return short.text
}

// coordinates is the text of a path, with nothing between numbers that are told apart without: l1.5.25-3.
type coordinates struct {
	text       []byte
	begun, dot bool // whether a number of the command is there; whether the last one has a dot
}

func (c *coordinates) command(letter byte) {
	*c = coordinates{text: append(c.text, letter)}
}

// add adds a number of hundredths.
func (c *coordinates) add(hundredths int) {
	number := strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64)
	number = leadingZero.ReplaceAllString(number, "$1.")
	if c.begun && number[0] != '-' && (number[0] != '.' || !c.dot) {
		c.text = append(c.text, ' ')
	}
	c.text = append(c.text, number...)
	c.begun, c.dot = true, strings.Contains(number, ".")
}

var leadingZero = regexp.MustCompile(`^(-?)0\.`)
