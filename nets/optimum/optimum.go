// Package optimum finds the smallest loss that logistic regression can have on clients' samples.
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

// Local returns each client's F*_k [K]: its loss without the ridge where the objective with the ridge, a finite
// positive number (CA-Fed: 10⁻²), is smallest on its own samples parts [K][n_k]. A client without samples has 0.
func Local(ctx context.Context, s *plan.Samples, parts [][]int32, ridge float64) ([]float64, error) {
	if !(ridge > 0) {
		return nil, fmt.Errorf("optimum: ridge %g, want a finite positive number", ridge)
	}
	return each(ctx, parts, func(part []int32) (float64, error) {
		o := newObjective(s, part, ridge)
		err := o.minimise(ctx)
		return o.loss, err
	})
}

// ReleasedCode returns F*_k as CA-Fed's released code takes it for tabular data: the cross-entropy that scikit-learn's
// LogisticRegression(multi_class= "multinomial") of default settings reaches on the client's own samples, found here to
// [tolerance]. It minimises Σ cross-entropy + ½·‖W‖² of the classes that the client has, biases free, so the ridge is
// 1/n_k on the mean; of two classes it trains two opposite outputs, which is a ridge of 1/(2 n_k) on the one. A client
// of one class, for which it raises an error, has 0, and so does one without samples.
func ReleasedCode(ctx context.Context, s *plan.Samples, parts [][]int32) ([]float64, error) {
	return each(ctx, parts, func(part []int32) (float64, error) {
		own := withClassesOf(s, part)
		ridge := 1 / float64(len(part))
		switch own.Classes {
		case 1:
			return 0, nil
		case 2:
			ridge /= 2
		}
		o := newObjective(own, part, ridge)
		o.freeBias = true
		err := o.minimise(ctx)
		return o.loss, err
	})
}

// withClassesOf returns the samples with the labels of a part numbered anew, the others left out.
func withClassesOf(s *plan.Samples, part []int32) *plan.Samples {
	var seen [256]bool
	for _, i := range part {
		seen[s.Labels[i]] = true
	}
	own := *s
	own.Classes, own.Labels = 0, slices.Clone(s.Labels)
	var number [256]uint8 // 0 for other clients' classes
	for label, has := range seen {
		if has {
			number[label] = uint8(own.Classes)
			own.Classes++
		}
	}
	for i, label := range own.Labels {
		own.Labels[i] = number[label]
	}
	return &own
}

// each returns the smallest loss of every client that has samples; the error is that of the first one that failed.
func each(ctx context.Context, parts [][]int32, smallest func(part []int32) (float64, error)) ([]float64, error) {
	losses, errs := make([]float64, len(parts)), make([]error, len(parts))
	onAllCores(len(parts), func(k int) {
		if len(parts[k]) > 0 && ctx.Err() == nil {
			losses[k], errs[k] = smallest(parts[k])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("optimum: %w", err)
	}
	for k, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("optimum: client %d: %w", k, err)
		}
	}
	return losses, nil
}

// onAllCores calls do with 0 … n−1.
func onAllCores(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
