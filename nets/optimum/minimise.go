package optimum

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// tolerance is the largest Euclidean norm of a solution's gradient. Its objective is then at most tolerance²/(2·ridge)
// above the smallest, by the curvature that the ridge gives: 5·10⁻¹¹ with a ridge of 10⁻². With free biases that is an
// estimate.
const tolerance = 1e-6

// maxEvaluations is where a search is given up; ridges of 10⁻² take some hundred.
const maxEvaluations = 20_000

// minimise leaves the objective where it is smallest: it searches with L-BFGS in float64, from w = 0. The result does
// not depend on the number of threads. A search that does not reach the tolerance is an error.
func (o *objective) minimise(ctx context.Context) error {
	x := make([]float64, o.size())
	problem := optimize.Problem{
		Func: func(w []float64) float64 { return o.at(w).value },
		Grad: func(grad, w []float64) { copy(grad, o.at(w).gradient) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	var failure error
	slope := math.Inf(1)
	// A line search that cannot get any lower ends L-BFGS; from there it may go on with its memory cleared.
	for o.evaluations < maxEvaluations {
		r, err := optimize.Minimize(problem, x, &optimize.Settings{
			Converger: flat(tolerance), FuncEvaluations: maxEvaluations, GradEvaluations: maxEvaluations,
		}, &optimize.LBFGS{Store: 20})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failure = err
		if r == nil {
			break
		}
		copy(x, r.X)
		before := slope
		slope = floats.Norm(o.at(x).gradient, 2)
		if slope <= tolerance {
			return nil
		}
		if !(slope < before) {
			break
		}
	}
	if failure == nil {
		failure = errors.New("no progress")
	}
	return fmt.Errorf("%s: gradient %g after %d evaluations, want at most %g: %w", o.samples.Name, slope, o.evaluations,
		tolerance, failure)
}

// flat ends a search where the Euclidean norm of the gradient is at most this.
type flat float64

// Init implements [optimize.Converger].
func (flat) Init(int) {}

// Converged implements [optimize.Converger].
func (f flat) Converged(l *optimize.Location) optimize.Status {
	if len(l.Gradient) > 0 && floats.Norm(l.Gradient, 2) <= float64(f) {
		return optimize.GradientThreshold
	}
	return optimize.NotTerminated
}
