package algos

import (
	"testing"

	"rollcall/internal/must"
)

// step is one hand-worked round: who is active, and the model afterwards in units of (3, 4).
type step struct {
	t        int
	active   []int
	want     float64
	lr       float64   // 0: 1/2
	serverLR float64   // 0: 1
	p        []float64 // nil: the base probabilities
}

// workedCase is a method whose rounds are worked by hand.
type workedCase struct {
	name, method string
	u            []float64                   // [N] where the clients are
	change       func(*Federation, *Options) // of preset paper; nil: nothing is changed
	steps        []step
}

// Every client sits at u_i·(3, 4), the model starts at 0, and E = 1: Δ_i = η(u_i − w) from a start at w, with η = 1/2.
// All lines of the cases follow from that and the formulas of the methods; what is printed is the multiple of (3, 4).
//
// They are what no formula of TestFormulas has: F3AST's variants, and the corners of CA-Fed's exclusions.
func TestWorked(t *testing.T) {
	for _, c := range worked {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(c.u...)
			o := Options{Preset: Paper}
			if c.change != nil {
				c.change(&f, &o)
			}
			m := start(t, c.method, f, o)
			for _, s := range c.steps {
				r := at(s.t, f, 1, s.active...)
				if s.lr != 0 {
					r.LR = s.lr
				}
				if s.serverLR != 0 {
					r.ServerLR = s.serverLR
				}
				if s.p != nil {
					r.P = s.p
				}
				must.Get(m.Round(t.Context(), r))(t)
				if got := model(t, m, f); !near(got, s.want, toyTol) {
					t.Errorf("round %d, active %v: model %v, want %v ± %g",
						s.t, s.active, got, scaled(s.want), toyTol)
				}
			}
		})
	}
}

// setValues is a change of values alone, in pairs of name and value.
func setValues(pairs ...string) func(*Federation, *Options) {
	return func(_ *Federation, o *Options) { o.Values = withValues(o.Preset, pairs...).Values }
}

