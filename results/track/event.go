package track

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"

	"rollcall/results/stats"
)

// Event is one cause of shifts: all metrics that shifted on the same night.
type Event struct {
	ID     string   // of six hexadecimal digits; it stays when later nights move First
	First  int      // the first night of the new speeds, in [History.Nights]
	Found  int      // the night after which the rule found the first of the shifts
	Shifts []*Shift // slower ones first, larger ones first
	Fixed  int      // the first night on which all slower metrics were back, if Closed

	Closed  bool // it is fixed
	settled bool // First no longer moves
}

// settled is how many nights an event has when its first night is taken as known. Until then it moves with the data.
const settled = 6

// Slower reports whether the event has a slower metric. Events without one are improvements, which are never open.
func (e *Event) Slower() bool { return len(e.slower()) > 0 }

func (e *Event) slower() (all []*Shift) {
	for _, s := range e.Shifts {
		if s.up {
			all = append(all, s)
		}
	}
	return all
}

// Examine goes through a history night by night, finds the shifts of all metrics, and the events that they are of. For
// a night it uses only that night and earlier ones. Trends are in the order of the names of their metrics, events in
// the order of their first nights.
//
// After each night, the Mann-Whitney U test compares the last k nights of a metric with up to window nights before
// them, for k = confirm and then half as many again up to recent. Medians that differ by less than MinEffect are no
// shift. The p-values are corrected for the several k (Bonferroni, with half of the level for the first k), and the
// smallest one is the p-value of the metric. The procedure of Benjamini and Hochberg (1995) at Level then decides which
// metrics of the night have shifted: once for the times, and once for everything that is counted.
//
// If only chance changes the speeds of a machine, a night has a false alarm with probability Level at most in its
// times, whatever the distribution, and whether the metrics are independent or vary together.
//
// The shifts then vote for a first night, see [examination.place]. An event ends as [examination.fix] says.
func (r Rule) Examine(h *History) ([]*Event, []*Trend) {
	x := examination{rule: r, history: h, trends: map[string]*Trend{}}
	for night := range h.Nights {
		x.add(night)
	}
	var trends []*Trend
	for _, name := range slices.Sorted(maps.Keys(x.trends)) {
		trends = append(trends, x.trends[name])
	}
	for _, e := range x.events {
		slices.SortStableFunc(e.Shifts, func(a, b *Shift) int { return cmp.Compare(b.Change(), a.Change()) })
	}
	slices.SortStableFunc(x.events, func(a, b *Event) int { return cmp.Compare(a.First, b.First) })
	return x.events, trends
}

type examination struct {
	rule    Rule
	history *History
	trends  map[string]*Trend
	events  []*Event // in the order in which they were found
}

// add examines the next night.
func (x *examination) add(night int) {
	found, tested := map[bool][]candidate{}, map[bool]int{} // times, and what is counted
	for _, v := range x.history.Nights[night].judged() {
		name := v.metric + " " + v.unit // the same metric in another unit is another metric
		t := x.trends[name]
		if t == nil {
			t = &Trend{Metric: v.metric, Unit: v.unit}
			x.trends[name] = t
		}
		if len(v.samples) < LeastSamples {
			continue
		}
		t.add(night, v.samples)
		if !t.comparable() {
			continue
		}
		tested[counted(v.unit)]++
		if c, ok := x.rule.split(t); ok {
			found[counted(v.unit)] = append(found[counted(v.unit)], c)
		}
	}
	// The tests of a night come first, because the correction needs the number of metrics.
	var shifts []*Shift
	for _, kind := range []bool{false, true} {
		for _, c := range discoveries(found[kind], tested[kind], x.rule.Level) {
			at := len(c.trend.Values) - confirm
			s := &Shift{First: c.trend.Nights[at], Found: night, P: c.p, trend: c.trend, at: at, up: c.up}
			c.trend.Shifts = append(c.trend.Shifts, s)
			shifts = append(shifts, s)
		}
	}
	x.place(night, shifts)
	x.fix(night)
}

