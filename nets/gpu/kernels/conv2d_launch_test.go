package kernels

import "testing"

// The convolutions of the residual nets have the shared memory that every card has for a block, all pixels and weights
// have a tile, and Fits refuses maps that are too large to be counted.
func TestConv2DGeometry(t *testing.T) {
	for _, c := range []struct{ H, C, R, O, U, pad uint32 }{
		{32, 3, 3, 64, 1, 1},
		{32, 64, 3, 64, 1, 1},
		{32, 64, 3, 128, 2, 1},
		{32, 64, 1, 128, 2, 0},
		{8, 256, 3, 256, 1, 1},
		{4, 512, 3, 512, 1, 1},
		{32, 16, 3, 16, 1, 1},
		{33, 16, 3, 32, 2, 1},
		{7, 5, 1, 7, 3, 0},
	} {
		for _, B := range []uint32{1, 5, 64, 512} {
			for _, p := range []Precision{FP32, TF32, BF16} {
				a := Conv2DArgs{B: B, H: c.H, W: c.H, C: c.C, R: c.R, S: c.R, O: c.O, U: c.U, Pad: c.pad}
				a.Images = a.ChunkImages(p)
				if !a.Fits() || a.Images < 1 || a.Images > B {
					t.Errorf("%+v %s: fits %v, %d images in a partial sum, want true, 1 … %d",
						a, p, a.Fits(), a.Images, B)
				}
				rows, columns := a.Out()
				for what, v := range map[string]struct {
					g          Launch
					rows, cols uint32
				}{
					"forward": {a.Forward(p), B * rows * columns, c.O},
					"data":    {a.BackwardData(p), B * c.H * c.H, c.C},
					"filter":  {a.BackwardFilter(p), c.R * c.R * c.C, c.O},
				} {
					tile := a.pixelTile(p, v.cols)
					if what == "filter" {
						tile = a.filterTile(p)
					}
					covered := v.g.X / ceil(v.cols, tile.columns) * tile.rows
					if v.g.Shared > 99*1024 || v.g.Threads != tile.threads || covered < int(v.rows) {
						t.Errorf("%+v %s %s: %+v covers %d rows, want %d, at most 99 KB, %d threads",
							a, p, what, v.g, covered, v.rows, tile.threads)
					}
				}
			}
		}
	}
	for _, a := range []Conv2DArgs{
		{B: 1, H: 1 << 13, W: 1, C: 1, R: 1, S: 1, O: 1, U: 1},
		{B: 1 << 12, H: 32, W: 32, C: 3, R: 3, S: 3, O: 512, U: 1, Pad: 1},
	} {
		if a.Fits() {
			t.Errorf("%+v fits, want not", a)
		}
	}
}
