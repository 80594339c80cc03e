package track

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

func TestDiscoveries(t *testing.T) {
	of := func(p ...float64) (found []candidate) {
		for _, x := range p {
			found = append(found, candidate{p: x})
		}
		return found
	}
	for _, test := range []struct {
		name   string
		p      []float64
		tested int
		want   []float64
	}{
		{"none", nil, 20, nil},
		{"one small enough", []float64{0.0005}, 20, []float64{0.0005}},
		{"one too large", []float64{0.00051}, 20, nil},
		{"the second carries the first", []float64{0.001, 0.0009}, 20, []float64{0.0009, 0.001}},
		{"all alike", []float64{0.01, 0.01, 0.01}, 3, []float64{0.01, 0.01, 0.01}},
		{"the last too large", []float64{0.9, 0.0001}, 20, []float64{0.0001}},
	} {
		if got := discoveries(of(test.p...), test.tested, 0.01); !reflect.DeepEqual(got, of(test.want...)) &&
			len(got)+len(test.want) > 0 {
			t.Errorf("%s: p %v of %d metrics: got %v, want %v", test.name, test.p, test.tested, got, test.want)
		}
	}
}

// steps is a history without noise to speak of: one metric at 100 ms, times a factor from some nights on.
func steps(nights int, factor map[int]float64) *History {
	level := 1.0
	at := make([]float64, nights)
	for i := range at {
		if f, ok := factor[i]; ok {
			level *= f
		}
		at[i] = level
	}
	return synthetic(1, noise{sample: 0.002, samples: 10, passes: 1}, nights, 1,
		func(night, _ int) float64 { return at[night] })
}

func TestNightsApart(t *testing.T) {
	h := steps(40, nil)
	h.Nights[7].Values[0].Wall = h.Nights[7].Values[0].Wall[:9]
	h.Nights[9].Values[0].Unit = "s"
	_, trends := DefaultRule().Examine(h)
	if len(trends) != 2 {
		t.Fatalf("got %v, want a trend per unit", trends)
	}
	if got := trends[0]; got.Unit != "ms" || len(got.Values) != 38 {
		t.Errorf("ms: got %d nights, want 38: one has too few samples", len(got.Values))
	}
}

