// Package power says, from runs that differ in their seeds alone, how much of the spread each seed makes, and how many
// seeds a difference needs.
package power

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// Seeds are the settings that are seeds of a part of a run's draws, in the order in which a run draws. A run without
// one of them draws that part from its own seed.
var Seeds = []string{"seed-split", "seed-phi", "seed-availability", "seed-init", "seed-batches"}

// Factor is a seed that a design varies, or several that it varies together.
type Factor struct {
	Name   string // split, phi, …; several are joined by +
	Levels int    // how many seeds there are
}

// Design is complete runs of one method that differ in their seeds alone: any two seeds of two factors meet in exactly
// one run.
type Design struct {
	results.CellKey // without seeds
	Rounds          int
	Factors         []Factor
	Runs            []results.Run // sorted by their seeds

	level [][]int          // [factor][run], for the analysis of variance
	seeds []string         // [run] all seeds of a run as text
	like  results.Likeness // of its runs, without settings and the revision of the method
}

// Designs returns the crossed designs among runs, by method. Runs whose seeds all vary together, as those of --seeds,
// are no design. bad says which runs vary several seeds but are not crossed, and why: usually some are missing.
func Designs(runs []results.Run) (designs []Design, bad []error) {
	type group struct {
		key  results.CellKey
		like results.Likeness
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(r results.Run) bool { return r.Status() != results.RunComplete })
	keys, groups := results.Grouped(runs, func(r results.Run) group {
		key, like := r.Key(), r.Likeness()
		key.Params, like.Settings = key.Params.Without(Seeds...), settingsHash(&r)
		return group{key, like}
	})
	for _, k := range keys {
		d := Design{CellKey: k.key, Runs: groups[k], Rounds: groups[k][0].Rounds(), like: k.like}
		d.like.Settings, d.like.Revisions.Method = "", 0
		d.factors()
		if len(d.Factors) < 2 {
			continue
		}
		if err := d.crossed(); err != nil {
			bad = append(bad, fmt.Errorf("power: %s: %w", d.CellKey, err))
			continue
		}
		designs = append(designs, d)
	}
	slices.SortStableFunc(designs, func(a, b Design) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Params, b.Params))
	})
	return designs, bad
}

func settingsHash(r *results.Run) string {
	of := maps.Clone(r.Settings())
	for _, name := range Seeds {
		delete(of, name)
	}
	return results.Hash(of)
}

// seedOf returns the seed of a part of a run's draws, as text.
func seedOf(r *results.Run, name string) string {
	if own, given := r.Settings()[name]; given {
		return fmt.Sprint(own)
	}
	return fmt.Sprint(r.Seed)
}

// factors finds the seeds that vary, joins those that vary together, and sorts the runs by their seeds.
func (d *Design) factors() {
	seedsOf := func(r *results.Run) (all []string) {
		for _, name := range Seeds {
			all = append(all, fmt.Sprintf("%10s", seedOf(r, name))) // padded, so that 10 comes after 9
		}
		return all
	}
	slices.SortFunc(d.Runs, func(a, b results.Run) int { return slices.Compare(seedsOf(&a), seedsOf(&b)) })
	for _, name := range Seeds {
		number, level := map[string]int{}, make([]int, len(d.Runs))
		for i := range d.Runs {
			seed := seedOf(&d.Runs[i], name)
			if _, met := number[seed]; !met {
				number[seed] = len(number)
			}
			level[i] = number[seed]
		}
		short := strings.TrimPrefix(name, "seed-")
		// Seeds that vary together give the runs the same numbers, since both are numbered in the order of the runs.
		same := slices.IndexFunc(d.level, func(other []int) bool { return slices.Equal(other, level) })
		switch {
		case len(number) < 2:
		case same >= 0:
			d.Factors[same].Name += "+" + short
		default:
			d.Factors, d.level = append(d.Factors, Factor{short, len(number)}), append(d.level, level)
		}
	}
	for i := range d.Runs {
		d.seeds = append(d.seeds, strings.Join(seedsOf(&d.Runs[i]), " "))
	}
}