// counted reports whether a unit is of something that is counted. Everything else is a time.
func counted(unit string) bool {
	return slices.Contains([]string{"count", "registers", "instructions"}, unit)
}

// vote is how well a shift agrees with each night being its first one: the logarithm of the likelihood of its metric's
// nights, normal around one level before it and another from it on, each with the mean that fits best (least squares).
type vote struct {
	lo int       // the first night that may be the first one, in [History.Nights]
	ll []float64 // of nights from lo on
}

// at returns the vote for a night.
func (v vote) at(night int) float64 {
	if i := night - v.lo; i >= 0 && i < len(v.ll) {
		return v.ll[i]
	}
	return math.Inf(-1)
}

// best returns the night with the most votes; of equal ones the last, since a metric that was not measured on some
// nights agrees with all of them.
func (v vote) best() (night int, ll float64) {
	ll = math.Inf(-1)
	for i, x := range v.ll {
		if x >= ll {
			night, ll = v.lo+i, x
		}
	}
	return night, ll
}

// plus returns the votes of both for the nights that either allows.
func (v vote) plus(w vote) vote {
	lo, hi := max(v.lo, w.lo), min(v.lo+len(v.ll), w.lo+len(w.ll))
	sum := vote{lo: lo}
	for n := lo; n < hi; n++ {
		sum.ll = append(sum.ll, v.at(n)+w.at(n))
	}
	return sum
}

// leastDeviation is the smallest deviation of nights that a vote assumes. Counts may not vary at all.
const leastDeviation = 1e-4

// votes returns a metric's votes for a cut of its values from..to into two levels, of which the first has least nights
// and the second one at least. The nights are those from lo to hi.
func (t *Trend) votes(from, to, least, lo, hi int) vote {
	x := t.logs[from:to]
	n := len(x)
	sums, squares := make([]float64, n+1), make([]float64, n+1)
	for i, v := range x {
		v -= x[0] // smaller numbers lose fewer digits
		sums[i+1], squares[i+1] = sums[i]+v, squares[i]+v*v
	}
	around := func(a, b int) float64 { // Σ (x − mean)² of a..b
		s := sums[b] - sums[a]
		return squares[b] - squares[a] - s*s/float64(b-a)
	}
	out := vote{lo: lo}
	for night := lo; night <= hi; night++ {
		cut, _ := slices.BinarySearch(t.Nights[from:to], night)
		if cut < least || cut >= n {
			out.ll = append(out.ll, math.Inf(-1))
			continue
		}
		variance := max((around(0, cut)+around(cut, n))/float64(n), leastDeviation*leastDeviation)
		out.ll = append(out.ll, -float64(n)/2*math.Log(variance))
	}
	return out
}

// votes returns the votes of a shift's metric, for nights up to the one that found it.
func (s *Shift) votes() vote {
	from, _ := s.trend.before(s)
	_, to := s.trend.after(s)
	found, _ := slices.BinarySearch(s.trend.Nights, s.Found)
	lo := s.trend.Nights[max(from+1, found-recent)]
	return s.trend.votes(from, to, 1, lo, s.Found)
}

// apart is how much less likely two shifts must be with one first night than each with its own, as a logarithm, to be
// of two events.
const apart = 4

// group is shifts with one first night.
type group struct {
	shifts []*Shift
	votes  vote
	event  *Event // whose first night is known; nil: none
}

// loss returns how much less likely a shift and the group are with one first night than each with its own. Two shifts
// of one metric never have one.
func (g *group) loss(s *Shift, own vote) float64 {
	if slices.ContainsFunc(g.shifts, func(o *Shift) bool { return o.trend == s.trend }) ||
		g.event != nil && slices.ContainsFunc(g.event.Shifts, func(o *Shift) bool { return o.trend == s.trend }) {
		return math.Inf(1)
	}
	_, most := own.best()
	if g.event != nil {
		return most - own.at(g.event.First)
	}
	_, before := g.votes.best()
	_, both := g.votes.plus(own).best()
	return before + most - both
}

