package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/datasets/rng"
)

// TestDropoutMask compares the mask with the blocks of the generator, word by word.
func TestDropoutMask(t *testing.T) {
	d := Draw{Seed: 7, Round: 3, Client: 5, Step: 2}
	for _, rate := range []float64{0, 0.2, 0.5, 0.999} {
		for _, lo := range []int{0, 1, 6, 4096} {
			mask := make([]uint8, 1000)
			DropoutMask(mask, lo, d, 1, rate)
			kept := 0
			for i, got := range mask {
				e := lo + i
				word := rng.Key{Seed: d.Seed, Purpose: rng.Layer(1)}.Block(d.Round, d.Client, d.Step, uint32(e/4))[e%4]
				want := uint8(0)
				if float64(word) >= rate*(1<<32) {
					want = 1
				}
				if got != want {
					t.Fatalf("rate=%g element %d: got %d, want %d", rate, e, got, want)
				}
				kept += int(got)
			}
			// A binomial number, within five standard deviations.
			if p := 1 - rate; math.Abs(float64(kept)-1000*p) > 5*math.Sqrt(1000*p*rate) {
				t.Errorf("rate=%g: %d of 1000 kept", rate, kept)
			}
		}
	}
}

func TestDropout(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(25, 26))
		for _, n := range lengths {
			for _, lo := range []int{0, 3, 4, 1 << 14, math.MaxInt32 &^ 7} {
				for _, rate := range []float64{0, 0.2, 0.5} {
					d, layer := Draw{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()}, r.IntN(3)
					x := numbers(r, n, 20)
					want, wantMask := make([]float32, n), make([]uint8, n)
					generic[float32]{}.Dropout(want, wantMask, x, lo, d, layer, rate)
					p.Reset()
					in, got, mask := lend(p, x), lend(p, numbers(r, n, 0)), lend(p, slices.Repeat([]uint8{99}, n))
					k.Dropout(got, mask, in, lo, d, layer, rate)
					what := fmt.Sprintf("n=%d lo=%d rate=%g", n, lo, rate)
					p.Intact(t, what)
					wantSameBytes(t, what+": mask", mask, wantMask)
					wantSame(t, what+": y", got, want)
					k.Dropout(in, mask, in, lo, d, layer, rate)
					wantSame(t, what+": y in place", in, want)
				}
			}
		}
	})
}

// TestDropoutThreshold: a word equal to the threshold keeps its element.
func TestDropoutThreshold(t *testing.T) {
	d := Draw{Seed: 9, Round: 8, Client: 7, Step: 6}
	for _, k := range Variants() {
		x := slices.Repeat([]float32{1}, 64)
		for e := range x {
			word := rng.Key{Seed: d.Seed, Purpose: rng.Layer(0)}.Block(d.Round, d.Client, d.Step, uint32(e/4))[e%4]
			for above, want := range []uint8{1, 0} {
				y, mask := make([]float32, len(x)), make([]uint8, len(x))
				k.Dropout(y, mask, x, 0, d, 0, float64(word+uint32(above))*0x1p-32)
				if mask[e] != want || (y[e] != 0) != (want == 1) {
					t.Fatalf("%s: element %d, word %#x, threshold %d above it: mask %d y %g, want mask %d",
						k.Name(), e, word, above, mask[e], y[e], want)
				}
			}
		}
	}
}

func TestApplyMask(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(27, 28))
		for _, n := range lengths {
			x, mask, want := numbers(r, n, 20), make([]uint8, n), make([]float32, n)
			for i := range mask {
				mask[i] = uint8(r.IntN(2) * (1 + r.IntN(255)))
			}
			generic[float32]{}.ApplyMask(want, x, mask, 1.25)
			p.Reset()
			in, m, got := lend(p, x), lend(p, mask), lend(p, numbers(r, n, 0))
			k.ApplyMask(got, in, m, 1.25)
			what := fmt.Sprintf("n=%d", n)
			p.Intact(t, what)
			wantSame(t, what+": y", got, want)
			k.ApplyMask(in, in, m, 1.25)
			wantSame(t, what+": y in place", in, want)
		}
	})
}

func TestDropoutPanics(t *testing.T) {
	for _, k := range Variants() {
		f := func(n int) []float32 { return make([]float32, n) }
		u := func(n int) []uint8 { return make([]uint8, n) }
		for what, run := range map[string]func(){
			"dropout: short y":      func() { k.Dropout(f(39), u(40), f(40), 0, Draw{}, 0, 0.5) },
			"dropout: short mask":   func() { k.Dropout(f(40), u(39), f(40), 0, Draw{}, 0, 0.5) },
			"applyMask: short y":    func() { k.ApplyMask(f(39), f(40), slices.Repeat([]uint8{1}, 40), 1) },
			"applyMask: short mask": func() { k.ApplyMask(f(40), f(40), u(39), 1) },
		} {
			wantPanic(t, k.Name()+": "+what, run)
		}
	}
}
