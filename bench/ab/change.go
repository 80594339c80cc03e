package ab

import (
	"math"

	"rollcall/results"
	"rollcall/results/stats"
)

// Series is one metric of two programs: one number, above 0, for each pass and program. Less is better.
type Series struct {
	Metric, Unit string
	Old, New     []float64 // of the same length
}

// Verdict is what is known about a change.
type Verdict string

// The verdicts.
const (
	Worse   Verdict = "worse"       // shown, and the change is at least the least effect
	Better  Verdict = "better"      // likewise
	Same    Verdict = "same"        // shown to be smaller than the least effect
	Unknown Verdict = "cannot tell" // the passes are too few for any of these
)

// Change is what became of a metric.
type Change struct {
	Metric  string  `json:"metric"`
	Unit    string  `json:"unit"`
	Old     float64 `json:"old"`    // median over the passes
	New     float64 `json:"new"`    // Old with the change
	Change  float64 `json:"change"` // New/Old − 1, above 0 is worse
	Low     float64 `json:"low"`    // the interval of the change
	High    float64 `json:"high"`
	P       float64 `json:"p"` // of no change; from [Rule.Changes] it is adjusted for the number of metrics
	Verdict Verdict `json:"verdict"`
}

// Rule is what counts as a change.
type Rule struct {
	Level     float64 // above 0 and below 1: the share of false alarms over all metrics; the interval covers 1 − Level
	MinEffect float64 // 0 or more: smaller changes do not count, as a fraction
}

// DefaultRule returns the rule of the commands.
func DefaultRule() Rule { return Rule{Level: 0.05, MinEffect: 0.02} }

// Changes compares two programs by all metrics. Their p-values are adjusted by the procedure of Holm.
func (r Rule) Changes(all []Series) []Change {
	changes, p := make([]Change, len(all)), make([]float64, len(all))
	for i, s := range all {
		changes[i] = r.Change(s)
		p[i] = changes[i].P
	}
	for i, adjusted := range stats.Holm(p) {
		changes[i].P = adjusted
		changes[i].Verdict = r.verdict(changes[i])
	}
	return changes
}

// Change compares two programs by one metric, by the logarithms of new/old of each pass and Wilcoxon's signed-rank
// test. Its change and interval hardly depend on passes in which a neighbour slowed one of the programs down: on a busy
// machine, some differ by 15 %. Fewer than six passes tell nothing at a level of 5 %.
func (r Rule) Change(s Series) Change {
	ratios, old := make([]float64, len(s.Old)), make([]float64, len(s.Old))
	for i := range s.Old {
		ratios[i], old[i] = math.Log(s.New[i]/s.Old[i]), math.Log(s.Old[i])
	}
	center, low, high := stats.SignedRankInterval(ratios, r.Level)
	before := math.Exp(stats.Median(old).Value)
	c := Change{
		Metric: s.Metric, Unit: s.Unit, Old: before, New: before * math.Exp(center),
		Change: math.Expm1(center), Low: math.Expm1(low), High: math.Expm1(high), P: stats.SignedRank(ratios),
	}
	c.Verdict = r.verdict(c)
	return c
}

// verdict judges a change with its p-value.
func (r Rule) verdict(c Change) Verdict {
	switch shown := c.P <= r.Level; {
	case shown && c.Low > 0 && c.Change >= r.MinEffect:
		return Worse
	case shown && c.High < 0 && c.Change <= -r.MinEffect:
		return Better
	case c.Low > -r.MinEffect && c.High < r.MinEffect:
		return Same
	}
	return Unknown
}

// deciding are the metrics that the verdict may follow, the best one first. Processor time in runs of the reference
// loop depends least on what else a machine does. A card has wall time alone.
var deciding = []string{results.BenchStepLoops, results.BenchStep, results.BenchRoundTime}

// Decide returns the change that the verdict follows; nil if no metric of the changes says how fast a program is.
func Decide(changes []Change) *Change {
	for _, metric := range deciding {
		if c := find(changes, metric); c != nil {
			return c
		}
	}
	return nil
}

// find returns the change of a metric; nil: there is none.
func find(changes []Change, metric string) *Change {
	for i := range changes {
		if changes[i].Metric == metric {
			return &changes[i]
		}
	}
	return nil
}
