package protocol

import (
	"fmt"
	"math"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
)

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
	e, err := ClientsOverSeeds([][]results.ClientRow{rows[:1], rows[1:2]}, metrics.ClientAccMean) // 0 and 7 %
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
