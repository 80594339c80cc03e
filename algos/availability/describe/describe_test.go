package describe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rollcall/algos/availability"
	"rollcall/internal/must"
)

// randomRecord returns a record in which client i stays in its state with probability stay, and the same as rows.
func randomRecord(r *rand.Rand, n, rounds int, stay float64) (availability.Record, [][]bool) {
	record, rows := availability.NewRecord(n, rounds), make([][]bool, n)
	for i := range rows {
		state := r.IntN(2) == 1
		for t := range rounds {
			if r.Float64() > stay {
				state = !state
			}
			if rows[i] = append(rows[i], state); state {
				record.Set(i, t)
			}
		}
	}
	return record, rows
}

// sizes are numbers of rounds around the limits of a word.
var sizes = []int{1, 2, 3, 7, 63, 64, 65, 127, 128, 129, 200, 331}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers %v, want %d %v", what, len(got), got, len(want), want)
	}
	for k := range got {
		if !(math.Abs(got[k]-want[k]) <= tolerance) {
			t.Fatalf("%s: index %d: got %v, want %v ± %g", what, k, got[k], want[k], tolerance)
		}
	}
}

// Bit by bit, as the definitions say.
func TestAgainstDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rounds := range sizes {
		for _, stay := range []float64{0, 0.5, 0.9, 0.99, 1} {
			const n, lags = 5, 140
			record, rows := randomRecord(r, n, rounds, stay)
			name := fmt.Sprintf("T=%d stay=%g", rounds, stay)
			perRound, perClient := make([]float64, rounds), make([]float64, n)
			mean, clients := make([]float64, lags+1), 0
			var changing []bool
			for i, row := range rows {
				a := make([]float64, rounds)
				for t := range a {
					if row[t] {
						a[t] = 1
						perRound[t] += 1. / n
						perClient[i] += 1 / float64(rounds)
					}
				}
				below := 0.0
				for _, x := range a {
					below += (x - perClient[i]) * (x - perClient[i])
				}
				changing = append(changing, slices.Contains(row, true) && slices.Contains(row, false))
				if !changing[i] {
					continue
				}
				clients++
				for k := range mean {
					for t := 0; t+k < rounds; t++ {
						mean[k] += (a[t] - perClient[i]) * (a[t+k] - perClient[i]) / below
					}
				}
			}
			for k := range mean {
				mean[k] /= float64(clients)
			}
			if clients == 0 {
				mean = nil
			}
			near(t, name+": per round", PerRound(record), perRound, 1e-12)
			near(t, name+": per client", PerClient(record), perClient, 1e-12)
			got, changes := Autocorrelation(record, lags)
			near(t, name+": autocorrelation", got, mean, 1e-9)
			if !slices.Equal(changes, changing) {
				t.Errorf("%s: changing %v, want %v", name, changes, changing)
			}
			active, away := Runs(record)
			for state, lengths := range map[bool]Lengths{true: active, false: away} {
				ended, cut := make([]int, rounds+1), make([]int, rounds+1)
				for _, row := range rows {
					for from := 1; from < rounds; from++ {
						if row[from] != state || row[from-1] == state {
							continue
						}
						to := from
						for to < rounds && row[to] == state {
							to++
						}
						if to < rounds {
							ended[to-from]++
						} else {
							cut[to-from]++
						}
					}
				}
				for of, pair := range map[string][2][]int{
					"ended": {lengths.Ended, ended}, "cut": {lengths.Cut, cut},
				} {
					got := append(slices.Clone(pair[0]), make([]int, rounds+1-len(pair[0]))...)
					if !slices.Equal(got, pair[1]) {
						t.Errorf("%s: %s runs, active %v: %v, want %v", name, of, state, got, pair[1])
					}
				}
			}
		}
	}
	if active, away := Runs(availability.NewRecord(3, 0)); active.Ended != nil || away.Cut != nil {
		t.Errorf("no rounds: %v, %v, want no run", active, away)
	}
}

