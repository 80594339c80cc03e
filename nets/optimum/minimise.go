package optimum

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// tolerance is the largest Euclidean norm of the gradient at a solution. The ridge makes the objective strongly convex,
// so its value there is at most tolerance²/(2·ridge) above the minimum: 5·10⁻¹¹ with a ridge of 10⁻². If the ridge
// leaves the biases out, this bound is an estimate.
const tolerance = 1e-6

// maxEvaluations is the number of evaluations after which a search gives up. With a ridge of 10⁻² a search takes about
// a hundred.
const maxEvaluations = 20_000

// minimise searches for the minimum with L-BFGS in float64, from w = 0, and evaluates the objective there. The result
// does not depend on the number of threads. It is an error if the search does not reach the tolerance.
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
	// L-BFGS ends when its line search finds no lower value. Start it again from that point with an empty memory, as
	// long as that makes the gradient smaller.
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
	return fmt.Errorf("%s: gradient %g after %d evaluations, want at most %g: %w",
		o.samples.Name, slope, o.evaluations, tolerance, failure)
}

// flat ends a search where the Euclidean norm of the gradient is at most the given number.
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
