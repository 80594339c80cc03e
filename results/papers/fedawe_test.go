package papers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/plot"
)

// FedAWE, Example 1: worked out by hand.
func TestTwoClientLimit(t *testing.T) {
	for _, test := range []struct{ p1, p2, want float64 }{
		{1, 1, 50},
		{0.3, 0.3, 50}, // equals are not biased
		{1, 0, 0},      // one client alone goes to its own optimum
		{0, 0.2, 100},
		{1, 0.5, 25},                // weights 1·¾ and ½·½
		{0.5, 0.1, 100.0 * 3 / 22},  // weights ½·0.95 = 0.475 and 0.1·¾ = 0.075
		{0.2, 0.8, 100.0 * 72 / 84}, // weights 0.2·0.6 = 0.12 and 0.8·0.9 = 0.72
	} {
		// The tolerance is a few roundings of numbers up to 100.
		if got := twoClientLimit(test.p1, test.p2); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("p %g, %g: got %.15g, want %.15g", test.p1, test.p2, got, test.want)
		}
	}
	if got := twoClientLimit(0, 0); !math.IsNaN(got) {
		t.Errorf("nobody ever there: got %g, want NaN", got)
	}
}

// FedAvg itself, with the paper's objective, ends there on average, whatever the step size and the number of local
// steps.
func TestTwoClientLimitSimulated(t *testing.T) {
	targets := [2]float64{0, 100}
	for _, test := range []struct {
		p1, p2, lr float64
		local      int
	}{
		{0.9, 0.1, 0.02, 1}, {0.2, 0.8, 0.05, 5}, {0.5, 0.5, 0.1, 2}, {0.1, 0.3, 0.02, 10},
	} {
		r := rand.New(rand.NewPCG(7, 11))
		const rounds, settle = 400000, 20000
		x, sum := 50.0, 0.0
		for round := range rounds {
			mean, active := 0.0, 0.0
			for i, p := range []float64{test.p1, test.p2} {
				if r.Float64() >= p {
					continue
				}
				local := x
				for range test.local {
					local -= test.lr * (local - targets[i])
				}
				mean, active = mean+local, active+1
			}
			if active > 0 {
				x = mean / active
			}
			if round >= settle {
				sum += x
			}
		}
		got, want := sum/(rounds-settle), twoClientLimit(test.p1, test.p2)
		// Per round a drift is at most 100a and its noise has a memory of 1/(a·P(any active)) rounds; over 380 000
		// rounds the time average has a standard error of at most 50·√(2/(380000·0.19)) = 0.26 for any a. The tolerance
		// is four of these.
		if math.Abs(got-want) > 1.05 {
			t.Errorf("p %g, %g, lr %g, %d steps: time average %.3f, want %.3f ± 1.05",
				test.p1, test.p2, test.lr, test.local, got, want)
		}
	}
}

// The map has the distances of the rows at their places: 0 where the clients are alike, 47.5 where they are most
// unlike, the same on both sides.
func TestFedAWEF2Figure(t *testing.T) {
	rows := fedaweF2Rows()
	if want := (fedaweF2Row{0.05, 1, 97.5, 47.5}); rows[19] != want {
		t.Errorf("row 19: %v, want %v", rows[19], want)
	}
	chart := fedaweF2Figure(rows).Panels[0][0].(plot.HeatMap)
	if len(chart.X) != 20 || len(chart.Y) != 20 || chart.X[0] != 0.05 || chart.Y[19] != 1 {
		t.Fatalf("columns %v, rows %v, want 0.05 … 1", chart.X, chart.Y)
	}
	for i := range chart.X {
		for j := range chart.Y {
			want := math.Abs(twoClientLimit(chart.X[i], chart.Y[j]) - 50)
			// A few roundings of numbers up to 100.
			if z := chart.Z[i][j]; z != want || math.Abs(z-chart.Z[j][i]) > 1e-12 || i == j && z > 1e-12 {
				t.Errorf("p %g, %g: distance %g, want %g", chart.X[i], chart.Y[j], z, want)
			}
		}
	}
}

