package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/nets/cpu/kernels/guarded"
)

// testNormal returns a normalisation of c channels with unequal numbers that no short float has.
func testNormal(r *rand.Rand, c int) *Normal[float32] {
	mean, std := make([]float32, c), make([]float32, c)
	for i := range c {
		mean[i], std[i] = r.Float32(), 0.1+r.Float32()
	}
	return NewNormal[float32](mean, std)
}

// naiveGather is the definition of Gather, pixel by pixel.
func naiveGather(dst []float32, img []uint8, n *Normal[float32], c Crop) {
	clear(dst)
	for i := range c.H {
		for j := range c.W {
			row, col := i+c.Row-c.Pad, j+c.Col-c.Pad
			if row < 0 || row >= c.H || col < 0 || col >= c.W {
				continue
			}
			at := j
			if c.Flip {
				at = c.W - 1 - j
			}
			for ch := range c.C {
				v := img[(row*c.W+col)*c.C+ch]
				dst[((i+c.Border)*(c.W+2*c.Border)+at+c.Border)*c.C+ch] = n.table[ch*256+int(v)]
			}
		}
	}
}

// crops calls test for crops of several sizes, all corners and flips.
func crops(r *rand.Rand, test func(c Crop)) {
	for _, s := range []struct{ h, w, c, border, pad int }{
		{1, 1, 1, 0, 0},
		{3, 5, 1, 1, 1},
		{2, 15, 1, 0, 2},
		{4, 16, 1, 1, 0},
		{2, 33, 1, 2, 3},
		{3, 7, 2, 0, 1},
		{3, 4, 3, 0, 2},
		{3, 5, 3, 1, 2},
		{4, 9, 3, 0, 1},
		{2, 32, 3, 1, 4},
		{3, 9, 4, 1, 2},
		{2, 6, 5, 0, 1},
		{2, 5, 7, 1, 1},
		{2, 3, 16, 0, 1},
		{2, 3, 17, 1, 1},
		{3, 3, 3, 1, 4}, // a crop may miss the image
	} {
		for corner := range 9 {
			c := Crop{
				H: s.h, W: s.w, C: s.c, Border: s.border, Pad: s.pad, Row: corner / 3 * s.pad, Col: corner % 3 * s.pad,
			}
			if s.pad > 1 && corner%2 == 0 {
				c.Row, c.Col = r.IntN(2*s.pad+1), r.IntN(2*s.pad+1)
			}
			for _, c.Flip = range []bool{false, true} {
				test(c)
			}
		}
	}
}

func TestGather(t *testing.T) {
	check := func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(21, 22))
		crops(r, func(c Crop) {
			n := testNormal(r, c.C)
			for _, behind := range []int{0, 1, 40} { // bytes of the next image
				img := make([]uint8, c.H*c.W*c.C+behind)
				for i := range img {
					img[i] = uint8(r.Uint32())
				}
				want := make([]float32, (c.H+2*c.Border)*(c.W+2*c.Border)*c.C)
				naiveGather(want, img, n, c)
				p.Reset()
				got := lend(p, numbers(r, len(want), 3))
				c.Ahead = r.IntN(1<<40) - 1<<39 // where nothing may be
				k.Gather(got, lend(p, img), n, c)
				what := fmt.Sprintf("%+v, %d bytes behind: dst", c, behind)
				p.Intact(t, what)
				wantSame(t, what, got, want)
			}
		})
	}
	t.Run("generic", func(t *testing.T) { check(t, Generic[float32](), guarded.Places(t)[0]) })
	everywhere(t, check)
}

// TestNormal compares the value of every byte with the formula, for the means and deviations of data sets and for odd
// ones.
func TestNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, k := range Variants() {
		for i := range 300 {
			mean, std := []float32{0.4914, 0.4822, 0.4465}, []float32{0.2470, 0.2435, 0.2616}
			if i > 0 {
				mean, std = fractions(r, 3), abs(fractions(r, 3))
			}
			if i > 200 {
				for c := range std {
					std[c] *= 1e-30
					mean[c] *= 1e30
				}
			}
			n := NewNormal[float32](mean, std)
			if ordinary := i <= 200; ordinary == n.scalar {
				t.Errorf("mean %v std %v: scalar %t", mean, std, n.scalar)
			}
			img := make([]uint8, 256*3)
			for i := range img {
				img[i] = uint8(i / 3)
			}
			want := make([]float32, len(img))
			for i, v := range img {
				want[i] = (float32(v)/255 - mean[i%3]) / std[i%3]
			}
			got := make([]float32, len(img))
			k.Gather(got, img, n, Crop{H: 16, W: 16, C: 3})
			wantSame(t, fmt.Sprintf("%s: mean %v std %v: values", k.Name(), mean, std), got, want)
		}
	}
}

// TestFMA compares fma with numbers of any precision: ordinary ones, and sums next to the middle of two float32.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for i := range 200000 {
		a, b := float32(r.NormFloat64()), float32(r.NormFloat64())
		c := float32(r.NormFloat64())
		if i%2 == 0 { // a·b is about half the distance from c to the next float32
			c = float32(math.Ldexp(float64(c), 24))
			b = float32(math.Ldexp(1, r.IntN(3)-1)) / a
		}
		exact := new(big.Float).SetPrec(300).SetFloat64(float64(a) * float64(b))
		want, _ := exact.Add(exact, big.NewFloat(float64(c))).Float32()
		if got := fma(a, b, c); got != want {
			t.Fatalf("fma(%b, %b, %b) = %b, want %b", a, b, c, got, want)
		}
	}
}

func TestGatherPanics(t *testing.T) {
	for _, k := range Variants() {
		n := NewNormal[float32](make([]float32, 3), slices.Repeat([]float32{1}, 3))
		c := Crop{H: 4, W: 6, C: 3, Border: 1, Pad: 2, Row: 1, Col: 3}
		img, dst := make([]uint8, 72), make([]float32, 6*8*3)
		k.Gather(dst, img, n, c)
		with := func(change func(*Crop)) Crop {
			u := c
			change(&u)
			return u
		}
		for what, run := range map[string]func(){
			"short img":      func() { k.Gather(dst, img[:71], n, c) },
			"short dst":      func() { k.Gather(dst[:143], img, n, c) },
			"long dst":       func() { k.Gather(make([]float32, 145), img, n, c) },
			"other channels": func() { k.Gather(dst, img, n, with(func(c *Crop) { c.C, c.W = 2, 9 })) },
			"no rows":        func() { k.Gather(dst, img, n, with(func(c *Crop) { c.H = 0 })) },
		} {
			wantPanic(t, k.Name()+": gather: "+what, run)
		}
	}
}
