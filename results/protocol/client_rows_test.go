package protocol

import (
	"math"
	"testing"

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
		// (20² − 1)/12
		metrics.ClientAccMean: 0.095, metrics.ClientAccVar: 0.003325, metrics.ClientAccStd: math.Sqrt(0.003325),
		metrics.ClientAccWorst10: 0.005, metrics.ClientAccWorst10Std: 0.005,
		metrics.ClientAccBest10: 0.185, metrics.ClientAccBest10Std: 0.005,
	} {
		if got, err := clientStatistic(rows, m); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g, %v, want %g ± 1e-12", m, got, err, want)
		}
	}
	if got, err := clientStatistic(rows[:3], metrics.ClientAccWorst10); err != nil || got != 0 {
		t.Errorf("worst tenth of three: %g, %v, want that of one, 0", got, err)
	}
	e, err := ClientsOverSeeds([][]results.ClientRow{rows[:1], rows[1:2]}, metrics.ClientAccMean) // 0 and 7 %
	if err != nil || e.N != 2 || math.Abs(e.Mean-0.035) > 1e-12 || math.Abs(e.Std.Value-0.07/math.Sqrt2) > 1e-12 {
		t.Errorf("two seeds: %+v, %v, want 0.035 ± 0.0495", e, err)
	}
	if _, err := clientStatistic(nil, metrics.ClientAccMean); err == nil {
		t.Error("no clients: no error")
	}
}
