package availability

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// variant is a model with settings of its own.
type variant struct {
	model string
	set   func(o *Options)
}

func (v variant) String() string {
	var o Options
	v.set(&o)
	return fmt.Sprintf("%s%s%s/separation=%d", v.model, o.Population, o.Outages, o.Separation)
}

// variants are all models that need no file, and every factor on models with and without memory, with constant and with
// changing probabilities.
func variants() (all []variant) {
	for _, d := range models {
		if d.Name != "trace" {
			all = append(all, variant{d.Name, func(*Options) {}})
		}
	}
	for _, name := range []string{"stationary", "sine", "markov-q", "cyclic"} {
		for _, population := range []string{"arrival:0.1:0.5", "departure:0.2:0.9", "window:3:1:4"} {
			all = append(all, variant{name, func(o *Options) { o.Population = population }})
		}
	}
	for _, name := range []string{"stationary", "staircase", "sine", "interleaved-sine", "uniform", "log-normal"} {
		all = append(all, variant{name, func(o *Options) { o.Separation = 1 }},
			variant{name, func(o *Options) { o.Separation = 5 }},
			variant{name, func(o *Options) { o.Outages = "0.2:0.7:3" }},
			variant{name, func(o *Options) { o.Outages, o.Population = "0.4:-0.3:10", "arrival:0:1" }})
	}
	return all
}

// drawOptions are settings at which ten clients show in a few rounds what a model does.
func drawOptions(seed uint32) Options {
	o := Defaults([]float64{0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1}, seed)
	o.Period, o.Rounds, o.Turns, o.On = 10, 40, 10, 3
	o.Sizes = []int{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}
	o.Chain = &ChainTable{
		Pi:     []float64{0, 1, 0.1, 0.3, 0.5, 0.5, 0.7, 0.7, 0.9, 0.2},
		Lambda: []float64{0, 0, -0.1, 0.5, -1, 0.99, 0.3, -0.4, 0, 0.9},
	}
	return o
}

// counts are the deviations of counted events from their expectation, in standard errors.
type counts struct {
	n      int
	square float64 // sum of z²
	worst  float64
}

func (c *counts) add(events, trials int, p float64) error {
	if sd := math.Sqrt(p * (1 - p) * float64(trials)); sd > 1e-6 {
		z := (float64(events) - p*float64(trials)) / sd
		c.n++
		c.square += z * z
		c.worst = max(c.worst, math.Abs(z))
	} else if events != int(math.Round(p))*trials {
		return fmt.Errorf("%d of %d events, want all or none: probability %g", events, trials, p)
	}
	return nil
}

// Over 1,500 seeds: client i is active in round t, the first ones too, as often as Probabilities says, and in two
// rounds that follow each other as often as π and λ say, if its p_i^t do not change. A count is within 5.5 standard
// errors, and the mean of z² is near 1. The counts of a client's rounds depend on each other, with markov-q by λ = 0.95
// from round to round, so that the mean is of few independent numbers and its bounds are wide; a wrong probability
// makes it 10 and more.
func TestDrawsAreAsProbable(t *testing.T) {
	const seeds, clients, rounds = 1500, 10, 40
	for _, v := range variants() {
		if slices.Contains([]string{"markov", "log-normal", "log-normal-sine"}, v.model) {
			continue // p itself depends on the seed
		}
		t.Run(v.String(), func(t *testing.T) {
			var active, both [rounds][clients]int
			p, pi, lambda := [rounds][]float64{}, []float64{}, []float64{}
			for seed := range uint32(seeds) {
				o := drawOptions(seed + 1)
				if v.set(&o); o.Population != "" { // the order in which clients join is of the seed: TestPopulations
					o.Population = "window:3:1:4"
				}
				m := mustNew(t, v.model, o)
				if seed == 0 {
					for r := range p {
						p[r] = make([]float64, clients)
						m.Probabilities(r, p[r])
					}
					pi, lambda = m.Stationary()
				}
				var before []int
				for r := range rounds {
					now := m.Active(r)
					for _, i := range now {
						active[r][i]++
						if slices.Contains(before, i) {
							both[r][i]++
						}
					}
					before = now
				}
			}
			var single, pairs counts
			for r := range rounds {
				for i := range clients {
					if err := single.add(active[r][i], seeds, p[r][i]); err != nil {
						t.Errorf("round %d client %d: %v", r, i, err)
					}
					same := func(p, pi float64) bool { return math.Abs(p-pi) < 1e-9 }
					if r > 0 && same(p[r][i], pi[i]) && same(p[r-1][i], pi[i]) {
						if err := pairs.add(both[r][i], seeds, pi[i]*(pi[i]+lambda[i]*(1-pi[i]))); err != nil {
							t.Errorf("rounds %d and %d client %d: %v", r-1, r, i, err)
						}
					}
				}
			}
			for what, c := range map[string]counts{"single rounds": single, "pairs of rounds": pairs} {
				if mean := c.square / float64(max(1, c.n)); c.n > 0 && !(c.worst < 5.5 && mean > 0.5 && mean < 2) {
					t.Errorf("%s: worst |z| %.1f, mean z² %.2f of %d, want below 5.5 and 0.5 … 2",
						what, c.worst, mean, c.n)
				}
			}
		})
	}
}

