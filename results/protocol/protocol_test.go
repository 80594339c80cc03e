package protocol

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/resultstest"
	"rollcall/results/stats"
)

// ramp has a row each `every` rounds up to t, test accuracy = round.
func ramp(t, every int) []results.CurveRow {
	var rows []results.CurveRow
	for r := 0; r <= t; r += every {
		rows = append(rows, results.CurveRow{Round: r, TestAcc: files.Some(float64(r))})
	}
	return rows
}

// FedAWE, Table 2: an entry is the mean over the last 50 rounds.
func TestLastRounds(t *testing.T) {
	gap := ramp(100, 10)
	gap[len(gap)-1].TestAcc = files.Optional{} // round 100 not evaluated, but still the last
	diverged := ramp(100, 10)
	diverged[9].TestAcc = files.Some(math.NaN())
	for _, test := range []struct {
		name string
		rows []results.CurveRow
		n    int
		want files.Optional
	}{
		{"every round: 51…100", ramp(100, 1), 50, files.Some(75.5)},
		{"every second: 52…100", ramp(100, 2), 50, files.Some(76)},
		{"every tenth: 60…100", ramp(100, 10), 50, files.Some(80)},
		{"fewer rounds than 50, without the initial model", ramp(5, 1), 50, files.Some(3)},
		{"the last alone", ramp(100, 10), 1, files.Some(100)},
		{"missing is not zero", gap, 50, files.Some(75)},
		{"diverged stays", diverged, 50, files.Some(math.NaN())},
		{"initial model alone", ramp(0, 1), 50, files.Optional{}},
		{"no rows", nil, 50, files.Optional{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := LastRounds(test.rows, test.n, metrics.TestAcc); !filestest.SameOptional(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestOverSeeds(t *testing.T) {
	// means 3, 5, 4
	got, err := OverSeeds([][]results.CurveRow{ramp(5, 1), ramp(9, 1), ramp(7, 1)}, 50, metrics.TestAcc)
	if err != nil || !filestest.Near(got.Mean, 4) || !filestest.SameOptional(got.Std, files.Some(1)) || got.N != 3 {
		t.Errorf("three seeds: got %+v, %v, want 4 ± 1, n=3", got, err)
	}
	got, err = OverSeeds([][]results.CurveRow{ramp(5, 1)}, 50, metrics.TestAcc)
	if err != nil || got != (stats.Estimate{Mean: 3, N: 1}) {
		t.Errorf("one seed: got %+v, %v, want 3 without std, n=1", got, err)
	}
	if _, err := OverSeeds(nil, 50, metrics.TestAcc); err == nil {
		t.Error("no seed: got no error, want one")
	}
	_, err = OverSeeds([][]results.CurveRow{ramp(5, 1), ramp(0, 1)}, 50, metrics.TestAcc)
	want := "results: run 2 of 2: no test_acc (mean over the last 50 rounds) in 1 evaluations, want more of them"
	if err == nil || err.Error() != want {
		t.Errorf("run without rounds: got %v, want %s", err, want)
	}
}

// Round by round all pairs count, seed by seed the means of the last rounds do; the initial model never.
func TestCurveTTests(t *testing.T) {
	curve := resultstest.Accuracies
	ours := [][]results.CurveRow{curve(0.9, 0.2, 0.4), curve(0.9, 0.3, 0.5)}
	others := [][]results.CurveRow{curve(0.1, 0.1, 0.2), curve(0.1, 0.2, 0.2)}
	p, err := RoundsTTest(ours, others)
	want, _ := stats.PairedTTest([]float64{0.2, 0.4, 0.3, 0.5}, []float64{0.1, 0.2, 0.2, 0.2})
	if err != nil || p != want {
		t.Errorf("rounds: %v, %v, want %v", p, err, want)
	}
	p, err = SeedsTTest(ours, others, 1)
	want, _ = stats.PairedTTest([]float64{0.4, 0.5}, []float64{0.2, 0.2})
	if err != nil || p != want {
		t.Errorf("seeds: %v, %v, want %v", p, err, want)
	}
	if p, err = SeedsTTest(ours[:1], others[:1], 1); err != nil || p.Valid {
		t.Errorf("one seed: %v, %v, want none", p, err)
	}
}

// By hand, in percent. Seed 1 is ahead by 1, 2, 3 and 4 in rounds 1 to 4, which are 2.4 independent pairs, see
// [stats.EffectiveN]; seed 2 is behind by 3 in round 2, the only one that both evaluated but for the initial model.
func TestRoundsLead(t *testing.T) {
	curve := resultstest.Accuracies
	ours := [][]results.CurveRow{curve(0.9, 0.21, 0.22, 0.23, 0.24), curve(0.9, 0.3, 0.4)}
	others := [][]results.CurveRow{curve(0.1, 0.2, 0.2, 0.2, 0.2), accuracies(2, 0.1, 0.43)}
	for _, c := range []struct {
		seeds   int
		lead, n float64
	}{{1, 0.025, 2.4}, {2, 0.014, 3.4}} {
		lead, n := RoundsLead(ours[:c.seeds], others[:c.seeds])
		back, same := RoundsLead(others[:c.seeds], ours[:c.seeds])
		// A few roundings of numbers below 4; of the differences, which are 1e-2, rounded to 1e-16.
		if math.Abs(lead.Value-c.lead) > 1e-15 || math.Abs(n.Value-c.n) > 1e-12 || !lead.Valid || !n.Valid {
			t.Errorf("%d seeds: %v of %v pairs, want %g of %g", c.seeds, lead, n, c.lead, c.n)
		}
		if math.Abs(back.Value+c.lead) > 1e-15 || same != n {
			t.Errorf("%d seeds, the other way round: %v of %v pairs, want %g of %v", c.seeds, back, same, -c.lead, n)
		}
	}
	lead, n := RoundsLead([][]results.CurveRow{curve(0.9)}, [][]results.CurveRow{curve(0.1, 0.2)})
	if lead.Valid || n.Valid {
		t.Errorf("no pair: %v of %v, want neither", lead, n)
	}
}

// accuracies has a row each `every` rounds from 0 on.
func accuracies(every int, acc ...float64) []results.CurveRow {
	var rows []results.CurveRow
	for i, a := range acc {
		rows = append(rows, results.CurveRow{Round: i * every, TestAcc: files.Some(a)})
	}
	return rows
}

// FedAWE, Table 8: the first round whose mean over the seeds reaches the target, looked at every 10 rounds.
func TestFirstRound(t *testing.T) {
	type curves = [][]results.CurveRow
	one := func(acc ...float64) curves { return curves{accuracies(10, acc...)} }
	nan, never := math.NaN(), files.Optional{}
	for _, test := range []struct {
		name      string
		curves    curves
		threshold float64
		want      files.Optional
	}{
		{"rises through it", one(0.1, 0.2, 0.3, 0.4), 0.25, files.Some(20)},
		{"equal is reached", one(0.1, 0.2, 0.3), 0.2, files.Some(10)},
		{"the initial model", one(0.1, 0.2), 0.1, files.Some(0)},
		{"never", one(0.1, 0.2, 0.3), 0.31, never},
		{"first, though it falls again", one(0.1, 0.5, 0.2, 0.6), 0.5, files.Some(10)},
		{
			"the mean, not the best seed",
			curves{accuracies(10, 0.1, 0.5, 0.6), accuracies(10, 0.1, 0.2, 0.5)},
			0.5, files.Some(20),
		},
		{
			"the mean, not the worst seed",
			curves{accuracies(10, 0.1, 0.7, 0.7), accuracies(10, 0.1, 0.3, 0.3)},
			0.5, files.Some(10),
		},
		{"rounds between", curves{accuracies(5, 0.1, 0.9, 0.2, 0.9, 0.6)}, 0.5, files.Some(20)},
		{
			"order of rows",
			curves{{{Round: 10, TestAcc: files.Some(0.4)}, {Round: 0, TestAcc: files.Some(0.1)}}},
			0.4, files.Some(10),
		},
		{"no multiple but 0 within reach", curves{accuracies(3, 0.1, 0.9, 0.9)}, 0.5, never},
		{"mean of three short by rounding", slices.Repeat(one(0.6), 3), 0.6, files.Some(0)},
		{"threshold above by rounding", one(0.1, 0.6), 0.8 * 0.75, files.Some(10)}, // 0.6000000000000001
		{"short by more than rounding", one(0.1, 0.599999), 0.6, never},
		{
			"diverged reaches nothing",
			curves{accuracies(10, nan, 0.9), accuracies(10, 0.9, nan), accuracies(10, 1, 1)},
			0.1, never,
		},
		{"back after NaN", one(nan, 0.9), 0.1, files.Some(10)},
	} {
		got, err := FirstRound(test.curves, 10, test.threshold, metrics.TestAcc)
		if err != nil || got != test.want {
			t.Errorf("%s: threshold %v: got %+v, %v, want %+v", test.name, test.threshold, got, err, test.want)
		}
	}
	gap := one(0.1, 0.2, 0.3)
	gap[0][1].TestAcc = files.Optional{}
	for _, test := range []struct {
		name      string
		curves    curves
		threshold float64
		want      string
	}{
		{"not measured", gap, 0.5, "run 1 of 1: no test_acc in round 10, want it every 10 rounds up to 20"},
		{"a gap after the answer", gap, 0.1, "run 1 of 1: no test_acc in round 10, want it every 10 rounds up to 20"},
		{
			"one run shorter",
			curves{accuracies(10, 0.1, 0.2), accuracies(10, 0.1)},
			0.5, "run 2 of 2: no test_acc in round 10, want it every 10 rounds up to 10",
		},
		{"no rows", curves{nil}, 0.5, "run 1 of 1: no test_acc in round 0, want it every 10 rounds up to 0"},
	} {
		got, err := FirstRound(test.curves, 10, test.threshold, metrics.TestAcc)
		if want := "results: first round: " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %+v, %v, want %s", test.name, got, err, want)
		}
	}
}

func TestMeanCurve(t *testing.T) {
	got := MeanCurve([][]results.CurveRow{accuracies(10, 1, 2, 3), accuracies(5, 3, 9, 6, 9)}, metrics.TestAcc)
	want := []RoundMean{ // round 5 and 15 are in the second run alone, round 20 in the first
		{0, stats.Estimate{Mean: 2, Std: files.Some(math.Sqrt2), N: 2}},
		{10, stats.Estimate{Mean: 4, Std: files.Some(2 * math.Sqrt2), N: 2}},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i, g := range got {
		if g.Round != want[i].Round || g.N != want[i].N || !filestest.Near(g.Mean, want[i].Mean) ||
			!filestest.SameOptional(g.Std, want[i].Std) {
			t.Errorf("point %d: got %+v, want %+v", i, g, want[i])
		}
	}
	got = MeanCurve([][]results.CurveRow{accuracies(10, 1)}, metrics.TestAcc)
	if len(got) != 1 || got[0].Std.Valid {
		t.Errorf("one run: got %+v, want one point without std", got)
	}
}

// Twenty clients at 0, 1, … 19 %: by hand.
func TestClientStatistic(t *testing.T) {
	var rows []results.ClientRow
	for i := range 20 {
		rows = append(rows, results.ClientRow{Client: i, Accuracy: float64((i*7)%20) / 100})
	}
	for m, want := range map[metrics.Metric]float64{
		// (20² − 1)/12 with n in the denominator, 20·21/12 with n−1
		metrics.ClientAccMean: 0.095, metrics.ClientAccVar: 0.003325, metrics.ClientAccStd: math.Sqrt(0.0035),
		metrics.ClientAccWorst10: 0.005, metrics.ClientAccWorst10Std: 0.01 / math.Sqrt2,
		metrics.ClientAccBest10: 0.185, metrics.ClientAccBest10Std: 0.01 / math.Sqrt2,
	} {
		if got, err := clientStatistic(rows, m); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g, %v, want %g ± 1e-12", m, got, err, want)
		}
	}
	if got, err := clientStatistic(rows[:3], metrics.ClientAccWorst10); err != nil || got != 0 {
		t.Errorf("worst tenth of three: %g, %v, want that of one, 0", got, err)
	}
	if got, err := clientStatistic(rows[:3], metrics.ClientAccWorst10Std); err != nil || got != 0 {
		t.Errorf("spread of one client: %g, %v, want 0", got, err)
	}
	each, err := ClientsEachSeed([][]results.ClientRow{rows[:1], rows[1:2]}, metrics.ClientAccMean) // 0 and 7 %
	e := stats.EstimateOf(each)
	if err != nil || e.N != 2 || math.Abs(e.Mean-0.035) > 1e-12 || math.Abs(e.Std.Value-0.07/math.Sqrt2) > 1e-12 {
		t.Errorf("two seeds: %+v, %v, want 0.035 ± 0.0495", e, err)
	}
	// FedAR, Table 3: 100 clients of the printed variance have the printed standard deviation, but for FedVARP's.
	for std, variance := range map[string]float64{"18.1": 325, "13.6": 182.5, "18.0": 321.6, "20.9": 432.5} {
		var rows []results.ClientRow
		for i := range 100 { // half of them as far above the mean as the others are below
			sign := float64(2*(i%2) - 1)
			rows = append(rows, results.ClientRow{Client: i, Accuracy: 0.5 + sign*math.Sqrt(variance)/100})
		}
		for m, want := range map[metrics.Metric]string{
			metrics.ClientAccStd: std, metrics.ClientAccVar: fmt.Sprintf("%.1f", variance),
		} {
			got, err := clientStatistic(rows, m)
			if text := m.Number(files.Some(got), files.Optional{}); err != nil || text != want {
				t.Errorf("%s of clients with variance %g: %s, %v, want %s as printed", m, variance, text, err, want)
			}
		}
	}
	if _, err := clientStatistic(nil, metrics.ClientAccMean); err == nil {
		t.Error("no clients: no error")
	}
}

// FuzzDecisions: importance comes of whatever is read.
func FuzzDecisions(f *testing.F) {
	path := filepath.Join(f.TempDir(), results.DecisionsFile)
	fuzzRows(f, path, []results.DecisionRow{
		{Round: 1, Weight: 0.5},
		{Round: 1, Client: 1},
		{Round: 2},
		{Round: 2, Client: 1, Weight: 2},
	}, func(t *testing.T) {
		rows, err := results.ReadDecisions(path)
		if err != nil {
			return
		}
		if q, p := Importance(rows); len(q) != results.ClientsOf(rows) || len(p) != len(q) {
			t.Errorf("%d and %d clients, want %d", len(q), len(p), results.ClientsOf(rows))
		}
	})
}

// FuzzClients: every statistic comes of whatever is read.
func FuzzClients(f *testing.F) {
	path := filepath.Join(f.TempDir(), results.ClientsFile)
	fuzzRows(f, path, []results.ClientRow{{Pi: 0.5, N: 3, Accuracy: 0.5}, {Client: 1, Accuracy: 1}},
		func(t *testing.T) {
			rows, err := results.ReadClients(path)
			for _, m := range metrics.OfClients {
				if _, statisticErr := clientStatistic(rows, m); err == nil && (statisticErr == nil) != (len(rows) > 0) {
					t.Errorf("%s of %d clients: %v", m, len(rows), statisticErr)
				}
			}
		})
}

// fuzzRows puts texts under a path for read to read.
func fuzzRows[T any](f *testing.F, path string, rows []T, read func(t *testing.T)) {
	var good bytes.Buffer
	must.OK(f, files.WriteCSV(&good, rows))
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()/2])
	f.Add(good.Bytes()[:bytes.IndexByte(good.Bytes(), '\n')+1])
	f.Fuzz(func(t *testing.T, text []byte) {
		must.OK(t, os.WriteFile(path, text, 0o666))
		read(t)
	})
}

// Three seeds, evaluated at rounds 5, 10, 15 and 20; the model of round 0 has 10 %. By hand, in percent:
//
//	seed 3: 20 50 70 60: last 60, best 70, mean 50
//	seed 4: 30 60 50 40: last 40, best 60, mean 45
//	seed 6: 40 40 60 80: last 80, best 80, mean 55
//
// 60 % is reached in rounds 15, 10 and 15, and 70 % by seeds 3 and 6 alone, in rounds 15 and 20. Of rounds 11 to 20 the
// means are 65, 45 and 70.
func TestWords(t *testing.T) {
	runs := [][]results.CurveRow{
		accuracies(5, 0.1, 0.2, 0.5, 0.7, 0.6), accuracies(5, 0.1, 0.3, 0.6, 0.5, 0.4),
		accuracies(5, 0.1, 0.4, 0.4, 0.6, 0.8),
	}
	for _, c := range []struct {
		word      string
		window    int
		mean, std float64
	}{
		{"final", 50, 0.6, 0.2},
		{"best", 50, 0.7, 0.1},
		{"mean", 50, 0.5, 0.05},
		{"last50", 50, 0.5, 0.05}, // shorter than the window
		{"last50", 10, 0.6, math.Sqrt(0.0175)},
		{"last50", 1, 0.6, 0.2},
		{"rounds_to_60", 50, 40. / 3, 5 / math.Sqrt(3)},
	} {
		m, _ := metrics.Named(c.word)
		got, err := OverSeeds(runs, c.window, m)
		// A few roundings of numbers below 20.
		if err != nil || got.N != 3 || math.Abs(got.Mean-c.mean) > 1e-14 || math.Abs(got.Std.Value-c.std) > 1e-14 {
			t.Errorf("%s, window %d: %+v, %v, want %g ± %g of 3", c.word, c.window, got, err, c.mean, c.std)
		}
	}
	for percent, want := range map[string][]float64{
		"10": {0, 0, 0}, "60": {15, 10, 15}, "70": {15, 20}, "80.01": nil,
	} {
		m, _ := metrics.Reaching(percent)
		if got := Reached(runs, m); !slices.Equal(got, want) {
			t.Errorf("%s: reached in rounds %v, want %v", m, got, want)
		}
	}
}

func TestOverTime(t *testing.T) {
	// Rounds 1 … 4: maxima 0.5 and 0.9 (the initial model counts), means 0.35 and 0.4; the second half is rounds 3 and
	// 4: 0.4 and 0.5 have the standard deviation 0.1/√2, 0.4 and 0.4 none.
	runs := [][]results.CurveRow{
		resultstest.Accuracies(0.1, 0.2, 0.3, 0.4, 0.5),
		resultstest.Accuracies(0.9, 0.4, 0.4, 0.4, 0.4),
	}
	half := 0.1 / math.Sqrt2
	for _, c := range []struct {
		m         metrics.Metric
		mean, std float64
	}{{metrics.TestAccMax, 0.7, 0.4 / math.Sqrt2}, {metrics.TestAccMean, 0.375, 0.05 / math.Sqrt2}, {
		metrics.TestAccStd, half / 2, half / math.Sqrt2,
	}} {
		got, err := OverSeeds(runs, 50, c.m)
		// A few roundings of numbers below 1.
		if err != nil || got.N != 2 || math.Abs(got.Mean-c.mean) > 1e-15 || math.Abs(got.Std.Value-c.std) > 1e-15 {
			t.Errorf("%s: %+v, %v, want %g ± %g of 2", c.m, got, err, c.mean, c.std)
		}
	}
	for _, runs := range [][][]results.CurveRow{nil, {resultstest.Accuracies(0.1, 0.2)}} {
		if _, err := OverSeeds(runs, 50, metrics.TestAccStd); err == nil {
			t.Errorf("%d runs of at most one round: no error, want one", len(runs))
		}
	}
	if got := RunningMean(resultstest.Accuracies(0.1, 0.25, 0.75, 0.5)); got[0].TestAcc.Value != 0.1 ||
		got[1].TestAcc.Value != 0.25 || got[2].TestAcc.Value != 0.5 || got[3].TestAcc.Value != 0.5 {
		t.Errorf("running means %v, want 0.1 0.25 0.5 0.5", got)
	}
}
