package track

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// cause is a planted change: some metrics are slower from one night on.
type cause struct {
	first   int
	fixed   int             // the first night on which they are as before; beyond the last: never
	slower  map[int]float64 // by metric, as a fraction
	version string          // of the first night
}

// kinds are the histories of docs/alarms.md.
var kinds = []string{"quiet", "loud", "bimodal passes", "drifting", "two causes", "a fix", "metrics vanish"}

// drawHistory draws a history of 45 to 94 nights of 4 to 20 metrics, and the causes in it. One cause makes one metric
// alone slower, or half of them by different amounts, by 3.5 to 26 %; it is there for nine nights at least.
func drawHistory(seed uint64, kind string) (*History, []cause) {
	r := rand.New(rand.NewPCG(seed, 54))
	metrics, nights := 4+r.IntN(17), 45+r.IntN(50)
	n := noise{sample: 0.005, metric: 0.002, night: 0.002, samples: 20, passes: 1}
	if kind == "loud" || kind != "quiet" && r.IntN(2) == 0 {
		n.sample, n.metric, n.night = 0.02, 0.005, 0.005
	}
	if kind == "bimodal passes" {
		n.slow, n.share, n.passes = 0.08, 0.3, 10
	}
	between := func(least, most int) int { return least + r.IntN(most-least) }
	plant := func(first, fixed int, free func(metric int) bool) cause {
		c := cause{first: first, fixed: fixed, slower: map[int]float64{}}
		size := []float64{0.05, 0.08, 0.12, 0.2}[r.IntN(4)]
		for _, m := range r.Perm(metrics) {
			if !free(m) {
				continue
			}
			if len(c.slower) == 0 {
				c.slower[m] = size
			} else if r.IntN(2) == 0 {
				c.slower[m] = size * (0.7 + 0.6*r.Float64())
			}
		}
		if r.IntN(2) == 0 { // one alone
			for m := range c.slower {
				if c.slower[m] != size {
					delete(c.slower, m)
				}
			}
		}
		return c
	}
	gone := -1
	if kind == "metrics vanish" {
		gone = r.IntN(metrics)
	}
	any := func(m int) bool { return m != gone }
	const before, after = 14, 9 // fewest nights before the first cause, and with every cause
	causes := []cause{plant(between(before, nights-after), nights, any)}
	switch kind {
	case "a fix": // after four nights or more, and nine nights before the end
		first := between(before, nights-after-6)
		causes = []cause{plant(first, between(first+4, nights-after), any)}
	case "two causes": // six nights apart or more, of the same metrics or of others
		first := between(before, nights-after-8)
		one := plant(first, nights, any)
		apart := r.IntN(2) == 0 && len(one.slower) < metrics
		causes = []cause{one, plant(between(first+6, nights-after), nights, func(m int) bool {
			return !apart || one.slower[m] == 0
		})}
	}
	slope := make([]float64, metrics)
	if kind == "drifting" { // each metric by up to 3 % in 75 nights, up or down
		for m := range slope {
			slope[m] = 0.0004 * (2*r.Float64() - 1)
		}
	}
	h := synthetic(seed, n, nights, metrics, func(night, metric int) float64 {
		f := math.Exp(slope[metric] * float64(night))
		for _, c := range causes {
			if night >= c.first && night < c.fixed {
				f *= 1 + c.slower[metric]
			}
		}
		return f
	})
	every := between(1, 7) // nights with one version; every cause and every fix comes with another
	for i := range h.Nights {
		h.Nights[i].Version = fmt.Sprintf("v%d", i/every)
		for j, c := range causes {
			if i >= c.first {
				h.Nights[i].Version += fmt.Sprintf("-c%d", j)
			}
			if i >= c.fixed {
				h.Nights[i].Version += "-fixed"
			}
		}
		if gone < 0 {
			continue
		}
		// A metric ends in the middle, and of the others one in twenty is missing each night.
		h.Nights[i].Values = slices.DeleteFunc(h.Nights[i].Values, func(v Measurement) bool {
			return v.Metric == fmt.Sprintf("metric/%02d", gone) && i > nights/2 || r.IntN(20) == 0
		})
	}
	for j := range causes {
		causes[j].version = h.Nights[causes[j].first].Version
	}
	return h, causes
}

