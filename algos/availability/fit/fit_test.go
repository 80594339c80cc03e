package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/algos/availability"
	"rollcall/internal/must"
)

// recordOf returns a record whose clients are active with the probability that p says, given the round before.
func recordOf(r *rand.Rand, n, rounds int, p func(i, t int, before bool) float64) availability.Record {
	record := availability.NewRecord(n, rounds)
	for i := range n {
		before := false
		for t := range rounds {
			before = r.Float64() < p(i, t, before)
			if before {
				record.Set(i, t)
			}
		}
	}
	return record
}

// chainsOf returns a record of independent chains whose π are between 0.2 and 0.8 and whose λ are 0, 0.4 or 0.8.
func chainsOf(r *rand.Rand, n, rounds int) availability.Record {
	record := availability.NewRecord(n, rounds)
	for i, row := range record.Rows {
		simulate(r, 0.2+0.6*r.Float64(), 0.4*float64(i%3), rounds, row)
	}
	return record
}

// Every test finds something in 5 % of records of independent chains; so do the groups. In 250 records the share has a
// standard error of 1.4 %, and three of them are allowed.
func TestSize(t *testing.T) {
	const records = 250
	found := map[string]float64{}
	for k := range records {
		r := rand.New(rand.NewPCG(uint64(k), 7))
		result := must.Get(Fit(chainsOf(r, 15, 200), Options{Seed: uint64(k)}))(t)
		for name, p := range map[string]float64{
			"cycle": result.Cycle.P, "stationary": result.Tests.Stationary.P,
			"order": result.Tests.Order.P, "runs": result.Tests.Runs.P,
		} {
			if p < 0.05 {
				found[name] += 1.0 / records
			}
		}
		if result.Groups.Above > 0 {
			found["pairs"] += 1.0 / records
		}
		if len(result.Groups.Groups) > 0 {
			t.Errorf("record %d: groups %+v, want none", k, result.Groups.Groups)
		}
	}
	for _, name := range []string{"cycle", "stationary", "order", "runs", "pairs"} {
		t.Logf("%s: %.3f", name, found[name])
		if math.Abs(found[name]-0.05) > 0.041 {
			t.Errorf("%s: in %.3f of records of chains, want 0.05 ± 0.041", name, found[name])
		}
	}
}

// The p-values of a client's order are uniform, too.
func TestOrderOfClients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	tested, low := 0.0, 0.0
	for range 3000 {
		c := count(simulated(r, 0.3, 0.5, 500), 500)
		if chi2, df := orderOf(&c, 5); df > 0 {
			tested++
			if survival(chi2, float64(df)) < 0.05 {
				low++
			}
		}
	}
	if share := low / tested; tested < 2900 || math.Abs(share-0.05) > 0.012 {
		t.Errorf("p < 0.05 for %.3f of %g clients, want 0.05 ± 0.012 of nearly 3000", share, tested)
	}
}

// Each test finds what it is for.
func TestPower(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     func(i, t int, before bool) float64
		found func(*Result) float64 // P of the test
	}{
		{
			"cycle: weak sine of 30 rounds",
			func(_, t int, _ bool) float64 { return 0.5 * (0.9 + 0.1*math.Sin(2*math.Pi*float64(t)/30)) },
			func(r *Result) float64 { return r.Cycle.P },
		},
		{
			"stationary: sine of 400 rounds",
			func(_, t int, _ bool) float64 { return 0.5 * (0.7 + 0.3*math.Sin(2*math.Pi*float64(t)/400)) },
			func(r *Result) float64 { return r.Tests.Stationary.P },
		},
		{
			"stationary: chains that become less active",
			func(_, t int, before bool) float64 {
				p := 0.25 - 0.2*float64(t)/600
				if before {
					p += 0.5
				}
				return p
			},
			func(r *Result) float64 { return r.Tests.Stationary.P },
		},
		{
			"order: active in half of every 8 rounds, nearly always",
			func(i, t int, _ bool) float64 { return 0.05 + 0.9*float64((t+5*i)/4%2) },
			func(r *Result) float64 { return r.Tests.Order.P },
		},
		{
			"runs: active in half of every 12 rounds, mostly",
			func(i, t int, _ bool) float64 { return 0.1 + 0.8*float64((t+5*i)/6%2) },
			func(r *Result) float64 { return r.Tests.Runs.P },
		},
		{
			"order: a sine of 20 rounds",
			func(_, t int, _ bool) float64 { return 0.7 + 0.3*math.Sin(2*math.Pi*float64(t)/20) },
			func(r *Result) float64 { return r.Tests.Order.P },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			const records = 10
			found := 0
			for k := range uint64(records) {
				record := recordOf(rand.New(rand.NewPCG(k, 8)), 16, 600, c.p)
				if c.found(must.Get(Fit(record, Options{Seed: k}))(t)) < 0.05 {
					found++
				}
			}
			if t.Logf("%d of %d", found, records); found < 9 {
				t.Errorf("found in %d of %d records, want 9", found, records)
			}
		})
	}
}