// The new formulas, of clients whose numbers are easy.
func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		model          string
		set            func(o *Options)
		p0, pi, lambda []float64 // p_i^0, π_i, λ_i
	}{
		{ // a = 1 (from 0), 3 (2.5 is rounded up), 4, 10 of 10 rounds
			"cyclic", func(o *Options) { o.Base = []float64{0, 0.25, 0.4, 1} },
			[]float64{0.1, 0.3, 0.4, 1},
			nil,
			[]float64{-1. / 9, 1 - 1./3 - 1./7, 1 - 1./4 - 1./6, 0},
		},
		{ // q(1/p − 1) = 0.2·1, 0.2·4 and 0.2·9, which is capped at 1: π = 0.2/1.2; with p = 1 it is 0
			"markov-q", func(o *Options) { o.Base, o.Q = []float64{0.5, 0.2, 0.1, 1}, 0.2 },
			[]float64{0.5, 0.2, 1. / 6, 1},
			nil,
			[]float64{0.6, 0, -0.2, 0},
		},
		{
			"periodic", func(o *Options) { o.Base, o.Turns, o.On = make([]float64, 4), 4, 5 },
			[]float64{0.25, 0.25, 0.25, 0.25},
			nil, slices.Repeat([]float64{1 - 1./5 - 1./15}, 4),
		},
		{"periodic", func(o *Options) { o.Base, o.Turns = make([]float64, 1), 1 }, []float64{1}, nil, []float64{0}},
		{
			"data-size", func(o *Options) { o.Base, o.Sizes = make([]float64, 4), []int{10, 0, 40, 20} },
			[]float64{0.25, 0, 1, 0.5},
			nil, make([]float64, 4),
		},
		{
			"data-size",
			func(o *Options) { o.Base, o.Sizes, o.SizePower = make([]float64, 4), []int{10, 0, 40, 20}, -2 },
			[]float64{1, 0, 1. / 16, 0.25},
			nil, make([]float64, 4),
		},
		{
			"stationary", func(o *Options) { o.Base, o.Separation = []float64{0.5, 0.1, 0, 1}, 3 },
			[]float64{0.2, 0.1 / 1.3, 0, 0.25},
			nil,
			[]float64{-0.25, -1. / 12, 0, -1. / 3},
		},
		{
			"stationary", func(o *Options) { o.Base, o.Outages = []float64{0.5, 0, 1}, "0.2:0.6:2" },
			[]float64{0.4, 0, 0.8},
			nil,
			[]float64{0.1, 0, 0.6},
		},
		{ // sine 0, 1, 0, −1 over four rounds: q is 0.7, 1, 0.7, 0.4 times 0.5, and once in four rounds away
			"sine", func(o *Options) { o.Base, o.Period, o.Outages = []float64{0.5}, 4, "0.25:0:1" },
			[]float64{0.2625},
			[]float64{0.2625},
			[]float64{0},
		},
		{ // client 1 of two joins in round ⌊10·0.5⌋
			"stationary", func(o *Options) {
				o.Base, o.Rounds, o.Population = []float64{0.6, 0.6}, 10, "window:1:0:5"
			},
			[]float64{0.6, 0},
			[]float64{0.3, 0.3},
			[]float64{0, 0},
		},
	} {
		o := Defaults(nil, 4)
		o.Period = 10
		c.set(&o)
		m := mustNew(t, c.model, o)
		if c.pi == nil {
			c.pi = c.p0
		}
		p := make([]float64, len(o.Base))
		m.Probabilities(0, p)
		pi, lambda := m.Stationary()
		for i := range p {
			for what, v := range map[string][2]float64{
				"p": {p[i], c.p0[i]}, "π": {pi[i], c.pi[i]}, "λ": {lambda[i], c.lambda[i]},
			} {
				if !(math.Abs(v[0]-v[1]) <= 1e-15) || math.Signbit(v[0]) && v[0] == 0 {
					t.Errorf("%s %s: client %d: %s = %.17g, want %.17g", c.model, o.Population, i, what, v[0], v[1])
				}
			}
		}
	}
}

