package availability

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	recorded "rollcall/algos/availability/trace"
)

// span is a client's time from round start up to, but not including, round end.
type span struct{ client, start, end int }

// traceOf returns the trace of n clients with these times.
func traceOf(n int, spans ...span) *recorded.Trace {
	var csv strings.Builder
	csv.WriteString("client,start,end\n")
	for _, s := range spans {
		if s.start < s.end {
			fmt.Fprintf(&csv, "%d,%d,%d\n", s.client, s.start, s.end)
		}
	}
	of, err := recorded.Read(strings.NewReader(csv.String()), recorded.Options{Clients: n})
	if err != nil {
		panic(err)
	}
	return of
}

// Client 0 is active in rounds 0–2 and 5, client 1 always, client 2 in rounds 2–5 (two rows that touch), client 3
// never; 6 rounds. Transitions of client 0: aa 2,
// ai 1, ii 1, ia 1: λ = 2/3 + 1/2 − 1; of client 2: ii 1, ia 1, aa 3: λ = 1 + 1/2 − 1.
func TestTrace(t *testing.T) {
	o := Defaults(make([]float64, 4), 1)
	o.Trace = traceOf(4, span{0, 5, 6}, span{1, 0, 6}, span{0, 0, 3}, span{2, 2, 4}, span{2, 4, 6})
	model := mustNew(t, "trace", o)
	want := [][]int{{0, 1}, {0, 1}, {0, 1, 2}, {1, 2}, {1, 2}, {0, 1, 2}, {}, {}}
	p := make([]float64, 4)
	for r := len(want) - 1; r >= 0; r-- {
		got := model.Active(r)
		model.Probabilities(r, p)
		if shares := []float64{4. / 6, 1, 4. / 6, 0}; !slices.Equal(p, shares) { // the same divisions: exact
			t.Errorf("round %d: probabilities %v, want the shares of rounds %v", r, p, shares)
		}
		if !slices.Equal(got, want[r]) || got == nil {
			t.Errorf("round %d: %v, want %v", r, got, want[r])
		}
	}
	pi, lambda := model.Stationary()
	wantPi, wantLambda := []float64{4. / 6, 1, 4. / 6, 0}, []float64{1. / 6, 0, 0.5, 0}
	for i := range pi {
		if math.Abs(pi[i]-wantPi[i]) > 1e-15 || math.Abs(lambda[i]-wantLambda[i]) > 1e-15 { // a rounding or two
			t.Errorf("client %d: π %g and λ %g, want %g and %g ± 1e-15", i, pi[i], lambda[i], wantPi[i], wantLambda[i])
		}
	}
}

// Of traces of many shapes, seen in part, whole or several times: the rounds are the trace's, repeated or followed by
// nobody, and π and λ are the counted ones of the rounds that the run sees. If a trace that repeats is seen whole, its
// first round follows its last.
func TestTraceSeen(t *testing.T) {
	const n, length = 60, 12
	chain := mustNew(t, "markov", Defaults(make([]float64, n), 6))
	var states [length][n]int
	o := Defaults(make([]float64, n), 1)
	for r := range length - 1 { // nobody is active in the last round, so that the trace is shorter
		for _, i := range chain.Active(r) {
			states[r][i] = 1
		}
	}
	var spans []span
	for i := range n {
		for r := range length {
			last := len(spans) - 1
			switch {
			case states[r][i] == 0:
			case r%3 > 0 && last >= 0 && spans[last].client == i && spans[last].end == r:
				spans[last].end++
			default: // may touch the interval before
				spans = append(spans, span{i, r, r + 1})
			}
		}
	}
	o.Trace = traceOf(n, spans...)
	whole := o.Trace.Rounds
	for _, o.Rounds = range []int{1, 5, whole - 1, whole, 3 * whole} {
		for _, o.Repeat = range []bool{false, true} {
			model := mustNew(t, "trace", o)
			for r := range 2 * whole {
				at := r
				if o.Repeat {
					at = r % whole
				}
				want := clientsWho(n, func(i int) bool { return at < length && states[at][i] == 1 })
				if got := model.Active(r); !slices.Equal(got, want) {
					t.Fatalf("repeat %t: round %d: %v, want %v", o.Repeat, r, got, want)
				}
			}
			seen, p := min(o.Rounds, whole), make([]float64, n)
			pi, lambda := model.Stationary()
			model.Probabilities(1, p)
			for i := range n {
				active := 0
				var count [2][2]float64 // transitions, by the state before and the state after
				for r := range seen {
					active += states[r][i]
					if after := r + 1; after < seen || o.Repeat && seen == whole {
						count[states[r][i]][states[after%seen][i]]++
					}
				}
				want := 0.0
				if from := [2]float64{count[0][0] + count[0][1], count[1][0] + count[1][1]}; from[0]*from[1] > 0 {
					want = count[1][1]/from[1] + count[0][0]/from[0] - 1
				}
				share := float64(active) / float64(seen)
				if pi[i] != share || p[i] != share || math.Abs(lambda[i]-want) > 1e-15 { // a rounding or two
					t.Errorf("%d rounds, repeat %t: client %d: π %g, p %g, λ %g, want %g twice and %g ± 1e-15",
						o.Rounds, o.Repeat, i, pi[i], p[i], lambda[i], share, want)
				}
			}
		}
	}
}

