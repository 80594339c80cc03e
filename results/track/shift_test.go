package track

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// bruteP goes through all ways to choose which k of the values come after, and counts those at least as far from the middle.
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
	bits := func(m int) (c int) {
		for ; m > 0; m &= m - 1 {
			c++
		}
		return c
	}
	middle := float64(k*(n-k)) / 2
	own := math.Abs(u((1<<n)-(1<<len(before))) - middle)
	hits, total := 0, 0
	for mask := range 1 << n {
		if bits(mask) != k {
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
		{"slower", []float64{4, 6, 6}, []float64{3.5, 6, 7}},
		{"faster", []float64{0, 1, 1}, []float64{0, 1.1, 1.2}},
	} {
		if got, want := rankP(before, test.after), bruteP([]float64{1, 2, 3, 3.1, 4, 4.1, 5}, test.as); math.Abs(got-want) > tolerance {
			t.Errorf("%s: got %v, want %v", test.name, got, want)
		}
	}
	if got := rankP([]float64{2, 2, 2, 2}, []float64{2, 2, 2}); got < 0.05 {
		t.Errorf("all equal: got %v, want nothing below 0.05", got)
	}
}

func TestDiscoveries(t *testing.T) {
	of := func(p ...float64) (s []Shift) {
		for _, x := range p {
			s = append(s, Shift{P: x})
		}
		return s
	}
	for _, test := range []struct {
		name   string
		p      []float64
		tested int
		want   []int
	}{
		{"none", nil, 20, nil},
		{"one small enough", []float64{0.0005}, 20, []int{0}},
		{"one too large", []float64{0.00051}, 20, nil},
		{"the second carries the first", []float64{0.0009, 0.001}, 20, []int{0, 1}},
		{"all alike", []float64{0.01, 0.01, 0.01}, 3, []int{0, 1, 2}},
		{"the last too large", []float64{0.9, 0.0001}, 20, []int{1}},
	} {
		if got := discoveries(of(test.p...), test.tested, 0.01); !reflect.DeepEqual(got, test.want) && len(got)+len(test.want) > 0 {
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
	return synthetic(1, noise{sample: 0.002, samples: 10, passes: 1}, nights, 1, func(night, _ int) float64 { return at[night] })
}

func TestTrends(t *testing.T) {
	type found struct{ first, confirmed int }
	for _, test := range []struct {
		name   string
		nights int
		factor map[int]float64
		want   []found
	}{
		{"nothing", 100, nil, nil},
		{"too small", 100, map[int]float64{60: 1.015}, nil},
		{"slower", 100, map[int]float64{60: 1.05}, []found{{60, 62}}},
		{"faster", 100, map[int]float64{60: 0.95}, []found{{60, 62}}},
		{"and back", 200, map[int]float64{60: 1.05, 120: 1 / 1.05}, []found{{60, 62}, {120, 122}}},
		{"after ten nights", 40, map[int]float64{10: 1.05}, []found{{10, 15}}}, // 2/(16 choose 6) is the first below 0.01/10
		{"two nights only", 100, map[int]float64{60: 1.2, 62: 1 / 1.2}, nil},
		{"one night", 100, map[int]float64{60: 3, 61: 1.0 / 3}, nil},
	} {
		h := steps(test.nights, test.factor)
		trends, err := DefaultRule().Trends(h)
		if err != nil || len(trends) != 1 {
			t.Fatalf("%s: got %v, %v, want one trend", test.name, trends, err)
		}
		var got []found
		for _, s := range trends[0].Shifts {
			got = append(got, found{s.First, s.Confirmed})
			if want := test.factor[s.First]; math.Abs(1+s.Change-want) > 0.005 { // noise of 0.2 % and its lower fifth
				t.Errorf("%s: change %.4f, want %.4f ± 0.005", test.name, 1+s.Change, want)
			}
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// A verdict stands: later nights do not change what was said.
func TestTrendsDoNotLookAhead(t *testing.T) {
	h := synthetic(5, noises[2], 160, 5, func(night, metric int) float64 {
		if night >= 70+10*metric {
			return 1.06
		}
		return 1
	})
	all, err := DefaultRule().Trends(h)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for n := 60; n <= len(h.Nights); n += 7 {
		part, err := DefaultRule().Trends(&History{Path: h.Path, Machine: h.Machine, Nights: h.Nights[:n]})
		if err != nil {
			t.Fatal(err)
		}
		for i, trend := range part {
			var want []Shift
			for _, s := range all[i].Shifts {
				if s.Confirmed < n {
					want = append(want, s)
				}
			}
			if !reflect.DeepEqual(trend.Shifts, want) {
				t.Errorf("%d nights, %s: got %+v, want %+v", n, trend.Metric, trend.Shifts, want)
			}
			seen += len(want)
		}
	}
	if seen == 0 {
		t.Error("no shift at all, want some to compare")
	}
}

func TestTrendsTakeNightsApart(t *testing.T) {
	h := steps(40, nil)
	h.Nights[7].Values[0].Samples = h.Nights[7].Values[0].Samples[:9]
	h.Nights[9].Values[0].Unit = "s"
	trends, err := DefaultRule().Trends(h)
	if err != nil || len(trends) != 2 {
		t.Fatalf("got %v, %v, want a trend per unit", trends, err)
	}
	if got := trends[0]; got.Unit != "ms" || len(got.Values) != 38 || got.Few != 1 {
		t.Errorf("ms: got %d nights, %d with too few samples, want 38 and 1", len(got.Values), got.Few)
	}
}

func TestRuleValidate(t *testing.T) {
	if err := DefaultRule().Validate(); err != nil {
		t.Errorf("default: got %v, want none", err)
	}
	for _, test := range []struct {
		change func(*Rule)
		want   string
	}{
		{func(r *Rule) { r.Level = 0 }, "level 0, want"},
		{func(r *Rule) { r.Level = math.NaN() }, "level NaN, want"},
		{func(r *Rule) { r.MinEffect = -1 }, "least effect -1, want"},
		{func(r *Rule) { r.Samples = 9 }, "9 samples of a night, want 10"},
		{func(r *Rule) { r.Baseline = 9 }, "9 nights before a shift, want 10"},
		{func(r *Rule) { r.Window = 51 }, "window of 51 nights, want"},
		{func(r *Rule) { r.Confirm = 1 }, "confirmed by 1 nights, want 2"},
		{func(r *Rule) { r.Recent = 51 }, "looked for in 51 nights, want"},
	} {
		r := DefaultRule()
		test.change(&r)
		if _, err := r.Trends(steps(1, nil)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	rule := DefaultRule()
	judged := func(nights int, recent int) Verdict {
		h := steps(nights, map[int]float64{60: 1.05, 120: 0.9})
		for i := 60; i < nights; i++ {
			h.Nights[i].Version = "v2"
		}
		trends, err := rule.Trends(h)
		if err != nil {
			t.Fatal(err)
		}
		return Judge(h, trends, rule, recent)
	}
	for _, test := range []struct {
		nights, recent          int
		slower, faster, earlier int
		text                    string
	}{
		{62, 1, 0, 0, 0, "no regression"},
		{63, 1, 1, 0, 0, "1 regression, worst metric/00 +5."},
		{64, 1, 0, 0, 1, "no regression"},
		{64, 2, 1, 0, 0, "1 regression, worst metric/00 +5."},
		{123, 1, 0, 1, 1, "no regression, 1 faster"},
	} {
		v := judged(test.nights, test.recent)
		if len(v.Regressions) != test.slower || len(v.Improvements) != test.faster || len(v.Earlier) != test.earlier || !strings.Contains(v.Text, test.text) {
			t.Errorf("%d nights, last %d: got %d slower, %d faster, %d earlier, %q, want %d, %d, %d, %q", test.nights, test.recent,
				len(v.Regressions), len(v.Improvements), len(v.Earlier), v.Text, test.slower, test.faster, test.earlier, test.text)
		}
	}
	v := judged(63, 1)
	f := v.Regressions[0]
	if f.FirstRun != "20260302T020000Z" || f.ConfirmedRun != "20260304T020000Z" || f.FirstVersion != "v2" || f.LastVersion != "v1" {
		t.Errorf("finding: got %+v, want first run 20260302T020000Z of v2 after v1, confirmed by 20260304T020000Z", f)
	}
	var text, list strings.Builder
	if err := v.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SLOWER  metric/00", "since 20260302T020000Z (v2, before it v1)", "3 nights after 50"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text:\n%swant %q in it", text.String(), want)
		}
	}
	if err := WriteJSON(&list, []Verdict{v}); err != nil {
		t.Fatal(err)
	}
	var back []Verdict
	if err := json.Unmarshal([]byte(list.String()), &back); err != nil || !reflect.DeepEqual(back, []Verdict{v}) {
		t.Errorf("JSON: got %+v, %v, want %+v", back, err, v)
	}
}

// TestYear is the issue's: a year of 20 metrics compares in 1 s and plots in 3 s, reading the file included.
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
	dir := t.TempDir()
	w, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	path := w.Path(h.Machine)
	writeYear(t, path, h)

	begun := time.Now()
	back, bad := Read(path)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	trends, err := DefaultRule().Trends(back)
	if err != nil {
		t.Fatal(err)
	}
	v := Judge(back, trends, DefaultRule(), 1)
	compared := time.Since(begun)
	begun = time.Now()
	figure, err := Plot(back, trends)
	if err != nil {
		t.Fatal(err)
	}
	var svg strings.Builder
	if err := figure.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	plotted := time.Since(begun)
	t.Logf("365 nights × 20 metrics × 20 samples: read and compared in %.2f s, plotted in %.2f s (SVG of %.1f MB), %d shifts", compared.Seconds(), plotted.Seconds(), float64(svg.Len())/1e6, len(v.Earlier))
	if compared > time.Second {
		t.Errorf("compared in %v, want 1 s at most", compared)
	}
	if plotted > 3*time.Second {
		t.Errorf("plotted in %v, want 3 s at most", plotted)
	}
	if len(v.Earlier) < 20 {
		t.Errorf("%d shifts, want the 20 that were planted", len(v.Earlier))
	}
}