// Period, γ and phase of a planted sine are in their intervals in 95 ± 5 % of records: in 300, three standard errors
// are 3.8 %. Its shape passes for a sine, that of a staircase does not.
func TestSine(t *testing.T) {
	for _, c := range []struct {
		period, gamma, phase float64
		rounds               int
	}{{20, 0.3, 1, 500}, {24.3, 0.5, -2, 600}, {150, 0.5, 0, 1000}} {
		t.Run(fmt.Sprintf("P=%g γ=%g φ=%g T=%d", c.period, c.gamma, c.phase, c.rounds), func(t *testing.T) {
			const records = 300
			var period, gamma, phase, overtones float64
			for k := range uint64(records) {
				record := recordOf(rand.New(rand.NewPCG(k, 9)), 15, c.rounds, func(i, t int, _ bool) float64 {
					wave := math.Sin(2*math.Pi*float64(t)/c.period + c.phase)
					return (0.3 + 0.05*float64(i)) * (c.gamma*wave + 1 - c.gamma)
				})
				f := cycleOfRecord(record)
				if !f.Found() {
					t.Fatalf("record %d: p = %g, want a cycle", k, f.P)
				}
				in := func(v Interval, x float64) float64 {
					if v.Low <= x && x <= v.High {
						return 1.0 / records
					}
					return 0
				}
				period, gamma = period+in(f.Period, c.period), gamma+in(f.Gamma, c.gamma)
				phase += in(f.Phase, c.phase)
				if f.Harmonics < 0.05 {
					overtones += 1.0 / records
				}
			}
			t.Logf("coverage of P, γ, φ: %.3f %.3f %.3f; overtones %.3f", period, gamma, phase, overtones)
			for name, cover := range map[string]float64{
				"P": period, "γ": gamma, "φ": phase, "no overtones": 1 - overtones,
			} {
				if math.Abs(cover-0.95) > 0.05 {
					t.Errorf("%s: %.3f, want 0.95 ± 0.05", name, cover)
				}
			}
		})
	}
}

func cycleOfRecord(record availability.Record) Cycle {
	active, clients := make([]float64, record.Rounds), make([]Client, len(record.Rows))
	for i, row := range record.Rows {
		c := count(row, record.Rounds)
		clients[i].Chain = chainOf(&c)
		for t := range active {
			if record.Active(i, t) {
				active[t]++
			}
		}
	}
	return cycleOf(active, shapeOf(clients))
}