// own returns how many of a cause's metrics an event has, and whether it has others.
func (c cause) own(e *Event) (own int, others bool) {
	for _, s := range e.slower() {
		var m int
		if _, err := fmt.Sscanf(s.trend.Metric, "metric/%d", &m); err == nil && c.slower[m] > 0 {
			own++
		} else {
			others = true
		}
	}
	return own, others
}

// tally counts what [Rule.Examine] makes of histories.
type tally struct {
	nights, causes, found   int
	first, soon, version    int // first night right at the end, on the night that found it; versions right
	one                     int // one event, with no other metric
	closed, fixes, fixed    int // closed while the level is up; fixes; fixed on the right night
	falseNights, falseFixed int // nights that found an event without a cause; such events that are closed at the end
}

func (t *tally) add(o tally) {
	for _, p := range []struct{ to, from *int }{
		{&t.nights, &o.nights},
		{&t.causes, &o.causes},
		{&t.found, &o.found},
		{&t.first, &o.first},
		{&t.soon, &o.soon},
		{&t.version, &o.version},
		{&t.one, &o.one},
		{&t.closed, &o.closed},
		{&t.fixes, &o.fixes},
		{&t.fixed, &o.fixed},
		{&t.falseNights, &o.falseNights},
		{&t.falseFixed, &o.falseFixed},
	} {
		*p.to += *p.from
	}
}

// count examines one history.
func (t *tally) count(h *History, causes []cause) (wrong []string) {
	events, _ := DefaultRule().Examine(h)
	t.nights += len(h.Nights)
	taken := map[*Event]bool{}
	for i, c := range causes {
		t.causes++
		// Events of the metrics of a cause are of this cause if they begin nearer to it than to the other.
		of := func(e *Event) bool {
			own, _ := c.own(e)
			for j, o := range causes {
				if j != i && max(e.First-o.first, o.first-e.First) < max(e.First-c.first, c.first-e.First) {
					return false
				}
			}
			return own > 0 && e.Found >= c.first && e.Found < c.first+recent
		}
		var own []*Event
		for _, e := range events {
			if e.Slower() && !taken[e] && of(e) {
				own = append(own, e)
				taken[e] = true
			}
		}
		if len(own) == 0 {
			wrong = append(wrong, fmt.Sprintf("cause of night %d: no event", c.first))
			continue
		}
		t.found++
		e := own[0]
		if _, others := c.own(e); len(own) == 1 && !others {
			t.one++
		} else {
			wrong = append(wrong, fmt.Sprintf("cause of night %d: %d events, with other metrics: %v",
				c.first, len(own), others))
		}
		if e.First == c.first {
			t.first++
		} else {
			wrong = append(wrong, fmt.Sprintf("first night: got %d, want %d", e.First, c.first))
		}
		if h.Nights[e.First].Version == c.version && h.Nights[e.First-1].Version == h.Nights[c.first-1].Version {
			t.version++
		}
		then, _ := DefaultRule().Examine(&History{Machine: h.Machine, Nights: h.Nights[:e.Found+1]})
		if slices.ContainsFunc(then, func(o *Event) bool { return o.ID == e.ID && o.First == c.first }) {
			t.soon++
		}
		switch {
		case c.fixed < len(h.Nights):
			if t.fixes++; e.Closed && e.Fixed == c.fixed {
				t.fixed++
			}
			if e.Closed && e.Fixed < c.fixed-1 {
				t.closed++
			}
		case e.Closed:
			t.closed++
			wrong = append(wrong, fmt.Sprintf("cause of night %d: closed since night %d", c.first, e.Fixed))
		}
	}
	alarms := map[int]bool{}
	for _, e := range events {
		if e.Slower() && !taken[e] {
			alarms[e.Found] = true
			wrong = append(wrong, fmt.Sprintf("event without a cause, found on night %d", e.Found))
			if e.Closed {
				t.falseFixed++
			}
		}
	}
	t.falseNights += len(alarms)
	return wrong
}

