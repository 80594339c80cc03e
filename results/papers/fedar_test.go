package papers

import (
	"math"
	"slices"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
)

// Counts are per seed, and the density's integral is 1 (less what is beyond 0 and 1): the middle rule over 25 bins of
// 0.04, to 1 %.
func TestFedARDistribution(t *testing.T) {
	seed := func(from float64) (rows []results.ClientRow) {
		for i := range 100 {
			rows = append(rows, results.ClientRow{Client: i, Accuracy: from + 0.2*float64(i)/99})
		}
		return rows
	}
	rows, err := fedarDistributionRows(Measured{Lines: []Line{{
		Training{Method: "fedar"},
		Runs{Clients: [][]results.ClientRow{seed(0.3), seed(0.4)}},
	}}})
	if err != nil || len(rows) != fedarBins {
		t.Fatalf("%d rows, %v, want %d", len(rows), err, fedarBins)
	}
	clients, mass := 0.0, 0.0
	for _, r := range rows {
		clients, mass = clients+r.Clients, mass+r.Density*(r.High-r.Low)
	}
	if math.Abs(clients-100) > 1e-9 || math.Abs(mass-1) > 0.01 {
		t.Errorf("%g clients of density %g in all, want 100 and 1", clients, mass)
	}
	if _, err := fedarDistributionRows(Measured{Lines: []Line{{Training: Training{Method: "fedar"}}}}); err == nil {
		t.Error("no clients: no error")
	}
}

func TestFedARShapleyRows(t *testing.T) {
	rows, err := fedarShapleyRows(Measured{Coalitions: []Coalition{
		{3, 6, []float64{0.1, 0.2, 0.3, 0.5}}, // φ = (0.15, 0.25)
		{0, 1, []float64{0.3, 0.2, 0.4, 0.3}},
	}})
	if err != nil || len(rows) != 4 {
		t.Fatal(rows, err)
	}
	for i, want := range []float64{0.15, 0.25} {
		if r := rows[i]; math.Abs(r.Shapley-want) > 1e-12 || math.Abs(r.Share.Value-want/0.4) > 1e-12 || r.Stale != 3 ||
			r.Seed != 6 || r.Client != i || r.Without != 0.1 || r.With != 0.5 {
			t.Errorf("%+v, want Shapley value %g of 0.4", r, want)
		}
	}
	if rows[2].Share.Valid {
		t.Errorf("nothing gained: %+v, want no share", rows[2])
	}
}

// Means over the last rounds and the seeds, the loss before the accuracy; and the curves of both.
func TestFedARRows(t *testing.T) {
	curve := func(base float64) (rows []results.CurveRow) {
		for round := range 4 {
			v := base + float64(round)
			rows = append(rows, results.CurveRow{Round: round, TrainLoss: files.Some(v), TestAcc: files.Some(v / 100)})
		}
		return rows
	}
	m := Measured{Figure: Figure{Axis: "p_min"}, Lines: []Line{{
		Training{Method: "fedar", Column: Column{Data: "cifar10", Set: "p-min=0.5"}, X: 0.5},
		Runs{Curves: [][]results.CurveRow{curve(1), curve(3)}},
	}}}
	final, err := fedarFinalRows(m)
	if err != nil || len(final) != 2 || final[0].What != "train_loss" || final[0].Mean != 4 ||
		final[1].What != "test_acc" || math.Abs(final[1].Mean-0.04) > 1e-12 || final[0].N != 2 || final[0].Round != 3 ||
		final[0].X != 0.5 {
		t.Errorf("%+v, %v, want loss 4 and accuracy 0.04 of two seeds", final, err)
	}
	rows, err := fedarCurveRows(m)
	if err != nil || len(rows) != 4 || rows[2].TrainLoss != 4 ||
		math.Abs(rows[2].TestAcc-0.04) > 1e-12 || rows[2].Set != "p-min=0.5" || rows[2].N != 2 {
		t.Errorf("%+v, %v, want round 2 at loss 4 and accuracy 0.04", rows, err)
	}
	figure := fedarCurveFigure("x", rows)
	if len(figure.Panels) != 1 || len(figure.Panels[0]) != 2 {
		t.Errorf("%d rows of panels, want loss and accuracy beside each other", len(figure.Panels))
	}
}

