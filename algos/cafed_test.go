package algos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/nets"
)

// inside returns the caFed behind what New returned.
func inside(m Method) *caFed { return m.(*inspected).Inspector.(*caFed) }

// F̂ and F̂* by (17) with β = 1/4 and 1. The model stays at 0, where F_i = 12.5 u_i²: 800, 3200 and 12800; client 0's loss changes
// as the test moves its u_0. Tolerance 1e-9: a few roundings of numbers up to 10⁴.
func TestCAFedLossEstimates(t *testing.T) {
	for _, c := range []struct {
		beta             float64
		fstar            FStar
		u                []float64 // of client 0 in rounds 0 … 3
		loss, best, left float64   // of client 0 after them; left: F̂ of client 2, who is there in round 2 alone
	}{
		{0.25, FStarMin, []float64{8, 4, 16, 8}, 0.75*(0.75*(0.75*800+0.25*200)+0.25*3200) + 0.25*800, 650, 0.75*2000 + 0.25*12800},
		{1, FStarMin, []float64{8, 4, 16, 8}, 800, 200, 12800},
		{1, FStarZero, []float64{8, 4, 16, 8}, 800, 0, 12800},
		{1, FStarSolved, []float64{8, 4, 16, 8}, 800, 7, 12800},
	} {
		t.Run(fmt.Sprintf("beta=%g/%s", c.beta, c.fstar), func(t *testing.T) {
			f, e := toyFederation(8, 16, 32)
			o := CAFedDefaults(Paper, 10)
			o.CAFed.Beta, o.CAFed.FStar, o.CAFed.Solved = c.beta, c.fstar, []float64{7, 8, 9}
			m := start(t, "ca-fed", f, o)
			for r, u := range c.u {
				e.u[0] = scaled(u)
				round := at(r, f, 1e-30, 0, 1) // w stays at 0 in float32
				if r == 2 {
					round.Active = []int{0, 1, 2}
				}
				if _, err := m.Round(t.Context(), round); err != nil {
					t.Fatal(err)
				}
				// In round 0 client 2 is not there and starts at the mean of 800 and 3200.
				if got := inside(m).loss[2]; r < 2 && math.Abs(got-2000) > 1e-9 {
					t.Errorf("round %d: F̂ of the unseen client %g, want 2000", r, got)
				}
			}
			in := inside(m)
			if math.Abs(in.loss[0]-c.loss) > 1e-9 || math.Abs(in.best[0]-c.best) > 1e-9 || math.Abs(in.loss[2]-c.left) > 1e-9 {
				t.Errorf("F̂_0 %g F̂*_0 %g F̂_2 %g, want %g, %g, %g ± 1e-9", in.loss[0], in.best[0], in.loss[2], c.loss, c.best, c.left)
			}
		})
	}
}