// Shares are of the client's own images, and a client without images has none.
func TestFedAWEF4(t *testing.T) {
	counts := [][]int{{5, 0, 15}, {0, 0, 0}, {2, 3, 5}}
	rows := fedaweF4Rows(counts)
	want := []fedaweF4Row{
		{0, 0, 0.25, 5},
		{0, 1, 0, 0},
		{0, 2, 0.75, 15},
		{1, 0, 0, 0},
		{1, 1, 0, 0},
		{1, 2, 0, 0},
		{2, 0, 0.2, 2},
		{2, 1, 0.3, 3},
		{2, 2, 0.5, 5},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	chart := fedaweF4Figure(counts).Panels[0][0].(plot.Bubbles)
	for k, r := range rows {
		if r != want[k] || chart.Shares[r.Client][r.Class] != r.Share { // one division: exact
			t.Errorf("row %d: %+v, drawn %g, want %+v", k, r, chart.Shares[r.Client][r.Class], want[k])
		}
	}
}

// FedAWE, Figure 6: a client's activity is what was given, and its last round is as wide as the others.
func TestFedAWEF6Figure(t *testing.T) {
	var rows []FedAWEF6Row
	for round, on := range []int{1, 0, 0, 1, 1} {
		rows = append(rows, FedAWEF6Row{"sine", 0.5, round, 0.1 * float64(round), on})
	}
	f := FedAWEF6Figure(rows)
	path, activity := f.Panels[0][0].(plot.LineChart).Series[0], f.Panels[0][1].(plot.Raster).Rows[0]
	if !slices.Equal(path.X, []float64{0, 1, 2, 3, 4, 5}) || !path.Step || !filestest.Near(path.Y[5], 0.4) {
		t.Errorf("trajectory: got %+v, want steps to the end of round 4", path)
	}
	if !slices.Equal(activity.On, []bool{true, false, false, true, true}) || activity.Name != "0.5" {
		t.Errorf("activity: got %+v, want rounds 0, 3 and 4", activity)
	}
	// Round 0 and rounds 3 and 4 are two bars.
	if got := strings.Count(filestest.SVG(t, f), "fill:#0072B2"); got != 2 {
		t.Errorf("bars: got %d, want 2", got)
	}
}

// run is one seed of a method on SVHN under sine: a loss and an accuracy every so many rounds.
func run(method string, every int, loss, acc []float64) []results.CurveRow {
	var rows []results.CurveRow
	for i := range loss {
		rows = append(rows, results.CurveRow{
			Setup: results.Setup{Method: method, Data: "svhn", Availability: "sine"}, Round: i * every,
			TrainLoss: files.Some(loss[i]), TrainAcc: files.Some(acc[i] + 0.1), TestAcc: files.Some(acc[i]),
		})
	}
	return rows
}

// ofF7 measures Figure 7: lines under sine of SVHN, of one method each.
func ofF7(beta float64, asCoded bool, lines ...[][]results.CurveRow) Measured {
	m := Measured{Figure: fedaweF7, Options: map[string]any{"ema": beta, "loss-as-coded": asCoded}}
	for _, curves := range lines {
		column := Column{Data: "svhn", Availability: "sine"}
		m.Lines = append(m.Lines, Line{Training{Method: curves[0][0].Method, Column: column}, Runs{Curves: curves}})
	}
	return m
}

func TestFedAWEF7Rows(t *testing.T) {
	rows, err := fedaweF7Rows(ofF7(0.5, true, [][]results.CurveRow{
		run("mifa", 2, []float64{2, 1, 0.5}, []float64{0.1, 0.2, 0.3}),
		run("mifa", 2, []float64{4, 3}, []float64{0.3, 0.4}), // a shorter seed
	}, [][]results.CurveRow{run("fedawe", 2, []float64{8, 0, 4}, []float64{0.8, 0, 0.4})}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		method          string
		round, n        int
		loss, acc, beta float64
		lossStd         files.Optional
	}{
		{"mifa", 0, 2, 3.0 / 256, 0.2, 0, files.Some(math.Sqrt2 / 256)},
		{"mifa", 2, 2, 2.0 / 256, 0.3, 0, files.Some(math.Sqrt2 / 256)},
		{"fedawe", 0, 1, 8.0 / 256, 0.8, 0.5, files.Optional{}},
		{"fedawe", 2, 1, 4.0 / 256, 0.4, 0.5, files.Optional{}},
		{"fedawe", 4, 1, 4.0 / 256, 0.4, 0.5, files.Optional{}},
	} {
		if i >= len(rows) {
			t.Fatalf("%d rows, want 5", len(rows))
		}
		r := rows[i]
		if r.Method != want.method || r.Data != "svhn" || r.Availability != "sine" || r.Round != want.round ||
			r.N != want.n || !filestest.Near(r.TrainLoss, want.loss) ||
			!filestest.Near(r.TestAcc, want.acc) || !filestest.Near(r.Beta, want.beta) ||
			!filestest.SameOptional(r.TrainLossStd, want.lossStd) || !r.LossAsCoded {
			t.Errorf("row %d: got %+v, want %+v", i, r, want)
		}
	}
	if len(rows) != 5 {
		t.Errorf("%d rows, want 5: round 4 of mifa is in one seed alone", len(rows))
	}
}

// FedAWE, Figure 7: what is smoothed is a stretch of rounds, so that curves evaluated more rarely look the same.
func TestFedAWEF7Smoothing(t *testing.T) {
	const last = 400
	steps := func(every int) []results.CurveRow { // 0 in round 0, then 1: the average is 1 − β^(round/2)
		x := make([]float64, last/every+1)
		for i := range x[1:] {
			x[i+1] = 1
		}
		return run("fedawe", every, x, x)
	}
	for _, every := range []int{1, 2, 10, 50} {
		rows := must.Get(fedaweF7Rows(ofF7(0.99, false, [][]results.CurveRow{steps(every)})))(t)
		for _, r := range rows {
			want := 1 - math.Pow(0.99, float64(r.Round)/2)
			// The tolerance is that of up to 400 roundings, each of a share of 1.
			if math.Abs(r.TestAcc-want) > 1e-13 || math.Abs(r.TrainLoss-want) > 1e-13 {
				t.Errorf("every %d, round %d: got %v and %v, want %v", every, r.Round, r.TrainLoss, r.TestAcc, want)
			}
		}
	}
}

// The curves given are not changed, and a row without a value is passed over.
func TestFedAWEF7Gap(t *testing.T) {
	curve := run("fedawe", 2, []float64{1, 9, 0}, []float64{1, 9, 0})
	curve[1].TrainLoss = files.Optional{}
	before := slices.Clone(curve)
	rows := must.Get(fedaweF7Rows(ofF7(0.5, false, [][]results.CurveRow{curve})))(t)
	// Loss: 1, none, then two intervals later 0.25·1; accuracy: 1, 5, 2.5. Round 2 has no loss, so no row.
	if len(rows) != 2 || rows[1].Round != 4 || !filestest.Near(rows[1].TrainLoss, 0.25) ||
		!filestest.Near(rows[1].TestAcc, 2.5) {
		t.Errorf("got %+v, want rounds 0 and 4, the latter 0.25 and 2.5", rows)
	}
	if !slices.Equal(before, curve) {
		t.Errorf("the curve was changed to %+v", curve)
	}
}

func TestFedAWEF7Refuses(t *testing.T) {
	for _, beta := range []float64{1.01, math.NaN()} {
		if err := fedaweF7.Options[0].Check(beta); err == nil || err.Error() != "want 0 … 1" {
			t.Errorf("beta %g: got %v, want 0 … 1", beta, err)
		}
	}
}

func TestFedAWEF7Figure(t *testing.T) {
	rows := must.Get(fedaweF7Rows(ofF7(0.99, true,
		[][]results.CurveRow{run("mifa", 2, []float64{2, 1}, []float64{0.1, 0.2})},
		[][]results.CurveRow{run("fedawe", 2, []float64{2, 1}, []float64{0.1, 0.2})})))(t)
	f := fedaweF7Figure("", rows)
	if len(f.Panels) != 1 || len(f.Panels[0]) != 2 {
		t.Fatalf("got %d rows of panels, want one of two", len(f.Panels))
	}
	loss, acc := f.Panels[0][0].(plot.LineChart), f.Panels[0][1].(plot.LineChart)
	if !loss.LogY || acc.LogY || !strings.HasSuffix(loss.YLabel, "/ 256") ||
		loss.Series[1].Name != "fedawe (moving average, β = 0.99)" || loss.Series[0].Name != "mifa" {
		t.Errorf("got %+v, want losses on a logarithmic axis, divided by 256, FedAWE named as smoothed", loss)
	}
	if !filestest.Near(acc.Series[0].Y[1], 20) {
		t.Errorf("accuracy: got %v, want 20 %%", acc.Series[0].Y[1])
	}
}

// ofF3 is a line of Figure 3.
func ofF3(p, gamma string, curves ...[]results.CurveRow) Line {
	return Line{Training{Column: Column{Set: results.NewParams("p="+p, "gamma="+gamma)}}, Runs{Curves: curves}}
}

func TestFedAWEF3(t *testing.T) {
	rows := must.Get(fedaweF3Rows(Measured{Lines: []Line{
		ofF3("0.1", "0.3", [][]results.CurveRow{
			run("fedavg-active", 10, []float64{1, 1}, []float64{0.1, 0.2}),
			run("fedavg-active", 10, []float64{1, 1}, []float64{0.3, 0.4}),
		}...),
		ofF3("1", "0.3", [][]results.CurveRow{run("fedavg-active", 10, []float64{1}, []float64{0.5})}...),
	}}))(t)
	if len(rows) != 3 || rows[1].Round != 10 || rows[1].N != 2 || !filestest.Near(rows[1].TestAcc, 0.3) ||
		!filestest.Near(rows[1].TrainAcc, 0.4) ||
		!filestest.SameOptional(rows[1].TestAccStd, files.Some(math.Sqrt(0.02))) || rows[2].TestAccStd.Valid {
		t.Errorf("got %+v, want two rows over two seeds and one of one", rows)
	}
	f := fedaweF3Figure("", rows)
	if len(f.Panels) != 2 || f.Panels[0][0].(plot.LineChart).XLabel != "" ||
		f.Panels[1][0].(plot.LineChart).XLabel != "round" {
		t.Errorf("got %+v, want a row for each p, rounds below the last", f.Panels)
	}
	first, last := f.Panels[0][0].(plot.LineChart), f.Panels[1][1].(plot.LineChart)
	if first.YMin != last.YMin || first.YMax != last.YMax {
		t.Errorf("axes: got %v … %v and %v … %v, want the same", first.YMin, first.YMax, last.YMin, last.YMax)
	}
}