// TestEvents draws 400 histories and guards the first table of docs/alarms.md, which it prints with -v: a cause is one
// event, of the right night and version, which stays open until it is fixed.
func TestEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds of arithmetic")
	}
	const histories = 400
	byKind := map[string]*tally{}
	for i := range histories {
		kind := kinds[i%len(kinds)]
		if byKind[kind] == nil {
			byKind[kind] = &tally{}
		}
		for _, wrong := range byKind[kind].count(drawHistory(uint64(1000+i), kind)) {
			t.Logf("%s, history %d: %s", kind, i, wrong)
		}
	}
	var all tally
	var table strings.Builder
	line := func(name string, s tally) {
		fmt.Fprintf(&table, "| %s | %d | %s | %s | %s | %s | %s | %d of %d | %d of %d |\n", name, s.causes,
			share(s.found, s.causes), share(s.one, s.found), share(s.first, s.found), share(s.soon, s.found),
			share(s.version, s.found), s.fixed, s.fixes, s.falseNights, s.nights)
	}
	for _, kind := range kinds {
		line(kind, *byKind[kind])
		all.add(*byKind[kind])
	}
	line("all", all)
	t.Logf("%d false events closed again\n| history | causes | found | one event | first night right | when found | "+
		"versions right | fixed on the right night | false nights |\n%s", all.falseFixed, table.String())
	for _, test := range []struct {
		what         string
		got, of, pct int
	}{
		{"found", all.found, all.causes, 99},
		{"one event for a cause", all.one, all.causes, 97},
		{"first night right", all.first, all.causes, 97},
		{"versions right", all.version, all.causes, 98},
		{"fixed on the right night", all.fixed, all.fixes, 97},
	} {
		if 100*test.got < test.pct*test.of {
			t.Errorf("%s: %d of %d, want %d %%", test.what, test.got, test.of, test.pct)
		}
	}
	if all.closed > 0 {
		t.Errorf("%d events closed while their level was up, want none", all.closed)
	}
	if 1000*all.falseNights > 2*all.nights { // measured: 0.1 %, most of them where metrics drift
		t.Errorf("%d false nights of %d, want 0.2 %% at most", all.falseNights, all.nights)
	}
}

// What a history says of its nights up to some night is what it said on that night: an event keeps its ID, and once it
// is settled its first night, whatever comes later.
func TestEventsStay(t *testing.T) {
	for i, kind := range kinds {
		h, _ := drawHistory(uint64(77+i), kind)
		first := map[string]int{} // of settled events
		known := map[string]bool{}
		for n := 20; n <= len(h.Nights); n += 3 {
			events, _ := DefaultRule().Examine(&History{Machine: h.Machine, Nights: h.Nights[:n]})
			now := map[string]bool{}
			for _, e := range events {
				now[e.ID] = true
				if f, ok := first[e.ID]; ok && f != e.First {
					t.Errorf("%s, %d nights: %s began on night %d, and now on %d", kind, n, e.ID, f, e.First)
				}
				if e.settled {
					first[e.ID] = e.First
				}
			}
			for id := range known {
				if !now[id] {
					t.Errorf("%s, %d nights: event %s is gone", kind, n, id)
				}
			}
			known = now
		}
		if len(first) == 0 {
			t.Errorf("%s: no settled event, want one at least", kind)
		}
	}
}