// place gives the shifts that a night has found, and young ones, their events and first nights. Shifts agree if one
// first night is nearly as likely for all as each has its own. Shifts that agree are one event, and its first night is
// the one with the most votes. The shift that was found first, and with the smallest p-value, begins.
func (x *examination) place(night int, found []*Shift) {
	live := append(x.young(night), found...)
	if len(live) == 0 {
		return
	}
	slices.SortFunc(live, func(a, b *Shift) int {
		return cmp.Or(cmp.Compare(a.Found, b.Found), cmp.Compare(a.P, b.P), strings.Compare(a.name(), b.name()))
	})
	var groups []*group
	for _, e := range x.events { // young has left those that are settled
		groups = append(groups, &group{event: e})
	}
	for _, s := range live {
		own := s.votes()
		var to *group
		least := float64(apart)
		for _, g := range groups {
			if loss := g.loss(s, own); loss < least {
				to, least = g, loss
			}
		}
		switch {
		case to == nil:
			to = &group{votes: own}
			groups = append(groups, to)
		case to.event == nil:
			to.votes = to.votes.plus(own)
		}
		to.shifts = append(to.shifts, s)
	}
	for _, g := range groups {
		x.settle(night, g)
	}
	slices.SortStableFunc(x.events, func(a, b *Event) int { return cmp.Compare(a.Found, b.Found) })
}

// young takes the shifts that may still change their events out of these, and removes events that are not settled.
func (x *examination) young(night int) (live []*Shift) {
	var kept []*Event
	for _, e := range x.events {
		if !e.settled {
			live = append(live, e.Shifts...)
			continue
		}
		kept = append(kept, e)
		var old []*Shift
		for i, s := range e.Shifts {
			if i == 0 || e.Closed || night-s.Found >= settled { // the first one gave the event its name
				old = append(old, s)
			} else {
				live = append(live, s)
			}
		}
		e.Shifts = old
	}
	x.events = kept
	for _, t := range x.trends { // those that end an event are of none
		for _, s := range t.Shifts {
			if s.ends != nil && !s.ends.Closed && night-s.First < settled {
				live = append(live, s)
			}
		}
	}
	return live
}

// settle puts the shifts of a group on its first night, and makes an event of those that end none.
func (x *examination) settle(night int, g *group) {
	first, _ := g.votes.best()
	if g.event != nil {
		first = g.event.First
	}
	var of []*Shift
	for _, s := range g.shifts {
		s.move(first)
		if s.ends = x.ended(s); s.ends == nil {
			of = append(of, s)
		}
	}
	switch {
	case g.event != nil:
		g.event.Shifts = append(g.event.Shifts, of...)
	case len(of) > 0:
		sum := sha256.Sum256([]byte(strings.Join(
			[]string{x.history.Machine.Fingerprint(), x.history.Nights[of[0].Found].Run, of[0].name()}, "\x00")))
		x.events = append(x.events, &Event{
			ID: hex.EncodeToString(sum[:3]), First: first, Found: of[0].Found, Shifts: of,
			settled: night-first+1 >= settled,
		})
	}
}

// move sets the first night of a shift, unless another shift of its metric, which was moved meanwhile, is not on its
// side of that night.
func (s *Shift) move(first int) {
	at, _ := slices.BinarySearch(s.trend.Nights, first)
	i := slices.Index(s.trend.Shifts, s)
	if i > 0 && s.trend.Shifts[i-1].at >= at || i+1 < len(s.trend.Shifts) && s.trend.Shifts[i+1].at <= at {
		return
	}
	s.First, s.at = first, at
}

func (s *Shift) name() string { return s.trend.Metric + " " + s.trend.Unit }

