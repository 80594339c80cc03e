package papers

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/plot"
	"rollcall/results/protocol"
	"rollcall/results/resultstest"
)

func TestImportance(t *testing.T) {
	weights, shares := protocol.Importance(resultstest.Decisions())
	if weights[0] != 0.75 || weights[1] != 1 || math.Abs(shares[0]-3./7) > 1e-15 || math.Abs(shares[1]-4./7) > 1e-15 {
		t.Errorf("weights %v, shares %v, want 0.75 1 and 3/7 4/7", weights, shares)
	}
	rows := must.Get(CAFedImportanceRows("ca-fed", [][]results.DecisionRow{
		resultstest.Decisions(),
		resultstest.Decisions(),
	}))(t)
	// Client 1 is the more available one and stands first; it was taken in one of two rounds.
	if a, b := rows[0], rows[1]; a.Group != lessCorrelated || a.Place != 1 || a.Taken != 1 ||
		b.Group != moreAvailable || b.Place != 0 || b.Taken != 0.5 || b.N != 2 || b.Rounds != 2 {
		t.Errorf("rows %+v", rows)
	}
	runs := [][]results.DecisionRow{resultstest.Decisions(), resultstest.Decisions()}
	groups := must.Get(CAFedGroupRows("ca-fed", runs))(t)
	for i, want := range []CAFedGroupRow{
		{"ca-fed", moreAvailable, 1, 2, 1, files.Some(0), 0.75},
		{"ca-fed", lessWeakly, 0, 2, 0, files.Some(0), 0},
		{"ca-fed", lessCorrelated, 1, 2, 0.75, files.Some(0), 0.25},
	} {
		if groups[i] != want {
			t.Errorf("group %+v, want %+v", groups[i], want)
		}
	}
	if _, err := CAFedGroupRows("ca-fed", [][]results.DecisionRow{nil}); err == nil {
		t.Error("no decisions: no error")
	}
	path := filepath.Join(t.TempDir(), results.DecisionsFile)
	must.OK(t, files.WriteCSVFile(path, resultstest.Decisions()))
	if back, err := results.ReadDecisions(path); err != nil || len(back) != 4 || back[3] != resultstest.Decisions()[3] {
		t.Errorf("read back: %v, %v", back, err)
	}
	must.OK(t, files.WriteCSVFile(path, resultstest.Decisions()[1:]))
	if _, err := results.ReadDecisions(path); err == nil || !strings.Contains(err.Error(), "row 1: round 1 client 1") {
		t.Errorf("a row missing: %v, want row 1 named", err)
	}
}

func TestCAFedSeries(t *testing.T) {
	run := func(series string, curves ...[]results.CurveRow) Line {
		for _, r := range overKappa(ton("leaf")) {
			if r.Series == series {
				return Line{r, Runs{Curves: curves}}
			}
		}
		t.Fatalf("no run %q in figure 2", series)
		return Line{}
	}
	small := run("ca-fed κ̄²=0.1", resultstest.Accuracies(0.1, 0.6, 0.6), resultstest.Accuracies(0.1, 0.4, 0.6))
	large := run("ca-fed κ̄²=100", resultstest.Accuracies(0.1, 0.3, 0.75), resultstest.Accuracies(0.1, 0.3, 0.65))
	other := run("unbiased", resultstest.Accuracies(0.1, 0.2, 0.9), resultstest.Accuracies(0.1, 0.3, 0.9))
	rows, err := cafedBestRows(Measured{Lines: []Line{other, small, large}})
	if err != nil || len(rows) != 2 || rows[0].Kappa != 0.1 || rows[1].Kappa != 100 ||
		rows[1].RunnerUp != small.Series {
		t.Errorf("best %+v, %v, want κ̄² 0.1 after round 1 and 100 after round 2", rows, err)
	}
	if _, err := cafedBestRows(Measured{Lines: []Line{other, small}}); err == nil {
		t.Error("best of one: no error")
	}
	final, err := finalRows(Measured{Figure: Figure{Axis: "γ = δ"}, Lines: []Line{small}})
	if err != nil || len(final) != 1 || final[0].Mean != 0.6 || final[0].Round != 2 || final[0].N != 2 ||
		final[0].Std != files.Some(0) {
		t.Errorf("final %+v, %v, want 0.6 ± 0 after round 2", final, err)
	}
	for _, f := range []plot.Figure{
		cafedBestFigure("best", rows), sweepFigure(map[string]string{"test_acc": "accuracy"})("sweep", final),
		CAFedActivityFigure("activity", CAFedActivityRows(resultstest.Decisions())),
	} {
		if text := filestest.SVG(t, f); !strings.Contains(text, f.Title) {
			t.Errorf("%s: no title in the drawing", f.Title)
		}
	}
	activity := CAFedActivityFigure("activity", CAFedActivityRows(resultstest.Decisions()))
	if text := filestest.SVG(t, activity); strings.Count(text, "#D55E00") != 1 {
		t.Errorf("%d red bars, want one: client 1 in round 1", strings.Count(text, "#D55E00"))
	}
	out := leftOut(resultstest.Decisions(), 2)
	if len(out) != 2 || out[0][0]+out[1][0] != 0 || out[0][1]+out[1][1] != 1 {
		t.Errorf("left out %v, want client 1 in one of two rounds", out)
	}
}