// A sample of a trace is N different devices of the file, other ones with another seed, each as it is in the file and
// each as likely as every other.
func TestSample(t *testing.T) {
	const clients, devices, seeds = 5, 20, 2000
	var spans []span
	for i := range devices { // device i is there in round i alone, so that a round tells who it is
		spans = append(spans, span{i, i, i + 1})
	}
	var chosen [devices]int
	for seed := range uint32(seeds) {
		o := Defaults(make([]float64, clients), seed)
		o.Trace, o.Draw = traceOf(devices, spans...), true
		m := mustNew(t, "trace", o)
		next := 0
		for r := range devices {
			for _, i := range m.Active(r) {
				if i != next {
					t.Fatalf("seed %d: round %d: client %d, want client %d: in the order of the file", seed, r, i, next)
				}
				chosen[r]++
				next++
			}
		}
		if next != clients {
			t.Fatalf("seed %d: %d clients are there, want %d", seed, next, clients)
		}
	}
	for device, n := range chosen {
		if z := (float64(n) - seeds/4) / math.Sqrt(seeds*3./16); math.Abs(z) > 4 {
			t.Errorf("device %d is in %d samples of %d, want a quarter: z = %.1f", device, n, seeds, z)
		}
	}
}

// Probabilities of a file are the p_i^t, with which the seed draws who is there.
func TestDrawnTrace(t *testing.T) {
	const seeds = 3000
	of, err := recorded.Read(strings.NewReader("0.5,1,0\n0.25,0.75,0\n"), recorded.Options{Clients: 2})
	if err != nil || !of.Drawn || of.Rounds != 3 {
		t.Fatalf("%+v, %v, want three rounds to draw", of, err)
	}
	var there [6][2]int
	for seed := range uint32(seeds) {
		o := Defaults(make([]float64, 2), seed)
		o.Trace, o.Repeat = of, seed%2 == 0
		m := mustNew(t, "trace", o)
		for r := range 6 {
			for _, i := range m.Active(r) {
				there[r][i]++
			}
		}
		p := make([]float64, 2)
		for r, want := range [][]float64{{0.5, 0.25}, {1, 0.75}, {0, 0}, {0.5, 0.25}} {
			if r == 3 && !o.Repeat {
				want = []float64{0, 0}
			}
			if m.Probabilities(r, p); !slices.Equal(p, want) {
				t.Fatalf("round %d: p = %g, want %g", r, p, want)
			}
		}
		pi, lambda := m.Stationary()
		if !slices.Equal(pi, []float64{0.5, 1. / 3}) || !slices.Equal(lambda, []float64{0, 0}) {
			t.Fatalf("π %g, λ %g, want the means 0.5 and 1/3, and 0", pi, lambda)
		}
	}
	for r, want := range [][]float64{{0.5, 0.25}, {1, 0.75}, {0, 0}, {0.25, 0.125}, {0.5, 0.375}, {0, 0}} {
		for i, p := range want {
			if z := (float64(there[r][i]) - p*seeds) / math.Sqrt(p*(1-p)*seeds+1e-9); math.Abs(z) > 4 {
				t.Errorf("round %d client %d: %d of %d, want %g of them", r, i, there[r][i], seeds, p)
			}
		}
	}
}
