package optimum

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"rollcall/datasets/plan"
)

// Local solves each client's own problem; F*_k is the Loss of its solution, what ca-fed compares losses without the ridge with. A client without samples has the zero Solution.
func Local(ctx context.Context, p Problem) ([]Solution, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("optimum: %w", err)
	}
	return each(ctx, len(p.Parts), func(k int) (Solution, error) {
		if len(p.Parts[k]) == 0 {
			return Solution{}, nil
		}
		return p.solve(ctx, p.Parts[k])
	})
}

// ReleasedCode returns F*_k as CA-Fed's released code takes it for tabular data: the cross-entropy that scikit-learn's
// LogisticRegression(multi_class= "multinomial") of default settings reaches on the client's own samples, found here to
// [Tolerance]. It minimises Σ cross-entropy + ½·‖W‖² of the classes that the client has, biases free, so the ridge is 1/n_k on
// the mean; of two classes it trains two opposite outputs, which is a ridge of 1/(2 n_k) on the one. A client of one class, for
// which it raises an error, has 0, and so does one without samples.
func ReleasedCode(ctx context.Context, s *plan.Samples, parts [][]int32) ([]float64, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("optimum: %w", err)
	}
	solutions, err := each(ctx, len(parts), func(k int) (Solution, error) {
		own, classes, err := present(s, parts[k])
		if err != nil {
			return Solution{}, err
		}
		if classes < 2 {
			return Solution{}, nil
		}
		ridge := 1 / float64(len(parts[k]))
		if classes == 2 {
			ridge /= 2
		}
		p := Problem{Samples: own, Ridge: ridge, FreeBias: true, Tolerance: Tolerance}
		return p.solve(ctx, parts[k])
	})
	if err != nil {
		return nil, err
	}
	best := make([]float64, len(parts))
	for k := range best {
		best[k] = solutions[k].Loss
	}
	return best, nil
}

// present returns the samples with the labels of a part numbered anew, those that do not occur in it left out.
func present(s *plan.Samples, part []int32) (own *plan.Samples, classes int, err error) {
	var seen [256]bool
	for _, i := range part {
		if i < 0 || int(i) >= s.Len() {
			return nil, 0, fmt.Errorf("sample %d, want 0 … %d", i, s.Len()-1)
		}
		seen[s.Labels[i]] = true
	}
	var number [256]uint8
	for label, has := range seen {
		if has {
			number[label] = uint8(classes)
			classes++
		}
	}
	copied := *s
	copied.Classes, copied.Labels = max(classes, 1), slices.Clone(s.Labels)
	for i := range copied.Labels {
		copied.Labels[i] = number[copied.Labels[i]] // 0 for other clients' classes
	}
	return &copied, classes, nil
}

// each calls solve for 0 … n−1 on all cores; the error is that of the first one that failed.
func each(ctx context.Context, n int, solve func(k int) (Solution, error)) ([]Solution, error) {
	solutions, errs := make([]Solution, n), make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= n {
					return
				}
				solutions[k], errs[k] = solve(k)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("optimum: %w", err)
	}
	for k, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("optimum: client %d: %w", k, err)
		}
	}
	return solutions, nil
}
