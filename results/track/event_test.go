package track

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// cause is a planted change of some metrics of a history.
type cause struct {
	first, fixed int // nights; fixed is 0 if it never is
	metrics      map[int]float64
}

// drawn is a history with its causes.
type drawn struct {
	kind    string
	history *History
	causes  []cause
}

var kinds = []string{"quiet", "loud", "bimodal", "drifting", "two events", "a fix", "metrics vanish"}

func draw(seed uint64, kind string) drawn {
	r := rand.New(rand.NewPCG(seed, 54))
	metrics := 4 + r.IntN(17)
	nights := 45 + r.IntN(50)
	n := noise{sample: 0.005, metric: 0.002, night: 0.002, samples: 20, passes: 1}
	switch {
	case kind == "loud" || kind != "quiet" && r.IntN(2) == 0:
		n.sample, n.metric, n.night = 0.02, 0.005, 0.005
	}
	if kind == "bimodal" {
		n.slow, n.share, n.passes = 0.08, 0.3, 10
	}
	sizes := []float64{0.05, 0.08, 0.12, 0.2}
	plant := func(first int, taken map[int]bool) cause {
		c := cause{first: first, metrics: map[int]float64{}}
		size := sizes[r.IntN(len(sizes))]
		if r.IntN(2) == 0 { // one alone
			for {
				m := r.IntN(metrics)
				if !taken[m] {
					c.metrics[m] = size
					return c
				}
			}
		}
		for m := range metrics {
			if r.IntN(2) == 0 && !taken[m] {
				c.metrics[m] = size * (0.7 + 0.6*r.Float64())
			}
		}
		if len(c.metrics) == 0 {
			for m := range metrics {
				if !taken[m] {
					c.metrics[m] = size
					break
				}
			}
		}
		return c
	}
	d := drawn{kind: kind}
	first := 14 + r.IntN(nights-14-9)
	one := plant(first, nil)
	switch kind {
	case "a fix":
		first = 20 + r.IntN(nights-20-22)
		one.first = first
		one.fixed = first + 4 + r.IntN(nights-first-13)
		d.causes = []cause{one}
	case "two events":
		first = 14 + r.IntN(nights-14-24)
		one.first = first
		taken := map[int]bool{}
		if r.IntN(2) == 0 {
			for m := range one.metrics {
				taken[m] = true
			}
			if len(taken) == metrics {
				taken = map[int]bool{}
			}
		}
		two := plant(first+6+r.IntN(nights-first-15), taken)
		d.causes = []cause{one, two}
	default:
		d.causes = []cause{one}
	}
	walk := make([]float64, metrics)
	slope := make([]float64, metrics)
	for m := range slope {
		if kind == "drifting" {
			slope[m] = 0.0004 * (2*r.Float64() - 1)
		}
	}
	h := synthetic(seed, n, nights, metrics, func(night, metric int) float64 {
		f := 1.0
		for _, c := range d.causes {
			if size, ok := c.metrics[metric]; ok && night >= c.first && (c.fixed == 0 || night < c.fixed) {
				f *= 1 + size
			}
		}
		walk[metric] += slope[metric]
		return f * math.Exp(walk[metric])
	})
	every := 1 + r.IntN(6)
	for i := range h.Nights {
		v := i / every
		for _, c := range d.causes {
			if i >= c.first {
				v += 100
			}
			if c.fixed > 0 && i >= c.fixed {
				v += 100
			}
		}
		h.Nights[i].Version = fmt.Sprintf("v%d", v)
	}
	if kind == "metrics vanish" {
		gone := r.IntN(metrics)
		for i := range h.Nights {
			vals := h.Nights[i].Values
			var kept []Measurement
			for m, v := range vals {
				if m == gone && i > nights/2 || r.IntN(20) == 0 {
					continue
				}
				kept = append(kept, v)
			}
			h.Nights[i].Values = kept
		}
	}
	d.history = h
	return d
}

func TestEvents(t *testing.T) {
	type score struct{ causes, found, first, one, version, extra, closed, fixed, fixes int }
	total := map[string]*score{}
	begun := time.Now()
	for i := range 400 {
		kind := kinds[i%len(kinds)]
		d := draw(uint64(1000+i), kind)
		s := total[kind]
		if s == nil {
			s = &score{}
			total[kind] = s
		}
		events, _ := DefaultRule().Examine(d.history)
		matched := map[*Event]bool{}
		for _, c := range d.causes {
			s.causes++
			n := 0
			var hit *Event
			for _, e := range events {
				if !e.Slower() {
					continue
				}
				own := 0
				for _, sh := range e.Shifts {
					m := 0
					fmt.Sscanf(sh.trend.Metric, "metric/%d", &m)
					if _, ok := c.metrics[m]; ok {
						own++
					}
				}
				end := len(d.history.Nights)
				for _, o := range d.causes {
					if o.first > c.first {
						end = (o.first+c.first)/2
					}
				}
				beg := 0
				for _, o := range d.causes {
					if o.first < c.first {
						beg = (o.first+c.first)/2
					}
				}
				if own > 0 && e.First > beg && e.First <= end && e.First > c.first-20 && !matched[e] {
					n++
					if hit == nil || abs(e.First-c.first) < abs(hit.First-c.first) {
						hit = e
					}
				}
			}
			if hit == nil {
				t.Logf("%s %d: missed %+v", kind, i, c)
				continue
			}
			s.found++
			matched[hit] = true
			right := hit.First == c.first
			if right {
				s.first++
			}
			if n == 1 {
				s.one++
			}
			if d.history.Nights[hit.First].Version == d.history.Nights[c.first].Version && d.history.Nights[hit.First-1].Version == d.history.Nights[c.first-1].Version {
				s.version++
			}
			if c.fixed > 0 {
				s.fixes++
				if hit.Fixed == c.fixed {
					s.fixed++
				}
				if hit.Fixed != c.fixed {
					t.Logf("%s %d: fixed %d, want %d (%d nights)", kind, i, hit.Fixed, c.fixed, len(d.history.Nights))
				}
			} else if hit.Fixed != 0 {
				s.closed++
			}
			if !right || n != 1 {
				t.Logf("%s %d: first %d, want %d, found %d, events %d: %v", kind, i, hit.First, c.first, hit.Found, n, c.metrics)
			}
		}
		for _, e := range events {
			if e.Slower() && !matched[e] {
				s.extra++
				t.Logf("%s %d: extra event first %d found %d %v fixed %d", kind, i, e.First, e.Found, e.Shifts[0].Change(), e.Fixed)
			}
		}
	}
	all := score{}
	for _, k := range kinds {
		s := total[k]
		t.Logf("%-15s %+v", k, *s)
		all.causes += s.causes
		all.found += s.found
		all.first += s.first
		all.one += s.one
		all.version += s.version
		all.extra += s.extra
		all.closed += s.closed
		all.fixed += s.fixed
		all.fixes += s.fixes
	}
	t.Logf("%+v %v", all, time.Since(begun))
}

func abs(x int) int { return max(x, -x) }
