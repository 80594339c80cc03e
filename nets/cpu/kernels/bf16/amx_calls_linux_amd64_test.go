package bf16

import (
	"math/rand/v2"
	"testing"
)

// TestAMXAllocates counts what the kernels allocate.
func TestAMXAllocates(t *testing.T) {
	needAMX(t)
	modes(t, func(t *testing.T, split bool) {
		k := Kernels[float32](amx{split})
		s := randomSample(rand.New(rand.NewPCG(7, 8)), 33, 20, 0, 1)
		p := s.Product
		p.A, p.B, p.C = k.NewOperand(len(s.a)), k.NewOperand(len(s.b)), s.c
		x, o, q := make([]float32, 64*32), k.NewOperand(64*32), k.NewOperand(64*32)
		db, arg, none := make([]float32, 32), make([]uint8, len(x)), Operand[float32]{}
		for name, f := range map[string]func(){
			"Multiply":  func() { k.Multiply(&p) },
			"Round":     func() { k.Round(o, x) },
			"Pack":      func() { k.Pack(o, x, 32, 64, 32, 64) },
			"Transpose": func() { k.Transpose(o, 64, x, 32, 64, 32) },
			"Unpool":    func() { k.(Unpooler[float32]).Unpool(o, q, none, none, db, x[:1024], arg) },
		} {
			if n := testing.AllocsPerRun(10, f); n != 0 {
				t.Errorf("%s: %g allocations, want none", name, n)
			}
		}
	})
}

// TestAMXPanics calls with slices that are too short, and with sizes that are impossible.
func TestAMXPanics(t *testing.T) {
	needAMX(t)
	modes(t, func(t *testing.T, split bool) {
		k := amx{split}
		exact := func(n int) Operand[float32] { return k.NewOperand(n).First(n) }
		f := func(n int) []float32 { return make([]float32, n) }
		u := func(n int) []uint8 { return make([]uint8, n) }
		none := Operand[float32]{}
		for name, call := range map[string]func(){
			"round: short dst":         func() { k.Round(exact(4), f(5)) },
			"pack: short dst":          func() { k.Pack(exact(11), f(9), 3, 3, 3, 4) },
			"pack: short src":          func() { k.Pack(exact(12), f(8), 3, 3, 3, 4) },
			"pack: odd padding":        func() { k.Pack(exact(9), f(9), 3, 3, 3, 3) },
			"pack: less than the rows": func() { k.Pack(exact(9), f(9), 3, 3, 3, 2) },
			"pack: overlapping rows":   func() { k.Pack(exact(12), f(9), 2, 3, 3, 4) },
			"transpose: short dst":     func() { k.Transpose(exact(5), 2, f(6), 3, 2, 3) },
			"transpose: short src":     func() { k.Transpose(exact(6), 2, f(5), 3, 2, 3) },
			"unpool: 8 channels":       func() { k.Unpool(exact(16), exact(16), none, none, f(8), f(8), u(8)) },
			"unpool: half a pixel":     func() { k.Unpool(exact(48), exact(48), none, none, f(16), f(24), u(24)) },
			"unpool: short arg":        func() { k.Unpool(exact(32), exact(32), none, none, f(16), f(16), u(15)) },
			"unpool: short pairs":      func() { k.Unpool(exact(32), exact(31), none, none, f(16), f(16), u(16)) },
			"unpool: short rows": func() {
				k.Unpool(exact(32), exact(32), exact(32), exact(31), f(16), f(16), u(16))
			},
			"unpool: one row": func() { k.Unpool(exact(32), exact(32), exact(32), none, f(16), f(16), u(16)) },
			"multiply: short C": func() {
				k.Multiply(&Product[float32]{
					A: exact(4), B: exact(4), C: f(3),
					M: 2, N: 2, Segs: 1, Chunks: 1, Size: 2, ARow: 2, CRow: 2, Runs: 1,
				})
			},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic, want one", name)
					}
				}()
				call()
			}()
		}
	})
}