// ToN, section V-B: +1.56 percentage points of CA-Fed over AdaFed; ours is the mean over the seeds of the difference of
// the same seed.
func TestPrintedLeads(t *testing.T) {
	at := func(series string, x float64, curves ...[]results.CurveRow) Line {
		return Line{Training{Column: Column{Data: "leaf"}, Series: series, X: x}, Runs{Curves: curves}}
	}
	runs := []Line{
		at("adafed", 0, resultstest.Accuracies(0.1, 0.5), resultstest.Accuracies(0.1, 0.6)),
		at("ca-fed", 0, resultstest.Accuracies(0.1, 0.53), resultstest.Accuracies(0.1, 0.61)),
	}
	said := func(f Figure, lines ...Line) ([]Claim, string) {
		d := must.Get(saying([]Figure{f})[0].Draw(Measured{Figure: f, Lines: lines}))(t)
		return slices.DeleteFunc(d.Says, func(c Claim) bool { return !c.IsNumber() }), d.Words
	}
	rows, _ := said(cafedF1a, runs...)
	// Roundings of differences of numbers below 1, times 100. Half of the printed lead is the margin.
	if len(rows) != 1 || rows[0].Printed != files.Some(1.56) || math.Abs(rows[0].Difference.Value-0.44) > 1e-12 ||
		rows[0].Margin != files.Some(0.78) || rows[0].N != 2 ||
		rows[0].Ours != "+2.00 ± 1.41 (2 seeds) after round 1" ||
		rows[0].Verdict != judge.Untold {
		t.Errorf("leads %+v, want 2 ± 1.41 of 2 after round 1 beside 1.56", rows)
	}
	if rows, _ := said(cafedF1a, runs[0]); len(rows) != 1 || rows[0].Difference.Valid || rows[0].Answer() != "not run" {
		t.Errorf("leads %+v, want one without ours", rows)
	}
	// Of several the best one counts, at the place that the paper says.
	one := func(series string, x, accuracy float64) Line {
		return at(series, x, resultstest.Accuracies(0, accuracy))
	}
	rows, words := said(cafedF3, one("unbiased", 0.5, 0.5), one(kappa("1"), 0.5, 0.52), one(kappa("10"), 0.5, 0.54),
		one(kappa("10"), 0.25, 0.9))
	if len(rows) != 3 || rows[0].Difference.Valid || math.Abs(rows[1].Difference.Value-2.8) > 1e-12 ||
		rows[1].Low.Valid {
		t.Errorf("leads %+v, want 4 of κ̄² = 10 at 0.5 and none at 0.25", rows)
	}
	want := "paper: leaf at 0.5: ca-fed κ̄²=1 or ca-fed κ̄²=10 over unbiased by +1.20 points; " +
		"ours: ca-fed κ̄²=10 +4.00 (1 seed) after round 1: cannot be told\n"
	if !strings.Contains(words, want) {
		t.Errorf("words %q, want %q in them", words, want)
	}
}

