package algos

import (
	"fmt"
	"math"
	"testing"

	"rollcall/internal/must"
)

// The local models are x_i of Algorithm 1: who was away keeps the old model, and their mean is what is evaluated.
func TestFedAWELocalModels(t *testing.T) {
	f, e := toyFederation(8, 16, -8, 2)
	m := start(t, "fedawe", f, withValues(Paper, "fedawe-clip", "none"))
	for i, c := range []struct {
		active []int
		want   string
	}{
		{nil, "[[0 1 2 3]]"},
		{[]int{1, 3}, "[[0 2] [1 3]]"},
		{[]int{3}, "[[0 2] [1] [3]]"},
		{[]int{0, 1}, "[[0 1] [2] [3]]"},
		{[]int{0, 1, 2, 3}, "[[0 1 2 3]]"},
	} {
		must.Get(m.Round(t.Context(), at(i, f, 1, c.active...)))(t)
		rows, of := LocalModels(m)
		if got := fmt.Sprint(of); got != c.want {
			t.Errorf("round %d, active %v: models of %v, want %v", i, c.active, got, c.want)
		}
		mean := 0.0
		for j, row := range rows {
			mean += float64(len(of[j])) / 4 * float64(e.at(row)[0]) / 3 // in units of (3, 4)
		}
		if got := model(t, m, f); !near(got, mean, 1e-5*(1+math.Abs(mean))) { // float32 sums of four terms
			t.Errorf("round %d: model %v, want %v, the mean of the local models", i, got, scaled(mean))
		}
	}
}