// The server asks the active clients alone, at w: on the batch they go on to train with, on all they hold, or on what they hold out.
func TestCAFedAsksTheActive(t *testing.T) {
	held := &HeldOut{Part: nets.Test, Index: [][]int32{{1000}, {1001}, {1002}, {}, {1004}}}
	for _, c := range []struct {
		name    string
		losses  CAFedLosses
		held    *HeldOut
		part    nets.Part
		samples func(i int) []int32 // nil: the first batch
	}{
		{"batch", FirstBatch, nil, nets.Train, nil},
		{"all", AllSamples, nil, nets.Train, func(i int) []int32 { return []int32{int32(2 * i), int32(2*i + 1)} }},
		{"held out", AllSamples, held, nets.Test, func(i int) []int32 { return held.Index[i] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, e := toyFederation(8, 16, -8, 0, 3)
			o := CAFedDefaults(Paper, 10)
			o.CAFed = keepAll()
			o.CAFed.Losses, o.CAFed.HeldOut = c.losses, c.held
			m := start(t, "ca-fed", f, o)
			for _, r := range trace(f, 30) {
				e.jobs, e.work = nil, nil
				loss, err := m.Round(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				jobs := e.jobs
				for k, i := range r.Active {
					if c.samples != nil && len(c.samples(i)) == 0 { // client 3 holds nothing out: no loss, no job
						continue
					}
					if len(jobs) == 0 {
						t.Fatalf("round %d: no job for client %d of %v", r.T, i, r.Active)
					}
					want := e.work[0].Clients[k].Plan.Index[:1]
					if c.samples != nil {
						want = c.samples(i)
					}
					if jobs[0].Part != c.part || !slices.Equal(jobs[0].Index, want) {
						t.Errorf("round %d: client %d is asked about %v of part %d, want %v of %d", r.T, i, jobs[0].Index, jobs[0].Part, want, c.part)
					}
					scale := 1.0
					if c.held != nil {
						scale = 10
					}
					if got, want := inside(m).loss[i], scale*float64(loss[k]); math.Abs(got-want) > 1e-5*want { // float32
						t.Errorf("round %d: client %d: F̂ %g, want its loss before the round, %g", r.T, i, got, want)
					}
					jobs = jobs[1:]
				}
				if len(jobs) != 0 {
					t.Errorf("round %d: also asked %v, want the active %v alone", r.T, jobs, r.Active)
				}
			}
		})
	}
}

// A loss that is no number is reported as the engine would, and changes nothing.
func TestCAFedDivergedLoss(t *testing.T) {
	f, e := toyFederation(8, 16)
	m := start(t, "ca-fed", f, CAFedDefaults(Paper, 10))
	e.u[1] = scaled(math.Inf(1))
	_, err := m.Round(t.Context(), at(3, f, 1, 0, 1))
	var diverged *nets.DivergedError
	if !errors.As(err, &diverged) || diverged.Round != 3 || diverged.Client != 1 || len(e.work) != 0 {
		t.Errorf("got %v after %d trainings, want client 1 of round 3 to have diverged, and none", err, len(e.work))
	}
}

// Everything there is about the decisions of two rounds of the worked case "ca-fed: code".
func TestInspect(t *testing.T) {
	f, _ := toyFederation(8, 16)
	o := Defaults(Code)
	cafedCase(DefaultCAFed(Code), 77, 0)(&f, &o)
	m := start(t, "ca-fed", f, o)
	d := m.(Inspector).Inspect()
	if !slices.Equal(d.Q, []float64{0, 0}) || !slices.Equal(d.Included, []bool{true, true}) {
		t.Errorf("before round 0: %+v, want no weights and everybody included", d)
	}
	for _, s := range []struct {
		active   []int
		q        []float64
		included []bool
	}{
		{[]int{1}, []float64{0, 1}, []bool{true, true}},
		{[]int{0, 1}, []float64{1, 0}, []bool{true, false}},
		{[]int{1}, []float64{0, 0}, []bool{true, false}},
		{[]int{}, []float64{0, 0}, []bool{true, false}}, // nothing new is known
	} {
		if _, err := m.Round(t.Context(), at(len(s.q), f, 0.01, s.active...)); err != nil {
			t.Fatal(err)
		}
		d := m.(Inspector).Inspect()
		if !slices.Equal(d.Q, s.q) || !slices.Equal(d.Included, s.included) || !slices.Equal(d.Pi, f.P) || !slices.Equal(d.Lambda, f.Lambda) {
			t.Errorf("active %v: %+v, want q %v, included %v, π %v, λ %v", s.active, d, s.q, s.included, f.P, f.Lambda)
		}
	}
}

// Which methods tell, and that they tell what they do: the weights are those of the trained clients.
func TestInspectors(t *testing.T) {
	forAll(t, func(t *testing.T, name string, o Options) {
		f, e := toyFederation(8, 16, -8, 0, 3)
		m := start(t, name, f, o)
		inspector, ok := m.(Inspector)
		if want := slices.Contains([]string{"f3ast", "unbiased", "more-available", "adafed", "ca-fed", "fedavg-s"}, name); ok != want {
			t.Fatalf("is an Inspector: %t, want %t", ok, want)
		}
		if !ok {
			return
		}
		for _, r := range trace(f, 40) {
			e.work = nil
			if _, err := m.Round(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			var weighed, trained []int
			for i, q := range inspector.Inspect().Q {
				if q > 0 {
					weighed = append(weighed, i)
				}
			}
			for _, w := range e.work {
				for _, c := range w.Clients {
					trained = append(trained, c.Client)
				}
			}
			if !slices.Equal(weighed, trained) {
				t.Errorf("round %d: weights of %v, trained %v, want the same", r.T, weighed, trained)
			}
		}
	})
}

// AdaFed's weights sum to one in every round with clients, whatever it takes for π.
func TestAdaFedWeightsSumToOne(t *testing.T) {
	for _, bayes := range []*Bayes{nil, {Prior: 10, Form: Paper}, {Prior: 10, Form: Code}} {
		f, _ := toyFederation(8, 16, -8, 0, 3)
		f.Importance, f.P = []float64{0.1, 0.2, 0.3, 0.15, 0.25}, []float64{0.9, 0.1, 0.5, 0.3, 0.7}
		o := Defaults(Paper)
		o.Bayes = bayes
		m := start(t, "adafed", f, o)
		for _, r := range trace(f, 60) {
			if _, err := m.Round(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			sum, want := 0.0, min(1, float64(len(r.Active)))
			for _, q := range m.(Inspector).Inspect().Q {
				sum += q
			}
			if math.Abs(sum-want) > 1e-15*5 { // five roundings
				t.Errorf("%+v: round %d, active %v: weights sum to %.17g, want %g ± 5e-15", bayes, r.T, r.Active, sum, want)
			}
		}
	}
}

// F3AST's r: with memory r ← (1−β)r + β·1_S from r = p; without it (1−β)p + β·1_A in every round.
func TestF3ASTSmoothing(t *testing.T) {
	one := 1
	for _, c := range []struct {
		name       string
		limit      *int
		memoryless bool
		want       [][]float64 // after rounds with {0, 1}, {1}, {} at β = 1/4
	}{
		{"memory", nil, false, [][]float64{{0.625, 0.4375}, {0.46875, 0.578125}, {0.3515625, 0.43359375}}},
		{"memory, M=1", &one, false, [][]float64{{0.375, 0.4375}, {0.28125, 0.578125}, {0.2109375, 0.43359375}}},
		{"no memory", nil, true, [][]float64{{0.625, 0.4375}, {0.375, 0.4375}, {0.375, 0.1875}}},
		{"no memory, M=1", &one, true, [][]float64{{0.625, 0.4375}, {0.375, 0.4375}, {0.375, 0.1875}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(8, 16)
			o := Defaults(Paper)
			f3astCase(c.limit, false)(&f, &o)
			o.F3ASTMemoryless = c.memoryless
			m := start(t, "f3ast", f, o)
			for r, active := range [][]int{{0, 1}, {1}, {}} {
				if _, err := m.Round(t.Context(), at(r, f, 1, active...)); err != nil {
					t.Fatal(err)
				}
				if got := m.(*inspected).Inspector.(*f3ast).rate; !slices.Equal(got, c.want[r]) {
					t.Errorf("round %d: r = %v, want %v exactly", r, got, c.want[r])
				}
			}
		})
	}
}

// A method that is told π = 0 of a client does not count on it, and says so if it comes.
func TestActiveWithoutAvailability(t *testing.T) {
	for _, name := range []string{"unbiased", "more-available", "adafed", "ca-fed"} {
		f, e := toyFederation(8, 16)
		f.P[1] = 0
		_, err := start(t, name, f, Defaults(Paper)).Round(t.Context(), at(2, f, 1, 0, 1))
		want := "algos: " + name + ": round 2: client 1 is active with pi 0, want above 0 and at most 1"
		if err == nil || err.Error() != want || len(e.work)+len(e.jobs) != 0 {
			t.Errorf("got %v after %d calls, want %q after none", err, len(e.work)+len(e.jobs), want)
		}
	}
}

// The estimates reach the weights: at t' = 4, π = 1/2 and one active round the code's form has π̂ = 3/5 (and 2/5 for the absent one).
func TestEstimatesAreUsed(t *testing.T) {
	for name, want := range map[string]float64{"unbiased": 0.5 / 0.6, "more-available": 0.5 / 0.6, "adafed": 1, "ca-fed": 0.5 / 0.6, "f3ast": 0.5 / (0.6*0.75 + 0.25)} {
		f, _ := toyFederation(8, 16)
		f.P = []float64{0.5, 0.5}
		o := Defaults(Paper)
		o.Bayes, o.F3ASTBeta, o.F3ASTMemoryless = &Bayes{Prior: 4, Form: Code}, 0.25, true
		m := start(t, name, f, o)
		if _, err := m.Round(t.Context(), at(0, f, 1, 0)); err != nil {
			t.Fatal(err)
		}
		d := m.(Inspector).Inspect()
		if math.Abs(d.Q[0]-want) > 1e-15 || d.Q[1] != 0 || math.Abs(d.Pi[0]-0.6) > 1e-15 || math.Abs(d.Pi[1]-0.4) > 1e-15 {
			t.Errorf("%s: q %v at π̂ %v, want [%g 0] at [0.6 0.4] ± 1e-15", name, d.Q, d.Pi, want)
		}
	}
}

func TestCAFedDefaults(t *testing.T) {
	paper, code := CAFedDefaults(Paper, 200), CAFedDefaults(Code, 200)
	for name, o := range map[string]Options{"paper": paper, "code": code} {
		if o.F3ASTBeta != 0.005 || o.F3ASTLimit == nil || *o.F3ASTLimit != 45 || o.F3ASTMean || o.Bayes != nil || o.CAFed.Tau != 0 || o.CAFed.Beta != 1 || o.CAFed.KappaBar2 != 1 {
			t.Errorf("%s: %+v, want β = 1/T, M = 45, the oracle, τ = 0, β = 1, κ̄² = 1", name, o)
		}
	}
	if paper.F3ASTMemoryless || paper.ServerSGD != nil || paper.CAFed.FStar != FStarMin || paper.CAFed.Losses != FirstBatch || paper.CAFed.BiasConst != nil {
		t.Errorf("paper: %+v, %+v, want memory, no server SGD, min, batch, 4κ̄²", paper, paper.CAFed)
	}
	if !code.F3ASTMemoryless || code.ServerSGD == nil || *code.ServerSGD != (ServerSGD{0.9, 0.01}) || code.CAFed.FStar != FStarZero || code.CAFed.Losses != AllSamples || *code.CAFed.BiasConst != 1 {
		t.Errorf("code: %+v, %+v, want no memory, SGD with 0.9 and 0.01, zero, all, 1", code, code.CAFed)
	}
}

// ToN, table II, in the order of its columns; typed from the paper, not from the table in the code.
func TestCAFedLR(t *testing.T) {
	for data, row := range map[string]string{
		"leaf":    "unbiased 2/2 more-available 1/7 ca-fed 2/3 adafed 1/1 f3ast 2/2",
		"mnist":   "unbiased 0.03/1 more-available 0.1/4 ca-fed 0.1/1 adafed 0.03/1 f3ast 0.1/0.3",
		"cifar10": "unbiased 0.03/1 more-available 0.03/3 ca-fed 0.03/1 adafed 0.03/1 f3ast 0.03/0.3",
	} {
		fields := strings.Fields(row)
		for k := 0; k < len(fields); k += 2 {
			lr, serverLR, err := CAFedLR(fields[k], data)
			if got := fmt.Sprintf("%g/%g", lr, serverLR); got != fields[k+1] || err != nil {
				t.Errorf("%s on %s: %s, %v, want %s", fields[k], data, got, err, fields[k+1])
			}
		}
	}
	for _, c := range [][3]string{
		{"mifa", "leaf", `algos: CA-Fed's rates: method "mifa": unknown, want one of unbiased, more-available, ca-fed, adafed, f3ast`},
		{"ca-fed", "svhn", `algos: CA-Fed's rates: data "svhn": unknown, want one of leaf, mnist, cifar10`},
	} {
		if _, _, err := CAFedLR(c[0], c[1]); err == nil || err.Error() != c[2] {
			t.Errorf("%s on %s: got %v, want %q", c[0], c[1], err, c[2])
		}
	}
}

func TestCAFedRefuses(t *testing.T) {
	nan, minus := math.NaN(), -1.0
	for _, c := range []struct {
		name   string
		change func(*CAFed)
		want   string
	}{
		{"kappa", func(s *CAFed) { s.KappaBar2 = -1 }, "kappa² -1, want 0 or more"},
		{"bias", func(s *CAFed) { s.BiasConst = &minus }, "bias constant -1, want 0 or more"},
		{"beta 0", func(s *CAFed) { s.Beta = 0 }, "beta 0, want above 0 and at most 1"},
		{"beta", func(s *CAFed) { s.Beta = nan }, "beta NaN, want above 0 and at most 1"},
		{"tau", func(s *CAFed) { s.Tau = math.Inf(1) }, "tau +Inf, want 0 or more"},
		{"fstar", func(s *CAFed) { s.FStar = "" }, `fstar "": unknown, want min, zero or solved`},
		{"solved", func(s *CAFed) { s.FStar = FStarSolved }, "fstar of 0 clients, want 2"},
		{"solved NaN", func(s *CAFed) { s.FStar, s.Solved = FStarSolved, []float64{1, nan} }, "client 1: fstar NaN, want a finite number"},
		{"losses", func(s *CAFed) { s.Losses = "" }, `losses "": unknown, want batch or all`},
		{"held out", func(s *CAFed) { s.HeldOut = &HeldOut{} }, "held-out samples of 0 clients, want 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := toyFederation(8, 16)
			o := CAFedDefaults(Paper, 10)
			c.change(o.CAFed)
			if _, err := New("ca-fed", f, make([]float32, 2), o); err == nil || err.Error() != "algos: ca-fed: "+c.want {
				t.Errorf("got %v, want %q", err, "algos: ca-fed: "+c.want)
			}
			if m, err := New("unbiased", f, make([]float32, 2), o); err != nil {
				t.Errorf("unbiased: got %v, want ca-fed's settings not to matter", err)
			} else {
				m.Close()
			}
		})
	}
}
