package availability

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unicode/utf8"

	"rollcall/internal/must"
)

// Every model says what it is, in lines that a window holds.
func TestDescriptions(t *testing.T) {
	for _, d := range models {
		if d.Brief == "" || d.Formula == "" || d.Paper == "" || utf8.RuneCountInString(d.Formula) > 110 {
			t.Errorf("%s: %q, %q, %q, want all three, and a formula of at most 110 letters", d.Name, d.Brief, d.Formula,
				d.Paper)
		}
	}
}

func mustNew(t *testing.T, name string, o Options) Model {
	t.Helper()
	p := must.Get(New(name, o))(t)
	return p
}

// settings returns possible settings of every model for these clients, whatever their number.
func settings(base []float64, seed uint32) Options {
	o := Defaults(base, seed)
	o.Clusters, o.Turns, o.On, o.Draw = len(base), len(base), 4, true
	o.Chain = &ChainTable{Pi: []float64{0.2, 0.7, 1}, Lambda: []float64{0.8, -0.1, 0}}
	var spans []span
	for i := range base {
		o.Sizes = append(o.Sizes, 10+i)
		spans = append(spans, span{i, i + int(seed), 30 - i}, span{i, 31, 40 + i})
	}
	o.Trace = traceOf(len(base), spans...)
	return o
}

// The formulas in closed form: P = 20, γ = 0.3, δ_0 = 0.1, low 0.4; sin(2πt/20) is 0, 1, 0, −1 at t = 0, 5, 10, 15 and
// sin(36°) = 0.5877852522924731 at t = 2. Tolerance 1e-15: three float64 roundings of numbers below 1.
func TestProbabilities(t *testing.T) {
	const sin36 = 0.5877852522924731
	wave2 := 0.7 + 0.3*sin36
	for _, c := range []struct {
		model string
		t     int
		base  float64
		want  float64
	}{
		{"stationary", 0, 0.5, 0.5},
		{"stationary", 1999, 0.05, 0.05},
		{"staircase", 0, 0.5, 0.5},
		{"staircase", 9, 0.5, 0.5},
		{"staircase", 10, 0.5, 0.2},
		{"staircase", 19, 0.5, 0.2},
		{"staircase", 20, 0.5, 0.5},
		{"staircase", 1990, 0.5, 0.2},
		{"sine", 0, 0.5, 0.35},
		{"sine", 2, 0.5, 0.5 * wave2},
		{"sine", 5, 0.5, 0.5},   // peak: p
		{"sine", 15, 0.5, 0.2},  // trough: (1 − 2γ) p
		{"sine", 15, 0.2, 0.08}, // not cut
		{"sine", 1985, 0.5, 0.5},
		{"interleaved-sine", 5, 0.2, 0.2},
		{"interleaved-sine", 15, 0.2, 0}, // 0.08 < δ_0
		{"interleaved-sine", 15, 0.3, 0.12},
		{"interleaved-sine", 2, 0.11, 0}, // 0.11·0.876 = 0.0964 < δ_0
		{"interleaved-sine", 2, 0.12, 0.12 * wave2},
		{"interleaved-sine", 5, 0.09, 0}, // never active
		{"interleaved-sine", 5, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s/t=%d_p=%g", c.model, c.t, c.base), func(t *testing.T) {
			got := []float64{math.NaN()}
			mustNew(t, c.model, Defaults([]float64{c.base}, 1)).Probabilities(c.t, got)
			if !(math.Abs(got[0]-c.want) <= 1e-15) {
				t.Errorf("got %.17g, want %.17g ± 1e-15", got[0], c.want)
			}
		})
	}
}

func TestStaircaseOddPeriod(t *testing.T) {
	o := Defaults([]float64{1}, 1)
	o.Period = 5 // t mod 5 < 2.5: rounds 0, 1, 2
	model := mustNew(t, "staircase", o)
	for i, want := range []float64{1, 1, 1, 0.4, 0.4, 1} {
		p := []float64{0}
		if model.Probabilities(i, p); p[0] != want {
			t.Errorf("round %d: got %g, want %g exactly", i, p[0], want)
		}
	}
}

