package plot

import (
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"

	"rollcall/results/files"
)

// pngDPI makes pictures twice as fine as [FigureWidth], for screens and slides.
const pngDPI = 2 * 96

// sizedCanvas is what a figure is drawn on.
type sizedCanvas interface {
	vg.CanvasSizer
	io.WriterTo
}

// WriteFigurePNG writes a figure as PNG, twice [FigureWidth] wide, atomically.
func WriteFigurePNG(path string, f Figure) error {
	return files.WriteFile(path, f.writePNG)
}

func (f Figure) writePNG(w io.Writer) error {
	canvas, err := f.draw(func(width, height vg.Length) sizedCanvas {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
	})
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(w)
	return err
}
