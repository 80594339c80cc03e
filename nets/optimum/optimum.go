// Package optimum finds the smallest loss that logistic regression can have on clients' samples.
package optimum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"rollcall/datasets/plan"
)

// Tolerance is the usual [Problem.Tolerance]. With a ridge of 10⁻² the objective is then within 5·10⁻¹¹ of the smallest.
const Tolerance = 1e-6

// maxEvaluations is where a search is given up; ridges of 10⁻² take some hundred.
const maxEvaluations = 20_000

// Problem is the objective of linear-mnist, linear-synthetic and linear-binary for every client k,
//
//	F_k(w) + ½·Ridge·‖w‖²
//
// with F_k the mean cross-entropy of client k's samples, not augmented. Two classes have one output, as linear-binary does: the
// logit of class 1.
type Problem struct {
	Samples  *plan.Samples
	Parts    [][]int32 // [K][n_k] the clients' samples
	Ridge    float64   // positive; CA-Fed: 10⁻²
	FreeBias bool      // the ridge leaves biases out
	// Tolerance is the largest Euclidean norm of the gradient, positive. A solution's objective is at most Tolerance²/(2·Ridge) above
	// the smallest, by the curvature that the ridge gives; with FreeBias that is an estimate.
	Tolerance float64
}

// Solution is where the objective of a client is smallest.
type Solution struct {
	W           []float64 // [P] in PyTorch's order: weights [O,I], biases [O]
	Objective   float64   // with the ridge's part
	Loss        float64   // F_k, without
	Gradient    float64   // the gradient's norm
	Evaluations int       // of the objective and its gradient
}

// solve finds the minimum of the client with these samples with L-BFGS in float64, from w = 0. The result does not depend on the
// number of threads. A search that does not reach the tolerance is an error.
func (p *Problem) solve(ctx context.Context, part []int32) (Solution, error) {
	o := newObjective(p, part)
	x := make([]float64, o.size())
	s := Solution{W: x, Gradient: math.Inf(1)}
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
	// A line search that cannot get any lower ends L-BFGS; from there it may go on with its memory cleared.
	for o.evaluations < maxEvaluations {
		r, err := optimize.Minimize(problem, x, &optimize.Settings{
			Converger: flat(p.Tolerance), FuncEvaluations: maxEvaluations, GradEvaluations: maxEvaluations,
		}, &optimize.LBFGS{Store: 20})
		if ctx.Err() != nil {
			return Solution{}, ctx.Err()
		}
		failure = err
		if r == nil {
			break
		}
		copy(x, r.X)
		before := s.Gradient
		s.Gradient = floats.Norm(o.at(x).gradient, 2)
		if s.Gradient <= p.Tolerance {
			s.Objective, s.Loss, s.Evaluations = o.value, o.loss, o.evaluations
			return s, nil
		}
		if !(s.Gradient < before) {
			break
		}
	}
	if failure == nil {
		failure = errors.New("no progress")
	}
	return Solution{}, fmt.Errorf("%s: gradient %g after %d evaluations, want at most %g: %w", p.Samples.Name, s.Gradient, o.evaluations,
		p.Tolerance, failure)
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

// validate reports the first impossible setting.
func (p *Problem) validate() error {
	switch {
	case p.Samples == nil:
		return fmt.Errorf("no samples")
	case !slices.ContainsFunc(p.Parts, func(part []int32) bool { return len(part) > 0 }):
		return fmt.Errorf("%d clients, none with samples, want at least one", len(p.Parts))
	case !(p.Ridge > 0) || math.IsInf(p.Ridge, 1):
		return fmt.Errorf("ridge %g, want a finite positive number", p.Ridge)
	case !(p.Tolerance > 0):
		return fmt.Errorf("tolerance %g, want positive", p.Tolerance)
	}
	if err := p.Samples.Validate(); err != nil {
		return err
	}
	if p.Samples.Classes < 2 {
		return fmt.Errorf("%s: %d classes, want at least 2", p.Samples.Name, p.Samples.Classes)
	}
	for k, part := range p.Parts {
		for _, i := range part {
			if i < 0 || int(i) >= p.Samples.Len() {
				return fmt.Errorf("client %d: sample %d, want 0 … %d", k, i, p.Samples.Len()-1)
			}
		}
	}
	return nil
}
