package track

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"rollcall/results/stats"
)

// Shift is a lasting change of one metric.
type Shift struct {
	Metric, Unit  string
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
	Nights       []int     // those that count, in [History.Nights]
	Values       []float64 // of these nights
	Few          int       // nights left out because they have too few samples
	Shifts       []Shift
	Level        float64 // median of the nights since the last shift, 50 of them at most
	Since        int     // how many nights there are since the last shift
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
func (r Rule) Trends(h *History) ([]Trend, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	trends := collect(h)
	// of Values: first one of this level, and how many there were
	begin, seen := make([]int, len(trends)), make([]int, len(trends))
	for night := range h.Nights {
		var found []Shift
		var of []int
		tested := 0
		for i := range trends {
			t := &trends[i]
			if seen[i] == len(t.Nights) || t.Nights[seen[i]] != night {
				continue
			}
			seen[i]++
			if seen[i]-begin[i] < baseline+confirm {
				continue
			}
			tested++
			if s, ok := r.split(t, begin[i], seen[i]); ok {
				found, of = append(found, s), append(of, i)
			}
		}
		for _, j := range discoveries(found, tested, r.Level) {
			i := of[j]
			s := r.locate(&trends[i], begin[i], seen[i], found[j])
			trends[i].Shifts = append(trends[i].Shifts, s)
			begin[i] = seen[i] - s.K
		}
	}
	for i := range trends {
		t := &trends[i]
		last := t.Values[begin[i]:]
		t.Since = len(last)
		if len(last) > 0 {
			t.Level = stats.Median(last[max(0, len(last)-window):]).Value
		}
	}
	return trends, nil
}

// collect takes the histories of the metrics apart.
func collect(h *History) []Trend {
	at := map[string]int{}
	var trends []Trend
	for night := range h.Nights {
		for _, v := range h.Nights[night].Values {
			name := v.Metric + " " + v.Unit // in another unit it is another metric
			i, known := at[name]
			if !known {
				i = len(trends)
				at[name] = i
				trends = append(trends, Trend{Metric: v.Metric, Unit: v.Unit})
			}
			t := &trends[i]
			if len(v.Samples) < LeastSamples {
				t.Few++
				continue
			}
			t.Nights, t.Values = append(t.Nights, night), append(t.Values, v.Value())
		}
	}
	slices.SortFunc(trends, func(a, b Trend) int { return strings.Compare(a.Metric+" "+a.Unit, b.Metric+" "+b.Unit) })
	return trends
}

// split looks for the end of Values[begin:end] that is least like what is before it.
func (r Rule) split(t *Trend, begin, end int) (best Shift, ok bool) {
	best.P = 1
	lengths := ends()
	for i, k := range lengths {
		// Half of the level is for the shortest end, which tells a shift early; the others share the rest.
		share := 0.5
		if i > 0 {
			share /= float64(len(lengths) - 1)
		}
		if s, found := r.compare(t, begin, end, k); found {
			if s.P = min(1, s.P/share); s.P < best.P {
				best, ok = s, true
			}
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

// compare tests the last k of Values[begin:end] against those before them.
func (r Rule) compare(t *Trend, begin, end, k int) (s Shift, ok bool) {
	if end-k-begin < baseline {
		return s, false
	}
	before, after := t.Values[max(begin, end-k-window):end-k], t.Values[end-k:end]
	if leastP(len(before), k) > r.Level { // cannot become a discovery
		return s, false
	}
	b, a := stats.Median(before).Value, stats.Median(after).Value
	change := a/b - 1
	if math.Abs(change) < r.MinEffect {
		return s, false
	}
	return Shift{
		Metric: t.Metric, Unit: t.Unit, First: t.Nights[end-k], Confirmed: t.Nights[end-1],
		Before: b, After: a, Change: change, P: rankP(before, after), N: len(before), K: k,
	}, true
}

// locate finds the first night of a shift that is there: the split of the last recent nights with the smallest
// probability of the same test (Pettitt 1979), whatever its number of nights.
func (r Rule) locate(t *Trend, begin, end int, s Shift) Shift {
	least := math.Inf(1)
	out := s
	for k := confirm; k <= recent; k++ {
		if at, ok := r.compare(t, begin, end, k); ok && at.P < least && (at.Change > 0) == (s.Change > 0) {
			least = at.P
			out = at
		}
	}
	out.P = s.P
	return out
}

// discoveries returns which shifts of one night count, out of so many metrics tested: those with the i smallest
// probabilities, i the largest with p(i) ≤ level·i/tested.
func discoveries(found []Shift, tested int, level float64) []int {
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(found[a].P, found[b].P) })
	for n := len(order); n > 0; n-- {
		if found[order[n-1]].P <= level*float64(n)/float64(tested) {
			return order[:n]
		}
	}
	return nil
}
