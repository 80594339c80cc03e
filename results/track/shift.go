package track

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"rollcall/results/stats"
)

// Rule defines a shift: a change that is too large to be chance, and too large to be ignored.
type Rule struct {
	// expected share of false alarms among those of one night, over all metrics (Benjamini and Hochberg); in (0, 1)
	Level     float64
	MinEffect float64 // smallest change of the median that counts, as a fraction
}

// DefaultRule returns the rule whose error rates docs/alarms.md gives.
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

// LeastNights is the number of nights after which a metric is compared for the first time.
const LeastNights = baseline + confirm

// Shift is a lasting change of one metric.
type Shift struct {
	First int     // the first night of the new speed, in [History.Nights]
	Found int     // the night after which the rule found the shift
	P     float64 // p-value of the rank test on that night, corrected for the number of splits but not of metrics

	trend *Trend
	at    int    // First in trend.Values
	up    bool   // slower
	ends  *Event // the event whose change this shift takes back; nil: none
}

// Trend is the history of one metric.
type Trend struct {
	Metric, Unit string
	Nights       []int       // the nights with enough samples, in [History.Nights]
	Samples      [][]float64 // of these nights
	Values       []float64   // likewise
	Shifts       []*Shift    // in the order of their first nights

	logs []float64 // of Values
}

// add adds the next night.
func (t *Trend) add(night int, samples []float64) {
	v := nightValue(samples)
	t.Nights, t.Samples = append(t.Nights, night), append(t.Samples, samples)
	t.Values, t.logs = append(t.Values, v), append(t.logs, math.Log(v))
}

// begin returns the index of the first night since the last shift.
func (t *Trend) begin() int {
	if n := len(t.Shifts); n > 0 {
		return t.Shifts[n-1].at
	}
	return 0
}

// before returns the index of the first night of the level before a shift, and the index after its last night.
func (t *Trend) before(s *Shift) (from, to int) {
	if i := slices.Index(t.Shifts, s); i > 0 {
		from = t.Shifts[i-1].at
	}
	return max(from, s.at-window), s.at
}

// after returns the same for the level after a shift.
func (t *Trend) after(s *Shift) (from, to int) {
	to = len(t.Values)
	if i := slices.Index(t.Shifts, s) + 1; i < len(t.Shifts) {
		to = t.Shifts[i].at
	}
	return s.at, to
}

// Levels returns the medians before and after a shift.
func (s *Shift) Levels() (before, after float64) {
	a, b := s.trend.before(s)
	c, d := s.trend.after(s)
	return stats.Median(s.trend.Values[a:b]).Value, stats.Median(s.trend.Values[c:d]).Value
}

// Change returns the change of the median as a fraction; above 0 is slower.
func (s *Shift) Change() float64 {
	before, after := s.Levels()
	return after/before - 1
}

// comparable reports whether there are enough nights to find a shift: at least confirm since the last shift, before and
// after a new one, and so many in all as the first comparison needs.
func (t *Trend) comparable() bool {
	n := len(t.Values)
	return n >= LeastNights && n-t.begin() >= min(n, 2*confirm)
}

// candidate is a possible shift of one metric, before the correction for the number of metrics.
type candidate struct {
	trend *Trend
	up    bool
	p     float64 // corrected for the number of splits
}

// split returns the candidate of the last nights with the smallest corrected p-value; ok is false if there is none.
func (r Rule) split(t *Trend) (best candidate, ok bool) {
	best.p = 1
	lengths := ends()
	for i, k := range lengths {
		// The shortest length gets half of the level, as it finds a shift early; the other lengths share the rest.
		share := 0.5
		if i > 0 {
			share /= float64(len(lengths) - 1)
		}
		up, p, found := r.compare(t, k)
		if p /= share; found && p < best.p {
			best, ok = candidate{t, up, p}, true
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
func (r Rule) compare(t *Trend, k int) (up bool, p float64, ok bool) {
	split := len(t.Values) - k
	if split-t.begin() < min(confirm, split) || split < baseline {
		return false, 1, false
	}
	before, after := t.reference(split, 0), t.logs[split:]
	if leastP(len(before), k) > r.Level { // so few nights cannot show a shift
		return false, 1, false
	}
	change := stats.Median(after).Value - stats.Median(before).Value
	if math.Abs(math.Expm1(change)) < r.MinEffect {
		return false, 1, false
	}
	up = change > 0
	if t.begin() > 0 {
		errors := float64(doubt)
		if !up {
			errors = -doubt
		}
		before = t.reference(split, errors)
		if stats.Median(after).Value > stats.Median(before).Value != up {
			return false, 1, false
		}
	}
	return up, rankP(before, after), true
}

// doubt is by how many standard errors of its level an earlier night is moved against a shift.
const doubt = 4

// reference returns the logarithms of the nights before a split, at most window, as if all had the level since the last
// shift: earlier nights are moved by the difference of the levels. That difference is known from a few nights only;
// errors says by how many of its standard errors the earlier nights are moved up in addition.
func (t *Trend) reference(split int, errors float64) []float64 {
	from := max(0, split-window)
	all := slices.Clone(t.logs[from:split])
	cuts := []int{from}
	for _, s := range t.Shifts {
		if s.at > from && s.at < split {
			cuts = append(cuts, s.at)
		}
	}
	if len(cuts) == 1 {
		return all
	}
	cuts = append(cuts, split)
	// The deviation of nights from their level, over all levels.
	var squares float64
	levels := make([]float64, len(cuts)-1)
	for i := range levels {
		part := t.logs[cuts[i]:cuts[i+1]]
		levels[i] = stats.Mean(part).Value
		squares += squaresAround(part, levels[i])
	}
	deviation := math.Sqrt(squares / float64(max(1, len(all)-len(levels))))
	last := len(levels) - 1
	n := float64(split - cuts[last])
	for i := range last {
		err := deviation * math.Sqrt(1/n+1/float64(cuts[i+1]-cuts[i]))
		for j := cuts[i]; j < cuts[i+1]; j++ {
			all[j-from] += levels[last] - levels[i] + errors*err
		}
	}
	return all
}

func squaresAround(x []float64, level float64) (sum float64) {
	for _, v := range x {
		sum += (v - level) * (v - level)
	}
	return sum
}

// discoveries returns the shifts of one night that count, if that many metrics were tested (Benjamini and Hochberg
// 1995): the i candidates with the smallest p-values, for the largest i with p(i) ≤ level·i/tested.
func discoveries(found []candidate, tested int, level float64) []candidate {
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.p, b.p) })
	for n := len(found); n > 0; n-- {
		if found[n-1].p <= level*float64(n)/float64(tested) {
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
