package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdfCanvas draws on one page of a PDF. In contrast to gonum's vgpdf it embeds only the letters that occur, takes all
// of Unicode, such as γ, and draws transparent bands in their colour. Its coordinates are PDF's own, from the lower
// left corner in points, and the operators that it writes are those of ISO 32000, section 8.
type pdfCanvas struct {
	doc           *fpdf.Fpdf
	width, height vg.Length
	line          vg.Length       // width of lines
	lines         []vg.Length     // the widths that Push keeps
	fonts         map[string]bool // by name, those that are embedded
	pictures      int             // so many have been drawn
}

// newPDF returns a canvas of a size. The same drawing gives the same bytes.
func newPDF(width, height vg.Length) vg.CanvasWriterTo {
	doc := fpdf.NewCustom(&fpdf.InitType{
		UnitStr: "pt", Size: fpdf.SizeType{Wd: width.Points(), Ht: height.Points()},
	})
	doc.SetCatalogSort(true)
	day := time.Unix(0, 0).UTC() // a PDF must have a date
	doc.SetCreationDate(day)
	doc.SetModificationDate(day)
	doc.SetProducer("rollcall", true)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddPage()
	return &pdfCanvas{doc: doc, width: width, height: height, fonts: map[string]bool{}}
}

// out writes an operator, with its numbers before it.
func (c *pdfCanvas) out(format string, operands ...any) {
	c.doc.RawWriteStr(fmt.Sprintf(format+"\n", operands...))
}

func (c *pdfCanvas) Size() (width, height vg.Length) { return c.width, c.height }

func (c *pdfCanvas) SetLineWidth(width vg.Length) {
	c.line = width
	c.out("%.3f w", width)
}

func (c *pdfCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.out("%.3f %.3f d", pattern, offset)
}

func (c *pdfCanvas) SetColor(colour color.Color) {
	n := color.NRGBAModel.Convert(colour).(color.NRGBA)
	r, g, b := int(n.R), int(n.G), int(n.B)
	c.doc.SetFillColor(r, g, b)
	c.doc.SetDrawColor(r, g, b)
	c.doc.SetTextColor(r, g, b)
	c.doc.SetAlpha(float64(n.A)/255, "Normal")
}

func (c *pdfCanvas) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	c.out("%.5f %.5f %.5f %.5f 0 0 cm", cos, sin, -sin, cos)
}

func (c *pdfCanvas) Translate(by vg.Point) { c.out("1 0 0 1 %.3f %.3f cm", by.X, by.Y) }

func (c *pdfCanvas) Scale(x, y float64) { c.out("%.5f 0 0 %.5f 0 0 cm", x, y) }

func (c *pdfCanvas) Push() {
	c.lines = append(c.lines, c.line)
	c.out("q")
}

func (c *pdfCanvas) Pop() {
	last := len(c.lines) - 1
	c.line, c.lines = c.lines[last], c.lines[:last]
	c.out("Q")
}

func (c *pdfCanvas) Stroke(path vg.Path) {
	if c.line > 0 { // PDF draws a line of width 0 as thin as it can
		c.trace(path)
		c.out("S")
	}
}

func (c *pdfCanvas) Fill(path vg.Path) {
	c.trace(path)
	c.out("f")
}

// trace writes a path. An arc becomes curves of at most a quarter of a circle, which are right to 0.03 % of its radius.
func (c *pdfCanvas) trace(path vg.Path) {
	begun := false
	for _, p := range path {
		switch p.Type {
		case vg.MoveComp:
			c.out("%.3f %.3f m", p.Pos.X, p.Pos.Y)
		case vg.LineComp:
			c.out("%.3f %.3f l", p.Pos.X, p.Pos.Y)
		case vg.CurveComp:
			from := p.Control[0]
			to := p.Control[len(p.Control)-1] // of one control point the curve is quadratic, which we never draw
			c.out("%.3f %.3f %.3f %.3f %.3f %.3f c", from.X, from.Y, to.X, to.Y, p.Pos.X, p.Pos.Y)
		case vg.ArcComp:
			parts := max(1, int(math.Ceil(math.Abs(p.Angle)/(math.Pi/2))))
			step := p.Angle / float64(parts)
			reach := 4. / 3 * math.Tan(step/4) // of the control points along the tangents, in radii
			at := func(angle, ahead float64) (x, y float64) {
				sin, cos := math.Sincos(angle)
				r := p.Radius.Points()
				return p.Pos.X.Points() + r*(cos-ahead*sin), p.Pos.Y.Points() + r*(sin+ahead*cos)
			}
			x, y := at(p.Start, 0)
			operator := "m"
			if begun {
				operator = "l"
			}
			c.out("%.3f %.3f %s", x, y, operator)
			for i := range parts {
				begin := p.Start + float64(i)*step
				x1, y1 := at(begin, reach)
				x2, y2 := at(begin+step, -reach)
				x3, y3 := at(begin+step, 0)
				c.out("%.3f %.3f %.3f %.3f %.3f %.3f c", x1, y1, x2, y2, x3, y3)
			}
		case vg.CloseComp:
			c.out("h")
		}
		begun = true
	}
}

func (c *pdfCanvas) FillString(face font.Face, at vg.Point, text string) {
	name := face.Name()
	if !c.fonts[name] {
		var ttf bytes.Buffer
		if _, err := face.Face.WriteSourceTo(nil, &ttf); err != nil {
			c.doc.SetError(err)
			return
		}
		c.doc.AddUTF8FontFromBytes(name, "", ttf.Bytes())
		c.fonts[name] = true
	}
	c.doc.SetFont(name, "", face.Font.Size.Points())
	c.doc.Text(at.X.Points(), (c.height - at.Y).Points(), text) // fpdf counts from the top
}

// DrawImage implements [vg.Canvas].
func (c *pdfCanvas) DrawImage(at vg.Rectangle, picture image.Image) {
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		c.doc.SetError(err)
		return
	}
	options := fpdf.ImageOptions{ImageType: "PNG"}
	c.pictures++
	name := fmt.Sprint(c.pictures)
	c.doc.RegisterImageOptionsReader(name, options, &data)
	left, top := at.Min.X.Points(), (c.height - at.Max.Y).Points() // fpdf counts from the top
	c.doc.ImageOptions(name, left, top, at.Size().X.Points(), at.Size().Y.Points(), false, options, 0, "")
}

// WriteTo writes the document.
func (c *pdfCanvas) WriteTo(w io.Writer) (n int64, err error) {
	var whole bytes.Buffer
	if err := c.doc.Output(&whole); err != nil {
		return 0, fmt.Errorf("plot: %w", err)
	}
	return whole.WriteTo(w)
}