// γ = 1 takes the trough to f = −1, which is clipped to 0.
func TestProbabilitiesAreClipped(t *testing.T) {
	o := Defaults([]float64{1, 0.7}, 1)
	o.Gamma = 1
	p := make([]float64, 2)
	for _, name := range Names() {
		of := settings(o.Base, 1)
		o.Trace, o.Clusters, o.Turns, o.Chain, o.Draw = of.Trace, 2, 2, of.Chain, true
		model, lowest := mustNew(t, name, o), 1.0
		for r := range 40 {
			model.Probabilities(r, p)
			for i := range p {
				if !isFraction(p[i]) {
					t.Errorf("%s: round %d client %d: %g, want 0 … 1", name, r, i, p[i])
				}
				lowest = min(lowest, p[i])
			}
		}
		if slices.Contains([]string{"sine", "interleaved-sine"}, name) && lowest != 0 {
			t.Errorf("%s: smallest probability %g, want 0 exactly", name, lowest)
		}
	}
}

// A trace depends on the options and the seed alone: not on the order of the questions, not on other clients (but
// the p_i of uniform, log-normal and data-size, and which chain or group a client follows, on how many there are).
func TestTraceIsAFunctionOfTheRound(t *testing.T) {
	base := []float64{0.2, 0.5, 0.8, 0.4}
	for _, name := range Names() {
		first, again := mustNew(t, name, settings(base, 7)), mustNew(t, name, settings(base, 7))
		fewer, other := mustNew(t, name, settings(base[:2], 7)), mustNew(t, name, settings(base, 8))
		const rounds = 60
		var forward [rounds][]int
		differs := false
		for r := range rounds {
			forward[r] = first.Active(r)
			differs = differs || !slices.Equal(forward[r], other.Active(r))
		}
		for r := rounds - 1; r >= 0; r-- {
			if got := again.Active(r); !slices.Equal(got, forward[r]) {
				t.Errorf("%s: round %d: %v asked backwards, want %v", name, r, got, forward[r])
			}
			want := slices.DeleteFunc(slices.Clone(forward[r]), func(i int) bool { return i >= 2 })
			alone := !slices.Contains([]string{
				"uniform", "markov", "clusters", "periodic", "log-normal", "log-normal-sine", "data-size",
			}, name)
			if got := fewer.Active(r); alone && !slices.Equal(got, want) {
				t.Errorf("%s: round %d: %v without clients 2 and 3, want %v", name, r, got, want)
			}
		}
		if !differs {
			t.Errorf("%s: seeds 7 and 8 give the same %d rounds", name, rounds)
		}
	}
}

// The model must not see later changes of the caller's slice.
func TestNewCopiesBase(t *testing.T) {
	base := []float64{1}
	model := mustNew(t, "stationary", Defaults(base, 1))
	base[0] = 0
	if got := model.Active(0); !slices.Equal(got, []int{0}) {
		t.Errorf("active %v after the caller's base changed, want [0]", got)
	}
}

func TestNewRefuses(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string // after "availability: "
	}{
		{"no clients", func(o *Options) { o.Base = nil }, "base: 0 clients, want at least 1"},
		{"p above 1", func(o *Options) { o.Base = []float64{0.5, 1.5} }, "base: client 1: probability 1.5, want 0 … 1"},
		{"p negative", func(o *Options) { o.Base = []float64{-0.1} }, "base: client 0: probability -0.1, want 0 … 1"},
		{"p NaN", func(o *Options) { o.Base = []float64{nan} }, "base: client 0: probability NaN, want 0 … 1"},
		{"period 0", func(o *Options) { o.Period = 0 }, "period: 0 rounds, want at least 1"},
		{"period negative", func(o *Options) { o.Period = -20 }, "period: -20 rounds, want at least 1"},
		{"gamma above 1", func(o *Options) { o.Gamma = 1.1 }, "gamma: 1.1, want 0 … 1"},
		{"gamma NaN", func(o *Options) { o.Gamma = nan }, "gamma: NaN, want 0 … 1"},
		{"gamma infinite", func(o *Options) { o.Gamma = math.Inf(1) }, "gamma: +Inf, want 0 … 1"},
		{"cutoff negative", func(o *Options) { o.Cutoff = -1 }, "cutoff: -1, want 0 … 1"},
		{"low NaN", func(o *Options) { o.Low = nan }, "low: NaN, want 0 … 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Defaults([]float64{0.5}, 1)
			c.change(&o)
			want := "availability: " + c.want
			if model, err := New("sine", o); err == nil || err.Error() != want || model != nil {
				t.Errorf("got %v, %v, want error %q", model, err, want)
			}
		})
	}
	t.Run("unknown name", func(t *testing.T) {
		const want = `availability: model "sin": unknown, want one of ` +
			"stationary, staircase, sine, interleaved-sine, markov, clusters, uniform, cyclic, markov-q, periodic, " +
			"log-normal, log-normal-sine, data-size, chain, trace"
		if _, err := New("sin", Defaults([]float64{1}, 1)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	})
}