// crossed returns an error unless any two seeds of two factors meet in exactly one run.
func (d *Design) crossed() error {
	for f := range d.Factors {
		for g := range f {
			met := map[[2]int]bool{}
			for i := range d.Runs {
				met[[2]int{d.level[g][i], d.level[f][i]}] = true
			}
			a, b := d.Factors[g], d.Factors[f]
			if pairs := a.Levels * b.Levels; len(met) != pairs || len(d.Runs) != pairs {
				return fmt.Errorf("%d runs, in which %d of the %d pairs of %d seeds of %s and %d of %s meet, "+
					"want each pair in one run, as rollcall sweep --crossed trains them",
					len(d.Runs), len(met), pairs, a.Levels, a.Name, b.Levels, b.Name)
			}
		}
	}
	return nil
}

// pairs reports whether the runs of two designs are pairs: they have the same seeds, and differ in nothing but the
// method and settings.
func (d *Design) pairs(other *Design) bool {
	of := func(d *Design) results.CellKey { return d.Ignoring([]string{"method", "params"}) }
	return of(d) == of(other) && d.like == other.like && d.Rounds == other.Rounds && slices.Equal(d.seeds, other.seeds)
}

// confidence is the probability of every interval.
const confidence = 0.95

// The rows of a design that are no factor's.
const (
	restPart = "interactions" // what no seed makes alone
	allPart  = "all"          // the whole spread
)

// Spread is one part of the spread of a number: of one method, or of the difference of two on the same seeds.
type Spread struct {
	Method       string         `csv:"method"` // with the settings in which the designs differ
	Minus        string         `csv:"minus"`  // the method that is subtracted; empty: none
	Data         string         `csv:"data"`
	Net          string         `csv:"net"`
	Availability string         `csv:"availability"`
	Params       results.Params `csv:"params"` // that all designs share, without seeds
	Rounds       int            `csv:"rounds"`
	Metric       metrics.Metric `csv:"metric"` // its mean over the last rounds of a run, see [results.ProtocolRounds]
	Runs         int            `csv:"runs"`   // of each method
	Mean         float64        `csv:"mean"`   // over the runs; of a difference its mean

	Part     string  `csv:"part"`     // a [Factor], interactions, or all
	Levels   int     `csv:"levels"`   // seeds of the factor; 0: no factor
	DF       float64 `csv:"df"`       // degrees of freedom
	Share    float64 `csv:"share"`    // of the whole variance; a negative estimate counts as 0
	Variance float64 `csv:"variance"` // unbiased, so that it may be negative
	Std      float64 `csv:"std"`      // its root; 0 for a negative one
	StdLow   float64 `csv:"std_low"`  // of the 95 % interval
	StdHigh  float64 `csv:"std_high"`

	// Only rows of all have these: how many seeds the wanted difference needs, and how many at the ends of the interval
	// of std. Missing: more than [stats.MostSeeds].
	Apart     files.Optional `csv:"seeds_apart"` // of each of two methods with seeds of their own
	ApartLow  files.Optional `csv:"seeds_apart_low"`
	ApartHigh files.Optional `csv:"seeds_apart_high"`
	Pairs     files.Optional `csv:"seeds_paired"` // of two methods with the same seeds; missing for one method
	PairsLow  files.Optional `csv:"seeds_paired_low"`
	PairsHigh files.Optional `csv:"seeds_paired_high"`
}