// The suite's own models are told for what they are.
func TestModels(t *testing.T) {
	base := make([]float64, 60)
	for i := range base {
		base[i] = 0.3 + 0.01*float64(i)
	}
	for _, c := range []struct {
		model string
		check func(*Result) bool
		want  string
	}{
		{
			"stationary", func(r *Result) bool {
				s := r.Chains()
				return !r.Cycle.Found() && len(r.Groups.Groups) == 0 && s.Dependent <= 8 && s.Given == 60
			}, "no cycle, no group, λ = 0 in most intervals",
		},
		{
			"sine", func(r *Result) bool {
				c := r.Cycle
				return c.Found() && c.Period.Low < 20 && c.Period.High > 20 && math.Abs(c.Gamma.Value-0.3) < 0.03 &&
					math.Abs(c.Phase.Value) < 0.3 && c.Harmonics > 0.05 && math.Abs(r.Clients[59].P-base[59]) < 0.08
			}, "P = 20, γ = 0.3, φ = 0",
		},
		{
			"staircase", func(r *Result) bool { return r.Cycle.Found() && r.Cycle.Harmonics < 0.05 },
			"a cycle that is no sine",
		},
		{
			"markov", func(r *Result) bool {
				return len(r.Groups.Groups) == 0 && !r.Cycle.Found() && r.Tests.Order.P > 0.01 &&
					r.Tests.Runs.P > 0.01 && r.Tests.Stationary.P > 0.01 && r.Chains().Dependent >= 25
			}, "chains, λ ≠ 0 for half of them",
		},
		{
			"clusters", func(r *Result) bool {
				ok := len(r.Groups.Groups) == 10
				for _, g := range r.Groups.Groups {
					c := g.Clients[0] / 6 // six clients in each of ten clusters
					pi, lambda := 0.9, 0.0
					if c >= 5 {
						pi, lambda = 0.1, float64(c)/10
					}
					ok = ok && len(g.Clients) == 6 && g.Clients[5] == 6*c+5 && g.Together > 0.999 &&
						math.Abs(g.Pi.Value-pi) < 0.1 && g.Pi.Low < g.Pi.Value && g.Pi.Value < g.Pi.High &&
						math.Abs(g.Lambda.Value-lambda) < 0.1 && g.Lambda == r.Clients[6*c].Lambda
				}
				return ok && r.Groups.Alone() == 0 && r.Tests.Order.Clients == 10
			}, "ten groups of six with their π and λ",
		},
	} {
		t.Run(c.model, func(t *testing.T) {
			model := must.Get(availability.New(c.model, availability.Defaults(base, 4)))(t)
			result := must.Get(Fit(availability.RecordOf(model, len(base), 1500), Options{Seed: 1}))(t)
			if !c.check(result) {
				t.Errorf("cycle %+v\ngroups %+v\ntests %+v\nchains %+v\nwant %s", result.Cycle, result.Groups,
					result.Tests, result.Chains(), c.want)
			}
		})
	}
}

// Records that are short or empty have less fitted to them, and no record makes it panic.
func TestShort(t *testing.T) {
	if _, err := Fit(availability.Record{}, Options{}); err == nil {
		t.Error("no clients and no rounds: no error")
	}
	for _, rounds := range []int{1, 2, 63, 64, 65, 99, 100, 101, 130} {
		record := availability.NewRecord(4, rounds)
		for round := range rounds { // never, always, in turn, in the last round
			record.Set(1, round)
			if round%2 == 0 {
				record.Set(2, round)
			}
		}
		record.Set(3, rounds-1)
		result := must.Get(Fit(record, Options{}))(t)
		for i := range result.Clients {
			c := &result.Clients[i]
			pi, lambda := c.Feasible()
			if pi > 0 && pi < 1 && !(lambda >= max(1-1/pi, 1-1/(1-pi)) && lambda < 1) {
				t.Errorf("%d rounds, client %d: π %g, λ %g, which no chain has", rounds, i, pi, lambda)
			}
			if (pi == 0 || pi == 1) && (lambda != 0 || c.Pi.Given() || c.Lambda.Given()) {
				t.Errorf("%d rounds, client %d: %+v, want λ = 0 and no intervals", rounds, i, c)
			}
		}
		if rounds < FewestRounds && !(math.IsNaN(result.Cycle.P) && result.Groups.Compared == 0 &&
			math.IsNaN(result.Tests.Order.P)) {
			t.Errorf("%d rounds: %+v %+v %+v, want nothing", rounds, result.Cycle, result.Groups, result.Tests)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	record := chainsOf(r, 100_000, 2000)
	for b.Loop() {
		must.Get(Fit(record, Options{}))(b)
	}
}
