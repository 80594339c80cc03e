package track

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"rollcall/results/stats"
)

// Rule defines a shift: a change that is too large to be chance, and too large to be ignored.
type Rule struct {
	// expected share of false alarms among those of one night, over all metrics (Benjamini and Hochberg); in (0, 1)
	Level     float64
	MinEffect float64 // smallest change of the median that counts, as a fraction
}

// DefaultRule returns the rule whose error rates docs/tracking.md gives.
func DefaultRule() Rule { return Rule{Level: 0.01, MinEffect: 0.02} }

// The error rates also depend on these constants. The Mann-Whitney test has exact probabilities for up to 50 nights on
// each side.
const (
	LeastSamples = 10 // a metric with fewer samples does not count in that night
	baseline     = 10 // fewest nights before a shift
	window       = 50 // most nights before a shift with which the nights after it are compared
	confirm      = 3  // fewest nights after a shift
	recent       = 20 // most nights after a shift that the rule examines
)

// Shift is a lasting change of one metric.
type Shift struct {
	First         int     // the first night of the new speed, in [History.Nights]
	Confirmed     int     // the night after which the rule found the shift
	Before, After float64 // median of the nights before First, and from First to Confirmed
	Change        float64 // After / Before − 1
	P             float64 // p-value of the rank test, corrected for the number of splits but not of metrics
	N, K          int     // nights before and after that were compared
}

// Slower reports whether the shift is a regression.
func (s Shift) Slower() bool { return s.Change > 0 }

// Trend is the history of one metric.
type Trend struct {
	Metric, Unit string
	Nights       []int       // the nights with enough samples, in [History.Nights]
	Samples      [][]float64 // of these nights
	Values       []float64   // likewise
	Shifts       []Shift

	begin int // index in Values of the first night since the last shift
}

// Trends goes through a history night by night and finds the shifts of every metric. The result for a night uses only
// that night and earlier ones, so a report never changes later. Metrics are in the order of their names.
//
// After each night, the Mann-Whitney U test compares the last k nights of a metric with up to window nights before
// them, for k = confirm and then half as many again up to recent. Medians that differ by less than MinEffect are no
// shift. The p-values are corrected for the several k (Bonferroni, with half of the level for the first k), and the
// smallest one is the p-value of the metric. The procedure of Benjamini and Hochberg (1995) at Level then decides which
// metrics of the night have shifted.
//
// If only chance changes the speeds of a machine, a night has a false alarm with probability Level at most, whatever
// the distribution, and whether the metrics are independent or vary together. A shift begins at the split with the
// smallest p-value (Pettitt 1979). Later tests of the metric ignore the nights before it.
func (r Rule) Trends(h *History) []Trend {
	trends := map[string]*Trend{}
	for night := range h.Nights {
		var found []candidate
		tested := 0
		for _, v := range h.Nights[night].judged() {
			name := v.metric + " " + v.unit // the same metric in another unit is another metric
			t := trends[name]
			if t == nil {
				t = &Trend{Metric: v.metric, Unit: v.unit}
				trends[name] = t
			}
			if len(v.samples) < LeastSamples {
				continue
			}
			t.Nights, t.Samples = append(t.Nights, night), append(t.Samples, v.samples)
			t.Values = append(t.Values, nightValue(v.samples))
			if !t.comparable() {
				continue
			}
			tested++
			if s, ok := r.split(t); ok {
				found = append(found, candidate{t, s})
			}
		}
		// The tests of a night come first, because the correction needs the number of metrics.
		for _, c := range discoveries(found, tested, r.Level) {
			s := r.locate(c.trend, c.Shift)
			c.trend.Shifts = append(c.trend.Shifts, s)
			c.trend.begin = len(c.trend.Values) - s.K
		}
	}
	var sorted []Trend
	for _, name := range slices.Sorted(maps.Keys(trends)) {
		sorted = append(sorted, *trends[name])
	}
	return sorted
}

// judged is what the rule looks at in a night: the samples of a metric in one unit.
type judged struct {
	metric, unit string
	samples      []float64
}

// judged returns the samples of all metrics of a night. In a quiet night the wall times of whole rounds are a metric of
// their own beside their processor times, which do not show a program that makes worse use of its threads.
func (n Night) judged() (all []judged) {
	for _, v := range n.Values {
		x, unit := v.Samples()
		all = append(all, judged{v.Metric, unit, x})
		if unit == Loops && n.Quiet() && strings.HasPrefix(v.Metric, "round/") {
			all = append(all, judged{v.Metric, v.Unit, v.Wall})
		}
	}
	return all
}

// comparable reports whether enough nights have passed since the last shift to find another.
func (t *Trend) comparable() bool { return len(t.Values)-t.begin >= baseline+confirm }