// Six runs of 1, 2, 2+, 3, 3+ and 5 rounds: after 1 round 5 of 6 go on, after 2 of these 4 of 5, and so on. Without a
// cut run, the estimate is the share of the runs.
func TestSurvival(t *testing.T) {
	got := Lengths{Ended: []int{0, 1, 1, 1, 0, 1}, Cut: []int{0, 0, 1, 1}}.Survival()
	near(t, "cut", got, []float64{1, 5. / 6, 5. / 6 * 4 / 5, 5. / 6 * 4 / 5 * 2 / 3, 5. / 6 * 4 / 5 * 2 / 3}, 1e-15)
	got = Lengths{Ended: []int{0, 2, 1, 0, 1}}.Survival()
	near(t, "all ended", got, []float64{1, 0.5, 0.25, 0.25}, 1e-15)
	near(t, "all cut", Lengths{Cut: []int{0, 0, 3}}.Survival(), []float64{1, 1}, 0)
	near(t, "no run", Lengths{}.Survival(), nil, 0)
}

// A long record of the clusters model, each client with a chain of its own, agrees with the formulas of its chains.
func TestChains(t *testing.T) {
	const n, rounds, lags = 8, 100_000, 30
	base := make([]float64, n)
	options := availability.Defaults(base, 5)
	options.Clusters = n
	model := must.Get(availability.New("clusters", options))(t)
	pi, lambda := model.Stationary()
	record := availability.RecordOf(model, n, rounds)
	// Standard errors: the slowest chain, λ = 7/8, has 1100 runs of each state; all have 50 000.
	got, _ := Autocorrelation(record, lags)
	powers := make([]float64, lags+1)
	for k := range powers {
		for _, l := range lambda {
			powers[k] += math.Pow(l, float64(k)) / n
		}
	}
	near(t, "autocorrelation", got, powers, 0.015)
	near(t, "its expectation", ChainAutocorrelation(lambda, rounds, lags), powers, 2e-4)
	active, away := Runs(record)
	for state, lengths := range map[bool]Lengths{true: active, false: away} {
		got := lengths.Survival()[:20]
		near(t, fmt.Sprint("runs, active ", state), got, ChainRuns(pi, lambda, state, 20), 0.01)
	}
}

// One chain has geometric runs; a client who never changes has no part in them.
func TestChainRuns(t *testing.T) {
	for state, stay := range map[bool]float64{true: 0.5 + 0.5*0.2, false: 0.5 + 0.5*0.8} {
		got := ChainRuns([]float64{0.2, 0, 1}, []float64{0.5, 0, 0}, state, 4)
		near(t, fmt.Sprint("active ", state), got, []float64{1, stay, stay * stay, stay * stay * stay}, 1e-15)
	}
	if got := ChainRuns([]float64{0, 1}, []float64{0, 0}, true, 4); got != nil {
		t.Errorf("nobody changes: %v, want nil", got)
	}
}

// The expectation of the estimate, from the covariances of all pairs of rounds.
func TestChainAutocorrelation(t *testing.T) {
	for _, rounds := range []int{2, 3, 10, 37} {
		for _, l := range []float64{-1, -0.3, 0, 0.5, 0.98} {
			cov := func(s, t int) float64 { return math.Pow(l, math.Abs(float64(s-t))) }
			T := float64(rounds)
			centred := func(s, t int) float64 { // Cov(a_s − ā, a_t − ā)
				c := cov(s, t)
				for u := range rounds {
					c -= (cov(s, u) + cov(t, u)) / T
					for v := range rounds {
						c += cov(u, v) / T / T
					}
				}
				return c
			}
			sums := make([]float64, 51)
			for k := range min(51, rounds) {
				for t := range rounds - k {
					sums[k] += centred(t, t+k)
				}
			}
			want := make([]float64, len(sums))
			for k := range want {
				want[k] = sums[k] / sums[0]
			}
			near(t, fmt.Sprintf("T=%d λ=%g", rounds, l), ChainAutocorrelation([]float64{l, 1}, rounds, 50), want, 1e-9)
		}
	}
	if got := ChainAutocorrelation([]float64{1}, 10, 5); got != nil {
		t.Errorf("λ = 1: %v, want nil", got)
	}
}