// In quiet nights the wall times of rounds are judged as well: there a program that makes worse use of its threads
// shows, which takes no more processor time. In other nights they say how busy the machine was.
func TestWallOfRounds(t *testing.T) {
	for _, test := range []struct {
		name       string
		conditions Conditions
		want       []string
	}{
		{"quiet", Conditions{Others: files.Some(0.01), Steal: files.Some(0.005)}, []string{"loops", "ms 60 62"}},
		{"quiet, and steal unknown", Conditions{Others: files.Some(0.02)}, []string{"loops", "ms 60 62"}},
		{"busy", Conditions{Others: files.Some(0.03)}, []string{"loops"}},
		{"stolen", Conditions{Others: files.Some(0.01), Steal: files.Some(0.02)}, []string{"loops"}},
		{"unknown", Conditions{}, []string{"loops"}},
	} {
		h := referenced(steps(80, nil))
		for i := range h.Nights {
			n := &h.Nights[i]
			n.Conditions, n.Values[0].Metric = test.conditions, "round/cifar10"
			for j := range n.Values[0].Wall {
				if i >= 60 {
					n.Values[0].Wall[j] *= 1.1
				}
			}
		}
		_, trends := DefaultRule().Examine(h)
		var got []string
		for _, trend := range trends {
			words := []string{trend.Unit}
			for _, s := range trend.Shifts {
				words = append(words, fmt.Sprintf("%d %d", s.First, s.Found))
			}
			got = append(got, strings.Join(words, " "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if v := verdictOn(t, h); v.Metrics != len(test.want) || v.Compared != len(test.want) {
			t.Errorf("%s: %d of %d metrics compared, want %d of them", test.name, v.Compared, v.Metrics, len(test.want))
		}
	}
}

// TestYear: a year of 20 metrics compares in 1 s and plots in 3 s, reading the text of the file included.
func TestYear(t *testing.T) {
	if testing.Short() {
		t.Skip("a speed test, and -short is for the race detector")
	}
	h := synthetic(9, noises[3], 365, 20, func(night, metric int) float64 {
		if night >= 100+10*metric {
			return 1.05
		}
		return 1
	})
	text := strings.Builder{} // at once: appending night by night takes long
	text.WriteString(header() + "\n")
	for _, n := range h.Nights {
		must.OK(t, encode(&text, h.Machine, n))
	}

	begun := processorTime(t)
	back, bad := read(strings.NewReader(text.String()), "a year")
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	v := verdictOn(t, back)
	compared := processorTime(t) - begun
	begun += compared
	var svg strings.Builder
	must.OK(t, WritePage(&svg, back, v))
	plotted := processorTime(t) - begun
	t.Logf("365 nights × 20 metrics × 20 samples: read and compared in %.2f s, plotted in %.2f s (page of %.1f MB), "+
		"%d events", compared.Seconds(), plotted.Seconds(), float64(svg.Len())/1e6, len(v.Events))
	if compared > time.Second {
		t.Errorf("compared in %v, want 1 s at most", compared)
	}
	if plotted > 3*time.Second {
		t.Errorf("plotted in %v, want 3 s at most", plotted)
	}
	if len(v.Events) < 20 {
		t.Errorf("%d events, want the 20 that were planted", len(v.Events))
	}
}

// processorTime returns what this process has used, whatever else the machine does.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must.OK(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// bruteP goes through all ways to choose which k of the values come after, and counts those at least as far from the
// middle.
func bruteP(before, after []float64) float64 {
	all := append(append([]float64(nil), before...), after...)
	n, k := len(all), len(after)
	u := func(mask int) (u float64) {
		for i := range n {
			for j := range n {
				if mask>>i&1 == 1 && mask>>j&1 == 0 && all[i] > all[j] {
					u++
				}
			}
		}
		return u
	}
	middle := float64(k*(n-k)) / 2
	own := math.Abs(u((1<<n)-(1<<len(before))) - middle)
	hits, total := 0, 0
	for mask := range 1 << n {
		if bits.OnesCount(uint(mask)) != k {
			continue
		}
		total++
		if math.Abs(u(mask)-middle) >= own {
			hits++
		}
	}
	return float64(hits) / float64(total)
}

func TestRankP(t *testing.T) {
	const tolerance = 1e-12 // both are a quotient of counts below 2^53
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		before, after := make([]float64, 7), make([]float64, 3)
		for i := range before {
			before[i] = r.Float64()
		}
		for i := range after {
			after[i] = r.Float64() + 0.5
		}
		if got, want := rankP(before, after), bruteP(before, after); math.Abs(got-want) > tolerance {
			t.Errorf("%v and %v: got %v, want %v ± %g", before, after, got, want, tolerance)
		}
	}
	// Completely apart: 2 / (53 choose 3).
	var before []float64
	for i := range 50 {
		before = append(before, float64(i))
	}
	if got, want := rankP(before, []float64{60, 61, 62}), 2.0/23426; math.Abs(got-want) > 1e-12 {
		t.Errorf("50 and 3 nights apart: got %v, want %v", got, want)
	}
	if got, want := leastP(50, 3), 2.0/23426; math.Abs(got/want-1) > 1e-9 { // by logarithms
		t.Errorf("leastP(50, 3): got %v, want %v", got, want)
	}
}

// With ties the probability is that of the least favourable order.
func TestRankPTies(t *testing.T) {
	const tolerance = 1e-12
	before := []float64{1, 2, 3, 3, 4, 4, 5}
	for _, test := range []struct {
		name      string
		after, as []float64
	}{
		{"slower", []float64{4, 6, 6}, []float64{3.5, 6, 7}}, {"faster", []float64{0, 1, 1}, []float64{0, 1.1, 1.2}},
	} {
		got, want := rankP(before, test.after), bruteP([]float64{1, 2, 3, 3.1, 4, 4.1, 5}, test.as)
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: got %v, want %v", test.name, got, want)
		}
	}
	if got := rankP([]float64{2, 2, 2, 2}, []float64{2, 2, 2}); got < 0.05 {
		t.Errorf("all equal: got %v, want nothing below 0.05", got)
	}
}