// candidate is a possible shift of one metric, before the correction for the number of metrics.
type candidate struct {
	trend *Trend
	Shift
}

// split returns the split of the last nights with the smallest corrected p-value; ok is false if there is none.
func (r Rule) split(t *Trend) (best Shift, ok bool) {
	best.P = 1
	lengths := ends()
	for i, k := range lengths {
		// The shortest length gets half of the level, as it finds a shift early; the other lengths share the rest.
		share := 0.5
		if i > 0 {
			share /= float64(len(lengths) - 1)
		}
		s, found := r.compare(t, k)
		if s.P /= share; found && s.P < best.P {
			best, ok = s, true
		}
	}
	return best, ok
}

// ends returns the numbers of last nights to test, each half as large again as the one before.
func ends() (k []int) {
	for n := confirm; n <= recent; n += max(1, n/2) {
		k = append(k, n)
	}
	return k
}

// compare tests the last k nights of a metric against the nights before them. ok is false if there are too few nights
// before them, or if their medians differ too little.
func (r Rule) compare(t *Trend, k int) (s Shift, ok bool) {
	end := len(t.Values)
	if end-k-t.begin < baseline {
		return s, false
	}
	before, after := t.Values[max(t.begin, end-k-window):end-k], t.Values[end-k:]
	if leastP(len(before), k) > r.Level { // so few nights cannot show a shift
		return s, false
	}
	b, a := stats.Median(before).Value, stats.Median(after).Value
	change := a/b - 1
	if math.Abs(change) < r.MinEffect {
		return s, false
	}
	return Shift{
		First: t.Nights[end-k], Confirmed: t.Nights[end-1],
		Before: b, After: a, Change: change, P: rankP(before, after), N: len(before), K: k,
	}, true
}

// locate returns a shift with its most likely first night: the split of the last recent nights with the smallest
// p-value of the same test (Pettitt 1979), for any number of nights and without corrections.
func (r Rule) locate(t *Trend, s Shift) Shift {
	first := Shift{P: math.Inf(1)}
	for k := confirm; k <= recent; k++ {
		if at, ok := r.compare(t, k); ok && at.P < first.P && at.Slower() == s.Slower() {
			first = at
		}
	}
	first.P = s.P
	return first
}

// discoveries returns the shifts of one night that count, if that many metrics were tested (Benjamini and Hochberg
// 1995): the i candidates with the smallest p-values, for the largest i with p(i) ≤ level·i/tested.
func discoveries(found []candidate, tested int, level float64) []candidate {
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.P, b.P) })
	for n := len(found); n > 0; n-- {
		if found[n-1].P <= level*float64(n)/float64(tested) {
			return found[:n]
		}
	}
	return nil
}

// rankP returns the probability that the nights before and after a split differ as much as they do, or more, by chance.
// It is the exact two-sided p-value of the Mann-Whitney U test (Mann and Whitney 1947), which assumes nothing about the
// distribution of speeds.
//
// The test has no exact probabilities with ties, so rankP breaks ties first. Of equal values on both sides, the later
// one is ranked as if it had moved against the shift, which can only make the probability larger. The order of equal
// values on one side makes no difference.
func rankP(before, after []float64) float64 {
	up := stats.Median(after).Value > stats.Median(before).Value
	b, a := untied(before, after, up)
	thresholds := benchmath.DefaultThresholds
	return benchmath.AssumeNothing.Compare(benchmath.NewSample(b, &thresholds), benchmath.NewSample(a, &thresholds)).P
}

// untied returns the ranks of the values before and after the split; up says that the values went up. Of equal values,
// the one after the split gets the rank that is farther from the shift: the lower rank if the values went up.
func untied(before, after []float64, up bool) (b, a []float64) {
	type value struct {
		x     float64
		after bool
	}
	var all []value
	for i, x := range slices.Concat(before, after) {
		all = append(all, value{x, i >= len(before)})
	}
	// The sort is stable, so equal values of one side keep their order, which the test ignores.
	slices.SortStableFunc(all, func(v, w value) int {
		if c := cmp.Compare(v.x, w.x); c != 0 || v.after == w.after {
			return c
		}
		if v.after == up {
			return -1
		}
		return 1
	})
	for i, v := range all {
		if v.after {
			a = append(a, float64(i))
		} else {
			b = append(b, float64(i))
		}
	}
	return b, a
}

// leastP returns the smallest probability that [rankP] can return for n and k values: 2 / (n+k choose k).
func leastP(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + k + 1))
	b, _ := math.Lgamma(float64(n + 1))
	c, _ := math.Lgamma(float64(k + 1))
	return min(1, 2*math.Exp(b+c-a))
}
