package papers

import (
	"math"
	"math/rand/v2"
	"testing"

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

func TestFedAWEF2Rows(t *testing.T) {
	rows := fedaweF2Rows()
	if len(rows) != 400 || rows[0] != (fedaweF2Row{0.05, 0.05, 50, 0}) ||
		rows[19] != (fedaweF2Row{0.05, 1, 97.5, 47.5}) {
		t.Errorf("%d rows, %v to %v, want 400, of p 0.05, 0.05 and 0.05, 1 at 50 and 97.5, 0 and 47.5 from 50",
			len(rows), rows[0], rows[19])
	}
}

// The map has the distances of the rows at their places: 0 where the clients are alike, 47.5 where they are most
// unlike, the same on both sides.
func TestFedAWEF2Figure(t *testing.T) {
	chart := fedaweF2Figure(fedaweF2Rows()).Panels[0][0].(plot.HeatMap)
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
	if math.Abs(chart.Z[0][19]-47.5) > 1e-12 || math.Abs(chart.Z[19][0]-47.5) > 1e-12 {
		t.Errorf("corners %g and %g, want 47.5", chart.Z[0][19], chart.Z[19][0])
	}
}