// Estimate returns the parts of the spread of a metric in every design, and then in the difference of any two designs
// whose runs are pairs.
func Estimate(designs []Design, m metrics.Metric, find stats.Detect) (rows []Spread, err error) {
	params := func(d Design) results.Params { return d.Params }
	common, all := results.CommonParams(designs, params), results.AllParams(designs, params)
	names, values := make([]string, len(designs)), make([][]float64, len(designs))
	single := make([]stats.Components, len(designs))
	for k := range designs {
		d := &designs[k]
		if names[k] = d.Method; d.Params.Minus(common) != "" {
			names[k] += " " + d.Params.Minus(common).Short(" ", all...)
		}
		if values[k], err = d.values(m); err != nil {
			return nil, err
		}
		own, of, err := d.rows(values[k], m)
		if err != nil {
			return nil, err
		}
		for i := range own {
			own[i].Method, own[i].Params = names[k], common
		}
		own[len(own)-1].apart(find, of.Sum, of.Sum)
		rows, single[k] = append(rows, own...), of
	}
	for k := range designs {
		for j := range k {
			if !designs[k].pairs(&designs[j]) {
				continue
			}
			difference := make([]float64, len(values[k]))
			for i := range difference {
				difference[i] = values[j][i] - values[k][i]
			}
			both, of, err := designs[k].rows(difference, m)
			if err != nil {
				return nil, err
			}
			for i := range both {
				both[i].Method, both[i].Minus, both[i].Params = names[j], names[k], common
			}
			last := &both[len(both)-1]
			last.apart(find, single[j].Sum, single[k].Sum)
			last.paired(find, of.Sum)
			rows = append(rows, both...)
		}
	}
	return rows, nil
}

// values returns the metric of every run: its mean over the last rounds.
func (d *Design) values(m metrics.Metric) ([]float64, error) {
	values := make([]float64, len(d.Runs))
	for i := range d.Runs {
		v := protocol.LastRounds(d.Runs[i].Curve, results.ProtocolRounds, m)
		if !v.Valid {
			return nil, fmt.Errorf("power: %s: no %s in the last %d rounds, want one at least",
				d.Runs[i].Dir, m, results.ProtocolRounds)
		}
		values[i] = v.Value
	}
	return values, nil
}

// rows returns a row for each factor, for the interactions, and for the whole spread of values [run].
func (d *Design) rows(values []float64, m metrics.Metric) (rows []Spread, c stats.Components, err error) {
	c, err = stats.CrossedComponents(values, d.level, confidence)
	if err != nil {
		return nil, c, fmt.Errorf("power: %s: %s: %w", d.CellKey, m, err)
	}
	add := func(part string, levels int, of stats.Component) {
		share := 0.0
		if c.Sum.Variance > 0 {
			share = max(0, of.Variance) / c.Sum.Variance
		}
		rows = append(rows, Spread{
			Data: d.Data, Net: d.Net, Availability: d.Availability, Params: d.Params, Rounds: d.Rounds, Metric: m,
			Runs: len(values), Mean: stats.Mean(values).Value, Part: part, Levels: levels, DF: of.DF, Share: share,
			Variance: of.Variance, Std: root(of.Variance), StdLow: root(of.Low), StdHigh: root(of.High),
		})
	}
	for f, factor := range d.Factors {
		add(factor.Name, factor.Levels, c.Factors[f])
	}
	add(restPart, 0, c.Rest)
	add(allPart, 0, c.Sum)
	return rows, c, nil
}

// root returns the square root of a variance; 0 for a negative one.
func root(variance float64) float64 { return math.Sqrt(max(0, variance)) }

// apart sets how many seeds the difference of two methods needs whose seeds have nothing to do with one another. a and
// b are their whole variances.
func (r *Spread) apart(find stats.Detect, a, b stats.Component) {
	seeds := func(a, b float64) files.Optional { return answer(find.Apart(root((a + b) / 2))) }
	r.Apart, r.ApartLow, r.ApartHigh = seeds(a.Variance, b.Variance), seeds(a.Low, b.Low), seeds(a.High, b.High)
}

// paired sets how many seeds the difference of two methods needs that have the same seeds. of is the whole variance of
// the difference.
func (r *Spread) paired(find stats.Detect, of stats.Component) {
	seeds := func(variance float64) files.Optional { return answer(find.Paired(root(variance))) }
	r.Pairs, r.PairsLow, r.PairsHigh = seeds(of.Variance), seeds(of.Low), seeds(of.High)
}

// answer returns a number of seeds, or none for more than there can be.
func answer(n int, err error) files.Optional {
	if err != nil {
		return files.Optional{}
	}
	return files.Some(float64(n))
}

