package power

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// one describes a run whose test accuracy after the only round is acc.
func one(method string, seed uint32, params results.Params, acc float64) resultstest.SmallRun {
	r := resultstest.Complete("sweep", method, seed, 0.1, acc)
	r.Params = params
	return r
}

// twoByTwo has two seeds of the split and two of the batches; the accuracies of its runs are in the order of the seeds.
func twoByTwo(method string, more results.Params, acc ...float64) (list []resultstest.SmallRun) {
	for i, x := range acc {
		seeds := results.Params(fmt.Sprintf("seed-batches=%d;seed-split=%d", 9+i%2, 9+i/2))
		list = append(list, one(method, 3, more.And(seeds), x))
	}
	return list
}

// The numbers of stats.TestCrossedComponentsByHand, 1 2 4 9, in hundredths, beside a method that has the same numbers
// but for the split: their difference has no spread but that of the split.
func TestEstimateByHand(t *testing.T) {
	runs := resultstest.Runs(t, append(twoByTwo("mifa", "period=30", 0.01, 0.02, 0.04, 0.09),
		twoByTwo("fedawe", "period=30", 0.02, 0.03, 0.03, 0.08)...)...)
	designs, bad := Designs(runs)
	if len(designs) != 2 || len(bad) > 0 {
		t.Fatalf("%d designs, %v, want two", len(designs), bad)
	}
	for _, d := range designs {
		got := fmt.Sprintf("%v %s %d %d", d.Factors, d.Params, d.Rounds, len(d.Runs))
		if got != "[{split 2} {batches 2}] period=30 1 4" {
			t.Errorf("%s: %s, want split and batches of two seeds in 4 runs", d.Method, got)
		}
	}
	wanted := stats.Detect{Difference: 0.05, Significance: 0.05, Power: 0.8}
	rows := must.Get(Estimate(designs, metrics.TestAcc, wanted))(t)
	byPart := map[string]Spread{}
	for _, r := range rows {
		byPart[r.Method+" "+r.Minus+" "+r.Part] = r
	}
	if len(rows) != 12 || len(byPart) != 12 {
		t.Fatalf("%d rows, %d different, want 4 parts of two methods and of their difference", len(rows), len(byPart))
	}
	for _, w := range []struct {
		part     string
		variance float64 // in hundredths²
		share    float64
	}{
		{"mifa  split", 10.5, 10.5 / 17},
		{"mifa  batches", 2.5, 2.5 / 17},
		{"mifa  interactions", 4, 4. / 17},
		{"mifa  all", 17, 1},
		// 2 3 3 8: level means 2.5, 5.5 and 2.5, 5.5; 9 and 9 of 22, so that 4 are left.
		{"fedawe  split", 2.5, 2.5 / 9},
		{"fedawe  interactions", 4, 4. / 9},
		{"fedawe  all", 9, 1},
		// 1 1 −1 −1
		{"fedawe mifa split", 2, 1},
		{"fedawe mifa batches", 0, 0},
		{"fedawe mifa all", 2, 1},
	} {
		r, ok := byPart[w.part]
		if !ok || math.Abs(r.Variance-w.variance/1e4) > 1e-15 || math.Abs(r.Share-w.share) > 1e-12 ||
			math.Abs(r.Std-math.Sqrt(w.variance)/100) > 1e-9 || r.Runs != 4 {
			t.Errorf("%s: %+v, want a variance of %g·10⁻⁴ and a share of %g", w.part, r, w.variance, w.share)
		}
	}
	// Seeds: from the standard deviations √17, √((17 + 9)/2) and √2 hundredths, by functions with a test of their own.
	find := stats.Detect{Difference: 5, Significance: 0.05, Power: 0.8}
	same, _ := find.Apart(math.Sqrt(17))
	apart, _ := find.Apart(math.Sqrt(13))
	pairs, _ := find.Paired(math.Sqrt(2))
	if got := byPart["mifa  all"]; got.Apart.Value != float64(same) || got.Pairs.Valid {
		t.Errorf("mifa alone needs %v and pairs %v, want %d and none", got.Apart, got.Pairs, same)
	}
	if got := byPart["fedawe mifa all"]; got.Apart.Value != float64(apart) || got.Pairs.Value != float64(pairs) {
		t.Errorf("the difference needs %v and pairs %v, want %d and %d", got.Apart, got.Pairs, apart, pairs)
	}
	if got := byPart["fedawe mifa all"].Mean; math.Abs(got-0) > 1e-15 {
		t.Errorf("mean difference %g, want 0", got)
	}
}