// Whatever levels do, the shifts of a metric are in the order of their first nights, with nights between them, and an
// event ends after it begins.
func TestEventsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	found := 0
	for seed := range uint64(60) {
		level := make([]float64, 4)
		every := 1 + r.IntN(12)
		h := synthetic(seed, noise{sample: 0.01, metric: 0.01 * r.Float64(), samples: 10, passes: 1}, 120, 4,
			func(night, metric int) float64 {
				if night > 15 && r.IntN(every) == 0 {
					level[metric] = 0.3 * r.Float64()
				}
				return 1 + level[metric]
			})
		for i := range h.Nights {
			h.Nights[i].Values = slices.DeleteFunc(h.Nights[i].Values,
				func(Measurement) bool { return r.IntN(9) == 0 })
		}
		events, trends := DefaultRule().Examine(h)
		found += len(events)
		for _, trend := range trends {
			for i, s := range trend.Shifts {
				if s.at < 1 || s.at >= len(trend.Values) || i > 0 && s.at <= trend.Shifts[i-1].at ||
					s.First > s.Found || !(math.Abs(s.Change()) < 1) {
					t.Errorf("history %d, %s: shift %d: %+v after %+v",
						seed, trend.Metric, i, s, trend.Shifts[max(0, i-1)])
				}
			}
		}
		for _, e := range events {
			if e.First < 1 || e.First > e.Found || e.Closed && e.Fixed < e.First || len(e.Shifts) == 0 {
				t.Errorf("history %d: event %+v", seed, e)
			}
		}
		if seed%10 == 0 {
			must.OK(t, WritePage(io.Discard, h, verdictOn(t, h)))
		}
	}
	if found < 100 {
		t.Errorf("%d events in 60 histories, want 100 or more to judge", found)
	}
}

// TestExamine has one metric, and hardly any noise, so that everything is known.
func TestExamine(t *testing.T) {
	type found struct{ first, found, fixed int }
	for _, test := range []struct {
		name   string
		nights int
		factor map[int]float64
		want   []found // fixed: 0 for events that are not
	}{
		{"nothing", 100, nil, nil},
		{"too small", 100, map[int]float64{60: 1.015}, nil},
		{"slower", 100, map[int]float64{60: 1.05}, []found{{60, 62, 0}}},
		{"faster", 100, map[int]float64{60: 0.95}, []found{{60, 62, 0}}},
		{"and back", 200, map[int]float64{60: 1.05, 120: 1 / 1.05}, []found{{60, 62, 120}}},
		{"back after three nights", 80, map[int]float64{60: 1.05, 63: 1 / 1.05}, []found{{60, 62, 63}}},
		{"back in part", 100, map[int]float64{60: 1.1, 70: 1 / 1.06}, []found{{60, 62, 0}, {70, 72, 0}}},
		{"up again", 100, map[int]float64{60: 1.05, 70: 1 / 1.05, 80: 1.05}, []found{{60, 62, 70}, {80, 82, 0}}},
		{"twice, and back at once", 120, map[int]float64{60: 1.05, 64: 1.1, 90: 1 / 1.155}, []found{
			{60, 62, 90}, {64, 66, 90},
		}},
		// 2/(16 choose 6) is the first below 0.01/10
		{"after ten nights", 40, map[int]float64{10: 1.05}, []found{{10, 15, 0}}},
		{"two nights only", 100, map[int]float64{60: 1.2, 62: 1 / 1.2}, nil},
		{"one night", 100, map[int]float64{60: 3, 61: 1.0 / 3}, nil},
	} {
		events, trends := DefaultRule().Examine(steps(test.nights, test.factor))
		if len(trends) != 1 {
			t.Fatalf("%s: got %v, want one trend", test.name, trends)
		}
		var got []found
		for _, e := range events {
			f := found{e.First, e.Found, 0}
			if e.Closed {
				f.fixed = e.Fixed
			}
			got = append(got, f)
			// Noise of 0.2 %, of which the lower fifth is a night's number.
			if c := e.Shifts[0].Change(); math.Abs(1+c-test.factor[e.First]) > 0.005 {
				t.Errorf("%s: change %.4f, want %.4f ± 0.005", test.name, 1+c, test.factor[e.First])
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