// π and λ are those of what is drawn, in one long run: of cycles and turns exactly.
func TestCyclesGoRound(t *testing.T) {
	o := Defaults([]float64{0.13, 0.5, 0.77, 1}, 3)
	o.Period, o.Turns, o.On = 10, 3, 5
	for _, c := range []struct {
		model  string
		rounds int
	}{{"cyclic", 10}, {"periodic", 15}} {
		m := mustNew(t, c.model, o)
		of := RecordOf(m, 4, 2*c.rounds)
		pi, lambda := m.Stationary()
		for i := range pi {
			active, changes := 0, 0
			for r := range c.rounds {
				if of.Active(i, r) != of.Active(i, r+c.rounds) {
					t.Errorf("%s: client %d: rounds %d and %d differ", c.model, i, r, r+c.rounds)
				}
				if of.Active(i, r) {
					active++
				}
				if of.Active(i, r) != of.Active(i, r+1) {
					changes++
				}
			}
			want := 0.0
			if away := c.rounds - active; away > 0 {
				want = 1 - 1/float64(active) - 1/float64(away)
			}
			if pi[i] != float64(active)/float64(c.rounds) || lambda[i] != want || changes != 2 && want != 0 {
				t.Errorf("%s: client %d: π %g, λ %g, %d changes in a cycle, want %d/%d, %g and 2", c.model, i, pi[i],
					lambda[i], changes, active, c.rounds, want)
			}
		}
	}
	turns := mustNew(t, "periodic", o)
	for r := range 30 {
		if len(turns.Active(r)) == 0 || len(turns.Active(r)) == 4 {
			t.Errorf("round %d: clients %v, want one of the groups 0–1, 2 and 3", r, turns.Active(r))
		}
	}
}

// A population takes clients out of a model, which is otherwise as it is: who is active has a probability above 0, and
// π is the mean of p over the rounds of the run. Clients join and leave in the order and in the rounds of the
// definition.
func TestPopulations(t *testing.T) {
	const clients, rounds = 10, 40
	for _, text := range []string{
		"arrival:0.1:0.5", "arrival:0:0", "arrival:1:1", "departure:0.25:1", "window:3:1:4",
		"window:10:0:1", "window:4:3:100",
	} {
		for _, name := range []string{"stationary", "sine", "markov-q", "cyclic", "chain"} {
			o := drawOptions(6)
			whole := mustNew(t, name, o)
			o.Population = text
			m := mustNew(t, name, o)
			order := inOrder(clients)
			drawsOf(6).Stream(0, 0, 8).Shuffle(order)
			p, of := make([]float64, clients), make([]float64, clients)
			sum := make([]float64, clients)
			var away [rounds]int
			for r := range rounds {
				whole.Probabilities(r, of)
				m.Probabilities(r, p)
				there := func(i int) bool {
					k := slices.Index(order, int32(i))
					switch text { // round ⌊T(a + (b−a)k/N)⌋ in whole numbers
					case "arrival:0.1:0.5":
						return r >= (rounds*10+rounds*4*k)/100
					case "arrival:0:0", "window:10:0:1":
						return true
					case "arrival:1:1":
						return false
					case "departure:0.25:1":
						return r < (rounds*25*clients+rounds*75*k)/(100*clients)
					case "window:3:1:4":
						first := r / 4 * 2
						return slices.Contains([]int{first % 10, (first + 1) % 10, (first + 2) % 10}, i)
					default:
						return i < 4
					}
				}
				want := slices.DeleteFunc(slices.Clone(whole.Active(r)), func(i int) bool { return !there(i) })
				if got := m.Active(r); !slices.Equal(got, want) || got == nil {
					t.Fatalf("%s, %s: round %d: %v, want %v", name, text, r, got, want)
				}
				for i := range p {
					if !there(i) {
						of[i] = 0
						away[r]++
					}
					sum[i] += of[i]
				}
				if !slices.Equal(p, of) {
					t.Fatalf("%s, %s: round %d: p = %g, want %g", name, text, r, p, of)
				}
			}
			pi, lambda := m.Stationary()
			_, wholeLambda := whole.Stationary()
			for i := range pi {
				if sum[i] == 0 {
					wholeLambda[i] = 0
				}
				if math.Abs(pi[i]-sum[i]/rounds) > 1e-15 || lambda[i] != wholeLambda[i] {
					t.Errorf("%s, %s: client %d: π %g, λ %g, want %g, %g",
						name, text, i, pi[i], lambda[i], sum[i]/rounds, wholeLambda[i])
				}
			}
		}
	}
}

