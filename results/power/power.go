package power

import (
	"fmt"
	"math"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

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
	common := results.CommonParams(designs, func(d Design) results.Params { return d.Params })
	names, values := make([]string, len(designs)), make([][]float64, len(designs))
	single := make([]stats.Components, len(designs))
	for k := range designs {
		d := &designs[k]
		if names[k] = d.Method; d.Params.Minus(common) != "" {
			names[k] += " " + d.Params.Minus(common).Words(" ")
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