// ended returns the open event of a shift's metric whose change the shift takes back; nil if there is none.
func (x *examination) ended(s *Shift) *Event {
	a, b := s.trend.after(s)
	for _, e := range x.events {
		for _, o := range e.slower() {
			if !s.up && !e.Closed && o.trend == s.trend && o.at < s.at && o.back(a, b, x.rule.MinEffect) {
				return e
			}
		}
	}
	return nil
}

// back reports whether the mean of the nights a..b is within the least effect of the level before a shift, or below.
func (s *Shift) back(a, b int, least float64) bool {
	return stats.Mean(s.trend.logs[a:b]).Value <= s.level()+math.Log1p(least)
}

// level returns the mean of the logarithms before a shift.
func (s *Shift) level() float64 {
	from, to := s.trend.before(s)
	return stats.Mean(s.trend.logs[from:to]).Value
}

// fix closes the open events whose slower metrics are all [examination.returned]. The first night after the event has
// the most votes of the metrics that have no shift at their return yet.
func (x *examination) fix(night int) {
	for _, e := range x.events {
		if !e.Closed && e.Slower() {
			x.fixEvent(night, e)
		}
	}
}

func (x *examination) fixEvent(night int, e *Event) {
	since := e.First
	var joint vote
	pending := map[*Trend]ret{}
	for _, s := range e.slower() {
		// Wall times of rounds, which quiet nights alone have, are not waited for where there are processor times.
		if slices.ContainsFunc(e.Shifts, func(o *Shift) bool {
			return o.up && o.trend.Metric == s.trend.Metric && o.trend.Unit == Loops && s.trend.Unit != Loops
		}) {
			continue
		}
		r, back := x.returned(s)
		if !back {
			return
		}
		since = max(since, r.night)
		if r.votes.ll == nil {
			continue
		}
		if pending[s.trend] = r; joint.ll == nil {
			joint = r.votes
		} else {
			joint = joint.plus(r.votes)
		}
	}
	first, ll := joint.best()
	if !math.IsInf(ll, -1) && len(pending) == len(e.slower()) {
		since = first
	}
	for t, r := range pending {
		if math.IsInf(ll, -1) { // they came back on nights that are far apart
			first = r.night
		}
		at, _ := slices.BinarySearch(t.Nights, first)
		t.Shifts = append(t.Shifts, &Shift{First: first, Found: night, trend: t, at: at, ends: e})
	}
	e.Fixed, e.Closed, e.settled = since, true, true
}

// ret is how a metric came back to the level before an event.
type ret struct {
	night int  // the first night back
	votes vote // for the first night back; nil where it is that of a shift
}

// returned reports whether a metric is back at the level before a shift, or below:
//   - it has shifted since, and its level since then is within the least effect, or
//   - its level since some night is, of three nights or more, and is nearer to the level before than to the level since
//     the shift; and these nights are below those since the shift, by the rank test at a hundredth of the level, or
//   - its level of more than 20 nights is, from the shift to now: there was less of it than it seemed.
func (x *examination) returned(s *Shift) (r ret, ok bool) {
	t := s.trend
	n, from := len(t.Values), t.begin()
	if last := t.Shifts[len(t.Shifts)-1]; last != s && s.back(last.at, n, x.rule.MinEffect) {
		return ret{night: last.First}, true
	}
	if n-from > recent && s.back(from, n, x.rule.MinEffect) {
		return ret{night: t.Nights[n-recent]}, true
	}
	if n-from <= confirm {
		return r, false
	}
	v := t.votes(from, n, 1, t.Nights[from], t.Nights[n-confirm])
	r.night, _ = v.best()
	cut, _ := slices.BinarySearch(t.Nights, r.night)
	half := math.Expm1((stats.Mean(t.logs[from:cut]).Value - s.level()) / 2)
	if !s.back(cut, n, min(x.rule.MinEffect, half)) {
		return r, false
	}
	before, after := t.reference(cut, -doubt), t.logs[cut:]
	r.votes = v
	return r, stats.Median(after).Value < stats.Median(before).Value && rankP(before, after) <= x.rule.Level/100
}