// A round of FedAvg is affine in each dimension, so that after t rounds the model is limit + αᵗ (start − limit), where
// α is 1 minus the mean share of the way: the paths are those, end in the limits, and more missing clients lead farther
// away.
func TestQuadraticPaths(t *testing.T) {
	rows := quadraticRows()
	if len(rows) != 4*41 {
		t.Fatalf("%d rows, want four paths of 40 rounds with their starts", len(rows))
	}
	before := 0.0
	for _, r := range rows {
		there := quadraticClients[r.Missing:]
		var want [2]float64
		for d, limit := range [2]float64{r.LimitX, r.LimitY} {
			alpha := 0.0
			for _, k := range there {
				alpha += math.Pow(1-0.05*k.h[d], 5) / float64(len(there))
			}
			want[d] = limit + math.Pow(alpha, float64(r.Round))*([2]float64{-4, 4}[d]-limit)
		}
		if math.Abs(r.X-want[0]) > 1e-12 || math.Abs(r.Y-want[1]) > 1e-12 { // some hundred roundings below 1e-15
			t.Errorf("%d missing, round %d: (%g, %g), want %v", r.Missing, r.Round, r.X, r.Y, want)
		}
		if d := math.Hypot(r.X-7./6, r.Y-0.5); math.Abs(r.Distance-d) > 1e-12 {
			t.Errorf("%d missing, round %d: distance %g, want %g", r.Missing, r.Round, r.Distance, d)
		}
		if r.Round == 40 {
			// α is at most 0.774, and 0.774⁴⁰ · 7 = 2.5e-4.
			if math.Hypot(r.X-r.LimitX, r.Y-r.LimitY) > 2.5e-4 || r.LimitDistance <= before {
				t.Errorf("%+v: want the limit reached, more than %g from the optimum", r, before)
			}
			before = r.LimitDistance
		}
	}
}

// On each level set the mean loss is 1, 2, 4 or 8 above its minimum, and the words have every limit.
func TestQuadraticFigure(t *testing.T) {
	rows := quadraticRows()
	f := quadraticFigure("x", rows)
	if len(f.Panels) != 2 || len(f.Panels[0]) != 2 || len(f.Names()) != 5 {
		t.Fatalf("%d rows of panels, names %v, want two and five", len(f.Panels), f.Names())
	}
	loss := func(clients []quadratic, w [2]float64) (sum float64) {
		for _, k := range clients {
			for d := range w {
				sum += k.h[d] * (w[d] - k.u[d]) * (w[d] - k.u[d]) / 2 / float64(len(clients))
			}
		}
		return sum
	}
	for missing := range 4 {
		chart := f.Panels[missing/2][missing%2].(plot.LineChart)
		for name, clients := range map[int][]quadratic{0: quadraticClients, 2: quadraticClients[missing:]} {
			s, lowest := chart.Series[name], loss(clients, optimumOf(clients))
			for i := range s.X {
				if math.IsNaN(s.X[i]) {
					continue
				}
				want := []float64{1, 2, 4, 8}[i/74]
				if got := loss(clients, [2]float64{s.X[i], s.Y[i]}) - lowest; math.Abs(got-want) > 1e-12*100 {
					t.Errorf("%d missing, %s: %g above the minimum, want %g", missing, s.Name, got, want)
				}
			}
		}
	}
	words := quadraticWords(rows)
	if strings.Count(words, "\n") != 4 ||
		!strings.Contains(words, "3 of 4 missing: FedAvg ends at (3.00, 3.00), 3.10 ") {
		t.Errorf("words %q, want four lines", words) // √((11/6)² + 2.5²) = 3.10
	}
}