// Write writes the rows of [Estimate] for people: a table of parts for each method and each difference, and below it
// how many seeds the difference needs that was looked for.
func Write(w io.Writer, rows []Spread, find stats.Detect, markdown bool) error {
	type part struct {
		method, minus string
		params        results.Params
	}
	var b strings.Builder
	keys, of := results.Grouped(rows, func(r Spread) part { return part{r.Method, r.Minus, r.Params} })
	for _, k := range keys {
		group := of[k]
		first, all := group[0], group[len(group)-1]
		what := first.Method
		if first.Minus != "" {
			what += " − " + first.Minus + " on the same seeds"
		}
		about := fmt.Sprintf("%s: %s, %s, %s, %d rounds, %d runs", what, first.Data, first.Net, first.Availability,
			first.Rounds, first.Runs)
		if first.Params != "" {
			about += ", " + first.Params.Short(" ")
		}
		over, why := first.Metric.Over(results.ProtocolRounds, first.Rounds)
		number := strings.TrimSuffix(first.Metric.Name()+", "+over+", "+why, ", ")
		number += ": " + inUnit(first.Metric, first.Mean) + " on average"
		t := files.TextTable{Align: "lrrrr", Gap: "  ", Lines: [][]string{
			{"part of the spread", "seeds", "of the variance", "std", "95 % interval"},
		}}
		for _, r := range group {
			t.Lines = append(t.Lines, r.line())
		}
		if markdown {
			fmt.Fprintf(&b, "%s\n\n%s\n\n", files.EscapeMarkdown(about), files.EscapeMarkdown(number))
			t.Markdown(&b)
			fmt.Fprintf(&b, "\n%s\n\n", files.EscapeMarkdown(all.needs(find)))
		} else {
			fmt.Fprintf(&b, "%s\n%s\n\n", about, number)
			t.Text(&b)
			fmt.Fprintf(&b, "\n%s\n\n", all.needs(find))
		}
	}
	b.WriteString(notes)
	_, err := io.WriteString(w, b.String())
	return err
}

// notes says what the parts mean.
const notes = "split moves the availability too, since p_i depends on φ and on the classes that client i holds.\n" +
	"interactions: what two seeds or more make together, and none alone. all: the spread over new seeds of all.\n" +
	"A negative estimate counts as 0, so that shares may add up to more than 100 %.\n"

// line returns the cells of a part in a table for people.
func (r *Spread) line() []string {
	seeds := ""
	if r.Levels > 0 {
		seeds = fmt.Sprint(r.Levels)
	}
	return []string{
		r.Part, seeds, fmt.Sprintf("%.0f %%", 100*r.Share), inUnit(r.Metric, r.Std),
		inUnit(r.Metric, r.StdLow) + " … " + inUnit(r.Metric, r.StdHigh),
	}
}

// needs returns the lines that say how many seeds are needed.
func (r *Spread) needs(find stats.Detect) string {
	text := fmt.Sprintf("seeds for a difference of %s (two-sided t-test at %g, power %g):\n",
		inUnit(r.Metric, find.Difference), find.Significance, find.Power)
	if r.Minus == "" {
		return text + seedsBetween(r.Apart, r.ApartLow, r.ApartHigh) + ", of each of two methods with this spread"
	}
	return text + seedsBetween(r.Pairs, r.PairsLow, r.PairsHigh) + " if both methods have the same, " +
		seedsBetween(r.Apart, r.ApartLow, r.ApartHigh) + " of each if they do not"
}

// seedsBetween returns a number of seeds and those at the ends of the interval: "34 (20 … 71)".
func seedsBetween(n, low, high files.Optional) string {
	word := func(n files.Optional) string {
		if !n.Valid {
			return fmt.Sprintf("over %d", stats.MostSeeds)
		}
		return fmt.Sprintf("%.0f", n.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", word(n), word(low), word(high))
}

// inUnit returns a number in the unit of the metric with more digits than papers print: a spread is small.
func inUnit(m metrics.Metric, x float64) string {
	if m.IsPercent() {
		return fmt.Sprintf("%.2f", 100*x)
	}
	return fmt.Sprintf("%.4f", x)
}
