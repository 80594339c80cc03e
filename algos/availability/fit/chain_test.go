package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// simulated returns the rounds of a chain.
func simulated(r *rand.Rand, pi, lambda float64, rounds int) []uint64 {
	row := make([]uint64, (rounds+63)/64)
	simulate(r, pi, lambda, rounds, row)
	return row
}

// The intervals of chains with known π and λ hold them in 95 ± 3 % of clients, wherever ten changes are expected. Below
// that they do not: with π = 0.05 and λ = 0.8, 200 rounds have four changes. 1500 clients have a standard error of
// 0.6 %.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rounds := range []int{200, 1000, 5000} {
		clients := 1500
		if rounds == 5000 {
			clients = 600
		}
		for _, pi := range []float64{0.05, 0.2, 0.5, 0.9} {
			for _, lambda := range []float64{-0.04, 0, 0.3, 0.8} {
				a, b := (1-lambda)*pi, (1-lambda)*(1-pi)
				expected := 2 * pi * b * float64(rounds)
				if expected < 10 {
					continue
				}
				t.Run(fmt.Sprintf("T=%d π=%g λ=%g", rounds, pi, lambda), func(t *testing.T) {
					var given float64
					hits := [4]float64{}
					for range clients {
						c := count(simulated(r, pi, lambda, rounds), rounds)
						f := chainOf(&c)
						if !f.Pi.Given() {
							continue
						}
						given++
						for k, v := range []Interval{f.Pi, f.Lambda, f.ToActive, f.ToInactive} {
							if truth := [4]float64{pi, lambda, a, b}[k]; v.Low <= truth && truth <= v.High {
								hits[k]++
							}
						}
					}
					t.Logf("%.1f changes, %.3f given; coverage of π, λ, to active, to inactive: %.3f %.3f %.3f %.3f",
						expected, given/float64(clients), hits[0]/given, hits[1]/given, hits[2]/given, hits[3]/given)
					for k, name := range []string{"π", "λ", "to active", "to inactive"} {
						if cover := hits[k] / given; math.Abs(cover-0.95) > 0.03 {
							t.Errorf("%s: %.3f of %g clients covered, want 0.95 ± 0.03", name, cover, given)
						}
					}
				})
			}
		}
	}
}

// The counts of transitions, from the words and state by state.
func TestCount(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, rounds := range []int{1, 2, 3, 63, 64, 65, 66, 128, 130, 200} {
		row := simulated(r, 0.4, 0.5, rounds)
		got, want := count(row, rounds), counts{rounds: rounds}
		at := func(t int) int { return int(row[t/64] >> (t % 64) & 1) }
		for t := range rounds {
			want.active += at(t)
			if t > 0 {
				want.n[at(t-1)][at(t)]++
			}
			if t > 1 {
				want.triples[at(t-2)][at(t-1)][at(t)]++
			}
		}
		if got != want {
			t.Errorf("T=%d: %+v, want %+v", rounds, got, want)
		}
	}
}

// Clients who never change have no λ; those with few changes have no intervals; and every fitted chain exists.
func TestChainEdges(t *testing.T) {
	for _, c := range []struct {
		row        uint64
		pi, lambda float64
		given      bool
	}{
		{0, 0, 0, false},
		{1<<20 - 1, 1, 0, false},
		{1 << 19, 0.05, 0, false},          // comes in the last round: nothing is known of what follows
		{1<<10 - 1, 0.5, 0.9, false},       // goes once: 1 of 10 transitions
		{0x55555, 0.5, -1, true},           // every other round
		{0b1001, 0.1, -1.0 / 17, false},    // 2 of 2 and 1 of 17 transitions
		{0b111001100111, 0.4, 0.375, true}, // 3 of 8 and 2 of 11
	} {
		n := count([]uint64{c.row}, 20)
		f := chainOf(&n)
		if f.Pi.Value != c.pi || math.Abs(f.Lambda.Value-c.lambda) > 0.1 || f.Pi.Given() != c.given ||
			f.Lambda.Given() != c.given {
			t.Errorf("%b: %+v, want π %g, λ %g, intervals %t", c.row, f, c.pi, c.lambda, c.given)
		}
		if pi, lambda := f.Feasible(); pi > 0 && pi < 1 && !(lambda >= max(1-1/pi, 1-1/(1-pi)) && lambda < 1) {
			t.Errorf("%b: π %g and λ %g, which no chain has", c.row, pi, lambda)
		}
	}
}