// Seeds that vary together are one factor, which a run's own seed can be.
func TestSeedsTogether(t *testing.T) {
	var list []resultstest.SmallRun
	for split := range 2 {
		for seed := range 3 {
			list = append(list, one("mifa", uint32(9+seed), results.Params(fmt.Sprintf("seed-split=%d", split)),
				0.5+float64(split)/10+float64(seed)/100))
		}
	}
	designs, bad := Designs(resultstest.Runs(t, list...))
	if len(designs) != 1 || len(bad) > 0 {
		t.Fatalf("%d designs, %v, want one", len(designs), bad)
	}
	if got := fmt.Sprint(designs[0].Factors); got != "[{split 2} {phi+availability+init+batches 3}]" {
		t.Errorf("factors %s, want the split, and all else together", got)
	}
}

// Runs that are no design are left out, and a design without one of its runs is refused.
func TestNoDesign(t *testing.T) {
	whole := twoByTwo("mifa", "", 0.1, 0.2, 0.4, 0.9)
	for _, c := range []struct {
		what    string
		runs    []resultstest.SmallRun
		designs int
		bad     string
	}{
		{"seeds alone", []resultstest.SmallRun{one("mifa", 3, "", 0.1), one("mifa", 4, "", 0.2)}, 0, ""},
		{"one seed of the split", whole[:2], 0, ""},
		{
			"one run is missing", whole[:3], 0,
			"3 runs, in which 3 of the 4 pairs of 2 seeds of split and 2 of batches meet",
		},
		{
			"a seed beside the design", append(whole, one("mifa", 3, "seed-batches=1;seed-split=1", 0.5)), 0,
			"5 runs, in which 5 of the 9 pairs",
		},
		{"other settings", append(twoByTwo("mifa", "period=30", 0.1, 0.2, 0.4, 0.8), whole...), 2, ""},
	} {
		designs, bad := Designs(resultstest.Runs(t, c.runs...))
		if len(designs) != c.designs || (c.bad != "") != (len(bad) == 1) ||
			c.bad != "" && !strings.Contains(bad[0].Error(), c.bad) {
			t.Errorf("%s: %d designs, %v, want %d, %q", c.what, len(designs), bad, c.designs, c.bad)
		}
	}
}

// Only runs with the same seeds are pairs. The designs are named by what they differ in.
func TestPairs(t *testing.T) {
	others := twoByTwo("mifa", "", 0.1, 0.2, 0.4, 0.9)
	for i := range others {
		others[i].Params = results.Params(strings.ReplaceAll(string(others[i].Params), "=9", "=8"))
	}
	runs := resultstest.Runs(t, append(append(twoByTwo("fedawe", "period=30", 0.1, 0.3, 0.4, 0.9),
		twoByTwo("fedawe", "period=40", 0.1, 0.2, 0.4, 0.9)...), others...)...)
	designs, bad := Designs(runs)
	if len(designs) != 3 || len(bad) > 0 {
		t.Fatalf("%d designs, %v, want three", len(designs), bad)
	}
	find := stats.Detect{Difference: 0.01, Significance: 0.05, Power: 0.8}
	rows := must.Get(Estimate(designs, metrics.TestAcc, find))(t)
	differences := map[string]bool{}
	for _, r := range rows {
		if r.Minus != "" {
			differences[r.Method+" − "+r.Minus] = true
		}
	}
	if len(differences) != 1 || !differences["fedawe period=30 − fedawe period=40"] {
		t.Errorf("differences %v, want that of the two with the same seeds", differences)
	}
	for _, markdown := range []bool{false, true} {
		var b strings.Builder
		must.OK(t, Write(&b, rows, find, markdown))
		for _, want := range []string{
			"fedawe period=30 − fedawe period=40 on the same seeds: cifar10, cnn-cifar10, sine, 1 rounds, 4 runs",
			"if both methods have the same", "split", "interactions", "of 1.00 (two-sided t-test at 0.05, power 0.8)",
		} {
			text := b.String()
			if !strings.Contains(text, want) {
				t.Errorf("Markdown %t: want %q in\n%s", markdown, want, text)
			}
		}
	}
	if _, err := Estimate(designs, metrics.TestLoss, find); err == nil || !strings.Contains(err.Error(), "test_loss") {
		t.Errorf("runs without losses: %v, want an error that names the metric", err)
	}
}