var worked = []workedCase{
	// F3AST, Algorithm 1: α = (1/4, 3/4), r = (1/2, 1/4), β = 1/4. After t=0 r = (0.625, 0.1875), after t=1
	// (0.46875, 0.140625), after t=2 (0.6015625, 0.35546875).
	{"f3ast", "f3ast", []float64{8, 16}, f3astCase(), []step{
		{t: 0, active: []int{0}, want: 1.6}, // (0.25/0.625)·4
		{t: 1, want: 1.6},
		{t: 2, active: []int{0, 1}, want: 1.6 + 0.25/0.6015625*3.2 + 0.75/0.35546875*7.2},
	}},
	{"f3ast: the mean", "f3ast", []float64{8, 16}, f3astCase("f3ast-mean", "true"), []step{
		{t: 0, active: []int{0}, want: 1.6},
		{t: 1, want: 1.6},
		{t: 2, active: []int{0, 1}, serverLR: 0.5, want: 1.6 + 0.25*(0.25/0.6015625*3.2+0.75/0.35546875*7.2)},
	}},
	// M = 1: at t=2 the scores α/r are 0.53 and 5.3, client 1 is sampled and client 0 does not count for r:
	// r = (0.3515625, 0.35546875). At t=3 they are 0.71 and 2.1: client 1 again, r_1 = 0.75·0.35546875 + 0.25.
	{"f3ast: M=1", "f3ast", []float64{8, 16}, f3astCase("f3ast-limit", "1"), []step{
		{t: 0, active: []int{0}, want: 1.6},
		{t: 1, want: 1.6},
		{t: 2, active: []int{0, 1}, want: 1.6 + 0.75/0.35546875*7.2},
		{t: 3, active: []int{0, 1}, want: 16.791208791 - 0.75/0.5166015625*0.3956043956},
	}},
	{"f3ast: M=N", "f3ast", []float64{8, 16}, f3astCase("f3ast-limit", "2"), []step{
		{t: 2, active: []int{0, 1}, want: 0.25/0.625*4 + 0.75/0.4375*8},
	}},
	// CA-Fed's code: r = (0.75·p_i + 0.25 if there), (0.625, 0.4375), whatever came before.
	{"f3ast: no memory", "f3ast", []float64{8, 16}, f3astCase("f3ast-memoryless", "true"), []step{
		{t: 0, active: []int{0}, want: 1.6},
		{t: 1, want: 1.6},
		{t: 2, active: []int{0, 1}, want: 1.6 + 0.4*3.2 + 0.75/0.4375*7.2},
	}},
	{
		"f3ast: no memory, M=1", "f3ast",
		[]float64{8, 16},
		f3astCase("f3ast-memoryless", "true", "f3ast-limit", "1"),
		[]step{
			{t: 0, active: []int{0}, want: 1.6},
			{t: 2, active: []int{0, 1}, want: 1.6 + 0.75/0.4375*7.2}, // scores α/r 0.4 and 1.71
		},
	},
	// CA-Fed, Algorithm 1, two clients at α = 1/2, π = 1/2, so q = (1, 1); λ = (0, 0.5), so client 1 is tried first. At
	// m·(3, 4) client i's loss is 12.5 (m − u_i)². κ̄² = 1/16: ε = G/S + d_TV²·Γ̂′/4.
	{"ca-fed", "ca-fed", []float64{8, 16}, cafedCase(Paper, "0.0625", "0"), []step{
		{t: 0, active: []int{0, 1}, want: 12}, // gaps 0: all stay
		{t: 1, active: []int{0, 1}, want: 12}, // losses fell to (200, 200): gaps 0; Δ = (−2, 2)
		{t: 2, active: []int{0}, want: 10},
		{t: 3, active: []int{1}, want: 10},   // F̂_1 = 450, gap 250: ε = 125 → 0 + 0.25·250/4 = 15.625 without client 1
		{t: 4, active: []int{0, 1}, want: 9}, // the same, Δ_0 = −1
		{t: 5, want: 9},
	}},
	{"ca-fed: κ̄²=1", "ca-fed", []float64{8, 16}, cafedCase(Paper, "1", "0"), []step{
		{t: 0, active: []int{0, 1}, want: 12},
		{t: 1, active: []int{0, 1}, want: 12},
		{t: 2, active: []int{0}, want: 10},
		{t: 3, active: []int{1}, want: 13}, // ε = 125 → 250 without client 1, 250 + 250 without client 0
	}},
	{"ca-fed: τ=109", "ca-fed", []float64{8, 16}, cafedCase(Paper, "0.0625", "109"), []step{
		{t: 1, active: []int{0, 1}, want: 12},
		{t: 2, active: []int{0, 1}, want: 12},
		{t: 3, active: []int{0}, want: 10},
		{t: 4, active: []int{1}, want: 10}, // ε falls by 109.375
	}},
	{"ca-fed: τ=110", "ca-fed", []float64{8, 16}, cafedCase(Paper, "0.0625", "110"), []step{
		{t: 1, active: []int{0, 1}, want: 12},
		{t: 2, active: []int{0, 1}, want: 12},
		{t: 3, active: []int{0}, want: 10},
		{t: 4, active: []int{1}, want: 13}, // ε falls by 109.375
	}},
	// The code: F* = 0, ε = G/S + d_TV²·Γ̂′.
	{"ca-fed: code", "ca-fed", []float64{8, 16}, cafedCase(Code, "77", "0"), []step{
		{t: 0, active: []int{0, 1}, want: 4}, // F̂ = (800, 3200): 2000 → 800 + 800 without client 1
		{t: 1, active: []int{0}, want: 6},    // (200, 3200): 1700 → 1000
		{t: 2, active: []int{1}, want: 6},    // (200, 1250): 725 → 512.5
		{t: 3, active: []int{0}, want: 7},    // (50, 1250): 650 → 362.5
	}},
	{"ca-fed: unseen clients start at the mean", "ca-fed", []float64{8, 16}, cafedCase(Code, "77", "0"), []step{
		{t: 0, want: 0},
		{t: 1, active: []int{1}, want: 8},  // F̂ = (3200, 3200): 3200 → 4000 without either
		{t: 2, active: []int{1}, want: 12}, // (3200, 800): 2000 → 3200 + 800 without 1, 800 + 800 without client 0
		{t: 3, active: []int{0}, want: 10}, // (200, 800): 500 → 200 + 200 without client 1, who is tried first
		{t: 4, active: []int{1}, want: 10}, // (200, 450): 325 → 312.5
	}},
}

func f3astCase(pairs ...string) func(*Federation, *Options) {
	return func(f *Federation, o *Options) {
		f.Importance, f.P = []float64{0.25, 0.75}, []float64{0.5, 0.25}
		setValues(append(pairs, "f3ast-beta", "0.25")...)(f, o)
	}
}

func cafedCase(preset Preset, kappa, tau string) func(*Federation, *Options) {
	return func(f *Federation, o *Options) {
		f.P, f.Lambda = []float64{0.5, 0.5}, []float64{0, 0.5}
		*o = withValues(preset, "kappa", kappa, "ca-fed-tau", tau)
	}
}
