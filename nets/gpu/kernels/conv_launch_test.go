package kernels

import "testing"

// The convolutions of the nets fit every card at every batch, and Fits refuses sizes that do not.
func TestConvFits(t *testing.T) {
	for _, c := range []struct {
		H, C, R, O, pad uint32
		want            bool
	}{
		{32, 3, 3, 32, 1, true},
		{16, 32, 3, 32, 1, true},
		{32, 3, 5, 32, 0, true},
		{14, 32, 5, 64, 0, true},
		{32, 3, 5, 6, 0, true},
		{14, 6, 5, 16, 0, true},
		{16, 512, 3, 512, 1, true},
		{16, 256, 5, 256, 2, true},
		{16, 4096, 3, 64, 1, false}, // one window's pixels take 128 KB and more
		{16, 64, 3, 4096, 1, false},
	} {
		for _, B := range []uint32{1, 5, 128, 512} {
			for _, p := range []Precision{FP32, TF32, BF16} {
				a := ConvArgs{B: B, H: c.H, W: c.H, C: c.C, R: c.R, S: c.R, O: c.O, Pad: c.pad}
				a.Images = a.ChunkImages()
				if got := a.Fits(p); got != c.want {
					t.Errorf("%+v B=%d %s: fits %v, want %v", c, B, p, got, c.want)
				}
				if !c.want {
					continue
				}
				for what, g := range map[string]Launch{
					"forward": a.Forward(p, 1), "data": a.BackwardData(p, 1), "filter": a.BackwardFilter(p),
				} {
					if g.X < 1 || g.Shared > convShared || g.Threads%32 != 0 {
						t.Errorf("%+v B=%d %s %s: %+v, want at least one block, at most %d bytes, whole warps",
							c, B, p, what, g, convShared)
					}
				}
			}
		}
	}
}