// Holm's correction over a whole table, by hand: of the p_seeds 0.01, 0.04, 0.03 and 0.005 in two columns, see the test
// of [stats.Holm]. A missing p-value, those by rounds, and a method that the table does not have are not in the family.
func TestCorrect(t *testing.T) {
	var rows []results.SummaryRow
	for i, c := range []struct {
		method, params string
		p              files.Optional
	}{
		{"fedar", "", files.Optional{}},
		{"mifa", "", files.Some(0.01)},
		{"scaffold", "", files.Some(0.04)},
		{"fedau", "", files.Some(0.001)}, // of --also
		{"mifa", "p-min=0.5", files.Some(0.03)},
		{"fedvarp", "p-min=0.5", files.Optional{}}, // one seed
		{"scaffold", "p-min=0.5", files.Some(0.005)},
	} {
		for _, m := range []metrics.Metric{metrics.PRounds, metrics.PSeeds, metrics.PHolm} {
			r := results.SummaryRow{
				Setup:  results.Setup{Table: "fedar-2", Method: c.method},
				Params: results.Params(c.params), Metric: m, N: 3,
			}
			switch m {
			case metrics.PRounds:
				r.Mean = files.Some(float64(i) / 100)
			case metrics.PSeeds:
				r.Mean = c.p
			}
			rows = append(rows, r)
		}
	}
	before := slices.Clone(rows)
	fedar2.Correct(rows)
	want := []files.Optional{
		{}, files.Some(0.03), files.Some(0.06), {}, files.Some(0.06), {}, files.Some(0.02),
	}
	for i, r := range rows {
		if r.Metric != metrics.PHolm {
			if r != before[i] {
				t.Errorf("%s of %s %s: changed to %+v", r.Metric, r.Method, r.Params, r)
			}
			continue
		}
		if w := want[i/3]; r.Mean.Valid != w.Valid || math.Abs(r.Mean.Value-w.Value) > 1e-15 {
			t.Errorf("%s %s: %v, want %v", r.Method, r.Params, r.Mean, w)
		}
	}
}

// The summary of runs has the corrected p-values: here of two baselines, so that the smaller p_seeds is doubled.
func TestSummariseCorrects(t *testing.T) {
	table := must.Get(TableByID("fedar-2"))(t)
	var runs []results.Run
	for method, acc := range map[string][]float64{
		"fedar": {0.5, 0.6, 0.55}, "mifa": {0.4, 0.52, 0.43}, "scaffold": {0.45, 0.61, 0.5},
	} {
		for i, x := range acc {
			r := results.Run{
				Setup: results.Setup{Table: "fedar-2", Method: method, Preset: "paper", Data: "cifar10"},
				Seed:  uint32(i),
				Info:  &results.RunInfo{Status: results.RunComplete, Rounds: 1, Seed: uint32(i)},
			}
			for round := range 2 {
				r.Curve = append(r.Curve, results.CurveRow{
					Setup: r.Setup, Seed: r.Seed, Round: round, TestAcc: files.Some(x), TrainAcc: files.Some(x),
				})
			}
			runs = append(runs, r)
		}
	}
	p := map[string]files.Optional{}
	for _, r := range table.Summarise(runs, false) {
		p[r.Method+" "+string(r.Metric)] = r.Mean
	}
	small, large := p["mifa p_seeds"], p["scaffold p_seeds"]
	if !small.Valid || !large.Valid || small.Value >= large.Value {
		t.Fatalf("p-values %v, want a smaller one of mifa", p)
	}
	if p["mifa p_holm"] != files.Some(2*small.Value) || p["scaffold p_holm"].Value != max(2*small.Value, large.Value) ||
		p["fedar p_holm"].Valid {
		t.Errorf("p-values %v, want mifa's doubled, scaffold's at least as large, and none of fedar", p)
	}
}
