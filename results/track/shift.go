package track

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"rollcall/results/stats"
)

// Rule says what a shift is: nights that differ from those before them by more than chance and by more than a little.
type Rule struct {
	// largest share of false discoveries of one night, over all its metrics (Benjamini and Hochberg); in (0, 1)
	Level     float64
	MinEffect float64 // least change of the median that counts, as a fraction
}

// DefaultRule is the one whose rates docs/tracking.md has.
func DefaultRule() Rule { return Rule{Level: 0.01, MinEffect: 0.02} }

// What else the rates depend on. The Mann-Whitney test has exact probabilities for up to 50 nights on each side.
const (
	LeastSamples = 10 // a night with fewer of a metric does not count for it
	baseline     = 10 // nights there must be before a shift
	window       = 50 // nights before a shift that it is compared with, at most
	confirm      = 3  // nights a shift must have lasted
	recent       = 20 // nights it is looked for in
)

// Shift is a lasting change of one metric.
type Shift struct {
	First         int     // night that shows it first, in [History.Nights]
	Confirmed     int     // night after which it could be told from chance
	Before, After float64 // medians of the nights before it, and of those from First to Confirmed
	Change        float64 // After / Before − 1
	P             float64 // of the rank test, corrected for the number of splits, not for that of metrics
	N, K          int     // nights before and after that were compared
}

// Slower reports whether the shift is a regression.
func (s Shift) Slower() bool { return s.Change > 0 }

// Trend is the history of one metric.
type Trend struct {
	Metric, Unit string
	Nights       []int       // those with samples enough, in [History.Nights]
	Samples      [][]float64 // of these nights
	Values       []float64   // likewise
	Shifts       []Shift

	begin int // of Values, the first since the last shift
}

// Trends goes through a history night by night, as it was when that night was the last one, and finds the shifts of
// every metric: what a night is told does not depend on later ones. Metrics are in the order of their names.
//
// After each night a metric's last k nights are compared with up to window nights before them by the Mann-Whitney U
// test, for k = confirm and then half as many again up to recent. Medians that differ by less than MinEffect count as
// probability 1. The probabilities are corrected for the several k (Bonferroni, half of the level for the first one);
// the smallest is the metric's. Over the metrics of the night the procedure of Benjamini and Hochberg (1995) at Level
// says which are shifts. So on a machine whose nights are alike but for chance, of whatever distribution, a night has a
// false alarm with probability Level at most, be the metrics independent or go together. A shift begins at the split
// that is least probable (Pettitt 1979); the metric's nights before it are forgotten from then on.
func (r Rule) Trends(h *History) []Trend {
	trends := map[string]*Trend{}
	for night := range h.Nights {
		var found []candidate
		tested := 0
		for _, v := range h.Nights[night].Values {
			name := v.Metric + " " + v.Unit // in another unit it is another metric
			t := trends[name]
			if t == nil {
				t = &Trend{Metric: v.Metric, Unit: v.Unit}
				trends[name] = t
			}
			if len(v.Samples) < LeastSamples {
				continue
			}
			t.Nights, t.Samples = append(t.Nights, night), append(t.Samples, v.Samples)
			t.Values = append(t.Values, v.Value())
			if !t.comparable() {
				continue
			}
			tested++
			if s, ok := r.split(t); ok {
				found = append(found, candidate{t, s})
			}
		}
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

// comparable reports whether there are nights enough since the last shift to find another.
func (t *Trend) comparable() bool { return len(t.Values)-t.begin >= baseline+confirm }

// candidate is a shift that the last night shows, unless it is one of the false alarms among many metrics.
type candidate struct {
	trend *Trend
	Shift
}

// split looks for the last nights that are least like those before them.
func (r Rule) split(t *Trend) (best Shift, ok bool) {
	best.P = 1
	lengths := ends()
	for i, k := range lengths {
		// Half of the level is for the shortest end, which tells a shift early; the others share the rest.
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

// ends are the numbers of last nights that are tested, each half as much again as the one before it.
func ends() (k []int) {
	for n := confirm; n <= recent; n += max(1, n/2) {
		k = append(k, n)
	}
	return k
}

// compare tests the last k nights against those before them.
func (r Rule) compare(t *Trend, k int) (s Shift, ok bool) {
	end := len(t.Values)
	if end-k-t.begin < baseline {
		return s, false
	}
	before, after := t.Values[max(t.begin, end-k-window):end-k], t.Values[end-k:]
	if leastP(len(before), k) > r.Level { // cannot become a discovery
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

// locate finds the first night of a shift that is there: the split of the last recent nights with the smallest
// probability of the same test (Pettitt 1979), whatever its number of nights.
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

// discoveries returns which shifts of one night count, out of so many metrics tested: those with the i smallest
// probabilities, i the largest with p(i) ≤ level·i/tested.
func discoveries(found []candidate, tested int, level float64) []candidate {
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.P, b.P) })
	for n := len(found); n > 0; n-- {
		if found[n-1].P <= level*float64(n)/float64(tested) {
			return found[:n]
		}
	}
	return nil
}