// After a round a client is away for R rounds, whatever its probability.
func TestSeparation(t *testing.T) {
	for _, r := range []int{1, 4, 100} {
		o := drawOptions(2)
		o.Separation = r
		for _, name := range independentModels() {
			of := RecordOf(mustNew(t, name, o), len(o.Base), 300)
			for i := range o.Base {
				last := -1000
				for round := range 300 {
					if of.Active(i, round) {
						if round-last <= r {
							t.Errorf("%s, R = %d: client %d in rounds %d and %d", name, r, i, last, round)
						}
						last = round
					}
				}
			}
		}
	}
}

func independentModels() (names []string) {
	for _, d := range models {
		if d.Independent {
			names = append(names, d.Name)
		}
	}
	return names
}

// Groups fail together: with p_i = 1 the clients of a group are alike, and o of the rounds they are away.
func TestOutages(t *testing.T) {
	o := Defaults(slices.Repeat([]float64{1}, 12), 5)
	o.Outages = "0.3:0.8:4"
	const rounds = 20000
	of := RecordOf(mustNew(t, "stationary", o), 12, rounds)
	for g := range 4 {
		away := 0
		for r := range rounds {
			for i := 3 * g; i < 3*g+3; i++ {
				if of.Active(i, r) != of.Active(3*g, r) {
					t.Fatalf("round %d: client %d is not as client %d of its group", r, i, 3*g)
				}
			}
			if !of.Active(3*g, r) {
				away++
			}
		}
		// The variance of a mean of a chain is that of independent rounds times (1+λ)/(1−λ) = 9.
		if z := (float64(away)/rounds - 0.3) / math.Sqrt(0.21*9/rounds); math.Abs(z) > 4 {
			t.Errorf("group %d: away in %d of %d rounds, want 0.3 of them: z = %.1f", g, away, rounds, z)
		}
	}
}

// exp(σ·z): the logarithms are normal with spread σ, and the largest p_i is 1.
func TestLogNormal(t *testing.T) {
	o := Defaults(make([]float64, 4000), 8)
	o.Sigma = 0.7
	pi, _ := mustNew(t, "log-normal", o).Stationary()
	half, _ := mustNew(t, "log-normal-sine", o).Stationary()
	var mean, square, fourth float64
	for i, p := range pi {
		mean += math.Log(p) / 4000
		if math.Abs(half[i]-p/2) > 1e-15 {
			t.Errorf("client %d: π = %g with the sine, want half of %g", i, half[i], p)
		}
	}
	for _, p := range pi {
		z := (math.Log(p) - mean) / 0.7
		square += z * z / 4000
		fourth += z * z * z * z / 4000
	}
	if slices.Max(pi) != 1 || math.Abs(square-1) > 4*math.Sqrt(2./4000) || math.Abs(fourth-3) > 4*math.Sqrt(96./4000) {
		t.Errorf("largest p %g, variance of ln p %g σ², fourth moment %g σ⁴, want 1, 1 and 3",
			slices.Max(pi), square, fourth)
	}
}

