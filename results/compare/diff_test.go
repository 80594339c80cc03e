package compare

import (
	"math"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
)

// Differences 0.1, 0.2 and 0.3: mean 0.2, s = 0.1, t(2 degrees, 95 %) = 4.302653 (any table): 0.2 ± 4.302653·0.1/√3.
func TestDiff(t *testing.T) {
	a := resultstest.Runs(t,
		resultstest.Complete("", "mifa", 3, 0, 0.4),
		resultstest.Complete("", "mifa", 4, 0, 0.5),
		resultstest.Complete("", "mifa", 6, 0, 0.3),
		resultstest.Complete("", "fedau", 3, 0, 0.3))
	b := resultstest.Runs(t,
		resultstest.Complete("fedawe-2", "mifa", 3, 0, 0.5),
		resultstest.Complete("", "mifa", 4, 0, 0.7),
		resultstest.Complete("", "mifa", 6, 0, 0.6),
		resultstest.Complete("", "mifa", 7, 0, 0.65))
	both := []metrics.Metric{metrics.TestAcc, metrics.TestLoss}
	d := must.Get(Diff(a, b, DiffOptions{Metrics: both, Level: 0.95, Last: 50}))(t)
	if len(d.Rows) != 1 {
		t.Fatalf("%d rows, want one: there is no test loss, and no other common cell", len(d.Rows))
	}
	r := d.Rows[0]
	half := 4.302653 * 0.1 / math.Sqrt(3)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"mean a", r.MeanA.Value, 0.4},
		{"mean b", r.MeanB.Value, 0.6},
		{"difference", r.Difference.Value, 0.2},
		{"std", r.Std.Value, 0.1},
		{"low", r.Low.Value, 0.2 - half},
		{"high", r.High.Value, 0.2 + half},
	} {
		if math.Abs(c.got-c.want) > 1e-6 { // the table's t has six decimals
			t.Errorf("%s %g, want %g ± 1e-6", c.name, c.got, c.want)
		}
	}
	if r.N != 3 || r.Apart {
		t.Errorf("%d seeds, apart %v, want 3 and an interval that holds 0: %g … %g",
			r.N, r.Apart, r.Low.Value, r.High.Value)
	}
	if len(d.OnlyA) != 1 || !strings.HasPrefix(d.OnlyA[0], "fedau ") || len(d.OnlyB) != 1 ||
		!strings.HasSuffix(d.OnlyB[0], "seed 7") {
		t.Errorf("only in A %q, in B %q, want fedau and seed 7", d.OnlyA, d.OnlyB)
	}
	// t(2 degrees, 80 %) = 1.885618: 0.2 ± 0.109 does not hold 0.
	d = must.Get(Diff(a, b, DiffOptions{Metrics: []metrics.Metric{metrics.TestAcc}, Level: 0.8, Last: 50}))(t)
	if !d.Rows[0].Apart {
		t.Errorf("level 0.8: %+v, want them apart", d.Rows)
	}
	var text strings.Builder
	must.OK(t, d.Write(&text, Plain))
	want := "test_acc: test accuracy (%), mean over all 1 round, since the runs are shorter than the window of 50\n\n" +
		"method   data      availability   metric     n      A      B   B − A   80 % interval   verdict\n" +
		"mifa     cifar10   sine           test_acc   3   40.0   60.0   +20.0    +9.1 … +30.9   apart\n\n" +
		"1 rows, 1 apart: by chance alone about 0.2 would be; without a partner: 1 in A, 1 in B\n"
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("got\n%s\nwant first\n%s", text.String(), want)
	}
}

// The numbers of a run are means over its last rounds, as many as are asked for.
func TestDiffLast(t *testing.T) {
	a := resultstest.Runs(t, resultstest.Complete("", "mifa", 3, 0, 0.1, 0.2, 0.6))
	b := resultstest.Runs(t, resultstest.Complete("", "mifa", 3, 0, 0.9, 0.4, 0.6))
	for last, want := range map[int]float64{1: 0, 2: 0.1, 3: 1. / 3, 50: 1. / 3} {
		d, err := Diff(a, b, DiffOptions{Metrics: []metrics.Metric{metrics.TestAcc}, Level: 0.95, Last: last})
		if err != nil || len(d.Rows) != 1 || math.Abs(d.Rows[0].Difference.Value-want) > 1e-12 {
			t.Errorf("last %d: %v, %+v, want a difference of %g", last, err, d.Rows, want)
		}
	}
}

// One seed has no interval; two methods compare when the column is ignored; two candidates are an error that names
// both.
func TestDiffIgnore(t *testing.T) {
	a := resultstest.Runs(t, resultstest.Complete("", "mifa", 3, 0, 0.4))
	other := resultstest.Complete("", "fedau", 3, 0, 0.3)
	other.Params = "lr=1"
	b := resultstest.Runs(t, other)
	d, err := Diff(a, b, DiffOptions{
		Metrics: []metrics.Metric{metrics.TestAcc}, Level: 0.95, Last: 50, Ignore: []string{"method", "params"},
	})
	if err != nil || len(d.Rows) != 1 || math.Abs(d.Rows[0].Difference.Value+0.1) > 1e-12 ||
		d.Rows[0].Low.Valid || d.Rows[0].Std.Valid {
		t.Errorf("%v, %+v, want −0.1 without an interval", err, d.Rows)
	}
	two := resultstest.Runs(t, resultstest.Complete("", "fedau", 3, 0, 0.3),
		resultstest.Complete("", "mifa", 3, 0, 0.3))
	_, err = Diff(a, two, DiffOptions{
		Metrics: []metrics.Metric{metrics.TestAcc}, Level: 0.95, Last: 50, Ignore: []string{"method"},
	})
	if err == nil || !strings.Contains(err.Error(), two[0].Dir) || !strings.Contains(err.Error(), two[1].Dir) {
		t.Errorf("%v, want both folders named", err)
	}
}

// Pairs in which a run never reaches the accuracy are left out, and counted.
func TestDiffRounds(t *testing.T) {
	runs := func(three, four []float64) []results.Run {
		return resultstest.Runs(t,
			resultstest.Complete("", "mifa", 3, three...), resultstest.Complete("", "mifa", 4, four...))
	}
	a := runs([]float64{0, 0.6, 0.7}, []float64{0, 0.6, 0.6})
	b := runs([]float64{0, 0.5, 0.6}, []float64{0, 0.5, 0.5})
	d := must.Get(Diff(a, b, DiffOptions{Metrics: []metrics.Metric{"rounds_to_acc_60"}, Level: 0.95, Last: 50}))(t)
	const want = "; left out: 1 of 2 pairs, in which a run does not reach it"
	if len(d.Rows) != 1 || d.Rows[0].N != 1 || d.Rows[0].Difference.Value != 1 ||
		!strings.HasSuffix(d.Metrics[0], want) {
		t.Errorf("%+v, want a round more in one pair, and %q", d, want)
	}
}
