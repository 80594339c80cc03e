package availability

import "slices"

// Without returns a model in which the clients [N] for which never is true are never active, whatever m says of them:
// they have p_i^t = 0 and π_i = 0. The other clients are as in m. It returns m itself if never is true for nobody.
func Without(m Model, never []bool) Model {
	if !slices.Contains(never, true) {
		return m
	}
	return &without{m, never}
}

type without struct {
	Model
	never []bool
}

func (w *without) Probabilities(t int, p []float64) {
	w.Model.Probabilities(t, p)
	for i := range p {
		if w.never[i] {
			p[i] = 0
		}
	}
}

func (w *without) Active(t int) []int {
	return slices.DeleteFunc(slices.Clone(w.Model.Active(t)), func(i int) bool { return w.never[i] })
}

func (w *without) Stationary() (pi, lambda []float64) {
	pi, lambda = w.Model.Stationary()
	for i := range pi {
		if w.never[i] {
			pi[i], lambda[i] = 0, 0
		}
	}
	return pi, lambda
}