// What no model can be made of is refused in a line that says what is wanted.
func TestSettingsRefused(t *testing.T) {
	const window = "want window:c:o:I, c of the 10 clients, of which o < c stay, moved every I ≥ 1 rounds"
	for _, c := range []struct {
		model string
		set   func(o *Options)
		want  string
	}{
		{"markov-q", func(o *Options) { o.Q = 0 }, "q 0, want above 0 and at most 1"},
		{"markov-q", func(o *Options) { o.Q = math.NaN() }, "q NaN, want above 0 and at most 1"},
		{"periodic", func(o *Options) { o.Turns = 11 }, "11 groups of 10 clients, want 1 … 10"},
		{"periodic", func(o *Options) { o.On = 0 }, "turns of 0 rounds, want at least 1"},
		{
			"periodic", func(o *Options) { o.On = 1 << 30 },
			"a cycle of 2^31 rounds or more, want fewer groups or shorter turns",
		},
		{"log-normal", func(o *Options) { o.Sigma = -1 }, "sigma -1, want at least 0 and below 100"},
		{"data-size", func(o *Options) { o.SizePower = math.Inf(1) }, "power +Inf, want a finite number"},
		{"data-size", func(o *Options) { o.Sizes = []int{1} }, "sizes of 1 clients, want 10"},
		{"chain", func(o *Options) { o.Chain = nil }, "no chains, want those of a file"},
		{"chain", func(o *Options) { o.Chain.Pi = o.Chain.Pi[:3] }, "chains of 3 clients, want 10"},
		{"trace", func(*Options) {}, "no trace, want that of a file"},
		{"sine", func(o *Options) { o.Separation = -1 }, "separation: -1 rounds, want at least 1"},
		{
			"sine", func(o *Options) { o.Separation, o.Rounds = 1, math.MaxInt },
			"separation: without the rounds of the run, want them",
		},
		{
			"cyclic", func(o *Options) { o.Separation = 2 },
			"separation and outages: of no use with a model whose rounds depend on each other",
		},
		{
			"markov", func(o *Options) { o.Outages = "0.1:0:1" },
			"separation and outages: of no use with a model whose rounds depend on each other",
		},
		{
			"sine", func(o *Options) { o.Separation, o.Outages = 1, "0.1:0:1" },
			"separation and outages together, want one of them",
		},
		{
			"sine", func(o *Options) { o.Outages = "0.1:0" },
			`outages "0.1:0": want o:lambda:groups, the share of rounds away, the chain's λ and how many groups`,
		},
		{"sine", func(o *Options) { o.Outages = "0.1:0:11" }, `outages "0.1:0:11": want two numbers and 1 … 10 groups`},
		{
			"sine", func(o *Options) { o.Outages = "1:0:1" },
			`outages "1:0:1": a group that is there with pi 0, want above 0 and below 1`,
		},
		{"sine", func(o *Options) { o.Outages = "0.5:1:1" }, `outages "0.5:1:1": a group that is there ` +
			"with lambda 1 at pi 0.5, which no chain of two states has, want at least -1 and below 1"},
		{
			"sine", func(o *Options) { o.Population = "growth" },
			`population "growth": want arrival:a:b, departure:a:b or window:c:o:I`,
		},
		{
			"sine", func(o *Options) { o.Population = "arrival:0.5:0.2" },
			`population "arrival:0.5:0.2": want arrival:a:b, shares of the run with 0 ≤ a ≤ b ≤ 1`,
		},
		{
			"sine", func(o *Options) { o.Population = "departure:NaN:1" },
			`population "departure:NaN:1": want departure:a:b, shares of the run with 0 ≤ a ≤ b ≤ 1`,
		},
		{
			"sine", func(o *Options) { o.Population = "window:3:3:1" },
			`population "window:3:3:1": ` + window,
		},
		{
			"sine", func(o *Options) { o.Population = "window:3:1:2:4" },
			`population "window:3:1:2:4": ` + window,
		},
		{
			"sine", func(o *Options) { o.Population, o.Rounds = "arrival:0:1", math.MaxInt },
			"population: without the rounds of the run, want them",
		},
	} {
		o := drawOptions(1)
		c.set(&o)
		want := "availability: " + c.model + ": " + c.want
		if _, err := New(c.model, o); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
