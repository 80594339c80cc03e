package datasets

import (
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
)

// The sizes are those of FedAWE's released partition, computed with NumPy 1.24.2: numpy.random.seed(3), dirichlet(0.3)
// of ten classes for each of seven clients, and classes of 30 samples cut at round(30 · share so far).
func TestDirichletNumPy(t *testing.T) {
	labels := make([]uint8, 300)
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	parts := must.Get(cutParts(&plan.Samples{Labels: labels, Classes: 10},
		SplitOptions{Kind: SplitClients, Clients: 7, Alpha: 0.3, NumPy: numpy.New(3)}, 0))(t)
	for i, want := range [][]int{
		{11, 0, 23, 0, 0, 0, 7, 8, 0, 0},
		{0, 1, 1, 0, 1, 20, 10, 0, 1, 0},
		{6, 0, 2, 7, 0, 0, 4, 16, 9, 2},
		{4, 1, 0, 12, 25, 0, 0, 0, 0, 10},
		{9, 12, 3, 7, 3, 1, 1, 0, 3, 6},
		{0, 14, 1, 0, 0, 1, 3, 0, 17, 0},
		{0, 2, 0, 4, 1, 8, 5, 6, 0, 12},
	} {
		got := make([]int, 10)
		for _, s := range parts[i] {
			got[labels[s]]++
		}
		if !slices.Equal(got, want) {
			t.Errorf("client %d: samples of each class %v, want %v", i, got, want)
		}
	}
	// shares vanish with NumPy: an error, or what is left is cut whole
	for _, alpha := range []float64{1e-6, 1e-3, 2e-3, 5e-3} {
		parts, err := cutParts(&plan.Samples{Labels: labels, Classes: 10},
			SplitOptions{Kind: SplitClients, Clients: 7, Alpha: alpha, NumPy: numpy.New(3)}, 0)
		total := 0
		for _, part := range parts {
			total += len(part)
		}
		if err == nil && total != len(labels) || alpha == 1e-6 && err == nil {
			t.Errorf("alpha %g: %d samples, error %v, want an error or all 300", alpha, total, err)
		}
	}
}
