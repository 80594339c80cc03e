package track

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var rateNights = flag.Int("nights", 240,
	"nights of the synthetic histories that detection rates are measured on; docs/tracking.md has 1000")

// Of the synthetic histories.
const (
	rateMetrics = 20
	firstPlant  = 60 // night of the first shift
	plantEvery  = 5  // nights between shifts, each in the next metric: a metric has one every 100 nights
)

// rates is how often a rule is right on one kind of machine.
type rates struct {
	nights, falseNights  int // of all nights those with a false alarm, of any metric
	planted, soon, found int // shifts; found by the third night; found before 20 nights were over
	exact, near          int // of those found: first night right; off by two nights at most

	byMetric map[string]*hits
}

// hits are the shifts of one metric.
type hits struct{ planted, soon, found int }

// measure plants shifts of a size in so many metrics, up and then down again, and counts what the rule makes of them.
// history makes the history, in which a metric's night is multiplied by a factor.
func measure(
	t testing.TB, nights, metrics int, size float64, history func(factor func(night, metric int) float64) *History,
) (out rates) {
	t.Helper()
	rule := DefaultRule()
	type plant struct{ night, metric int }
	var plants []plant
	level := make([][]float64, metrics)
	for m := range level {
		level[m] = make([]float64, nights)
		for i := range level[m] {
			level[m][i] = 1
		}
	}
	for j := 0; size > 0 && firstPlant+(j+1)*plantEvery < nights; j++ {
		p := plant{firstPlant + j*plantEvery, j % metrics}
		plants = append(plants, p)
		for i := p.night; i < nights; i++ {
			level[p.metric][i] = 1
			if j/metrics%2 == 0 {
				level[p.metric][i] += size
			}
		}
	}
	h := history(func(night, metric int) float64 { return level[metric][night] })
	trends := rule.Trends(h) // in the order of the names, as the metrics are
	out.nights, out.planted, out.byMetric = nights, len(plants), map[string]*hits{}
	taken, alarms := map[plant]bool{}, map[int]bool{}
	for m, trend := range trends {
		own := &hits{}
		out.byMetric[trend.Metric] = own
		for _, p := range plants {
			if p.metric == m {
				own.planted++
			}
		}
		for _, s := range trend.Shifts {
			hit := -1
			for i, p := range plants {
				if p.metric == m && s.Confirmed >= p.night && s.Confirmed < p.night+recent && !taken[p] {
					hit = i
				}
			}
			if hit < 0 {
				alarms[s.Confirmed] = true
				continue
			}
			p := plants[hit]
			taken[p] = true
			out.found++
			own.found++
			if s.Confirmed-p.night < 3 {
				out.soon++
				own.soon++
			}
			switch off := s.First - p.night; {
			case off == 0:
				out.exact++
				out.near++
			case -2 <= off && off <= 2:
				out.near++
			}
		}
	}
	out.falseNights = len(alarms)
	return out
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// TestRates guards the table of docs/tracking.md, which it prints: -run TestRates -v -nights 1000.
//
// A false alarm is a night on which any of the 20 metrics is reported without cause, shifts reported more than 20
// nights late among them. The limits are those promised, with what chance adds over fewer nights: of 240 nights with a
// true rate of 0.5 %, 5 or more false ones come with probability 0.8 % (binomial), and the seed is fixed.
func TestRates(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds of arithmetic")
	}
	var table strings.Builder
	for _, n := range noises {
		for _, size := range []float64{0, 0.03, 0.05, 0.10} {
			r := measure(t, *rateNights, rateMetrics, size, func(factor func(night, metric int) float64) *History {
				return synthetic(7, n, *rateNights, rateMetrics, factor)
			})
			fmt.Fprintf(&table, "| %s | %.0f %% | %d | %s | %s | %s | %s | %s |\n",
				n.name, 100*size, r.falseNights, share(r.falseNights, r.nights),
				share(r.soon, r.planted), share(r.found, r.planted), share(r.exact, r.found), share(r.near, r.found))
			if n.beyond {
				continue
			}
			if most := 4 + *rateNights/200; r.falseNights > min(most, max(4, *rateNights/100)) {
				t.Errorf("%s, shifts of %.0f %%: false alarms on %d of %d nights, want 4 or 1 %% at most",
					n.name, 100*size, r.falseNights, r.nights)
			}
			if size >= 0.05 && float64(r.soon) < 0.95*float64(r.planted) {
				t.Errorf("%s, shifts of %.0f %%: %d of %d found within 3 nights, want 95 %%",
					n.name, 100*size, r.soon, r.planted)
			}
			if size >= 0.05 && float64(r.exact) < 0.8*float64(r.found) { // measured: 85 to 90 %
				t.Errorf("%s, shifts of %.0f %%: first night right for %d of %d, want 80 %%",
					n.name, 100*size, r.exact, r.found)
			}
		}
	}
	t.Logf("%d nights, %d metrics\n| machine | shift | false nights | share | within 3 nights | found | first night "+
		"right | ± 2 nights |\n%s", *rateNights, rateMetrics, table.String())
}
