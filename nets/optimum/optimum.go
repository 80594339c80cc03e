// Package optimum computes the smallest loss that logistic regression can reach on the samples of each client.
//
// CA-Fed needs this number, F*_k: the gap between the loss of a client and its F*_k enters the bound by which it
// decides whom to exclude.
//
//	smallest, err := optimum.Local(ctx, set.Train, split.Train, 0.01) // [N] F*_k, with the ridge of CA-Fed's papers
package optimum

import (
	"context"
	"fmt"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/internal/files"
)

// Local returns F*_k of every client [K]. The samples of client k are parts[k], [n_k]. F*_k is the loss, without the
// ridge penalty, at the weights that minimise loss and ridge penalty ½·ridge·‖w‖² together. ridge is a finite positive
// number; CA-Fed has 10⁻². A client without samples has 0.
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

// ReleasedCode returns F*_k [K] as CA-Fed's released code computes it for tabular data: the cross-entropy that
// scikit-learn's LogisticRegression(multi_class="multinomial") reaches, with default settings, on the samples of the
// client. Here it is computed to [tolerance].
//
// scikit-learn minimises Σ cross-entropy + ½·‖W‖² over the classes that the client has, without a penalty on the
// biases. Divided by n_k samples, that is a ridge of 1/n_k on the mean. For two classes it trains two opposite outputs,
// which is a ridge of 1/(2·n_k) on the one output here. scikit-learn refuses a client with a single class; here it has
// 0, as has a client without samples.
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

// withClassesOf returns the samples with the classes of a part renumbered from 0. The labels of other samples are 0,
// and must not be read.
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

// each returns the smallest loss of every client, 0 for a client without samples. It returns the error of the failed
// client with the lowest number.
func each(ctx context.Context, parts [][]int32, smallest func(part []int32) (float64, error)) ([]float64, error) {
	losses, errs := make([]float64, len(parts)), make([]error, len(parts))
	err := files.Parallel(ctx, len(parts), func(k int) {
		if len(parts[k]) > 0 {
			losses[k], errs[k] = smallest(parts[k])
		}
	})
	if err != nil {
		return nil, fmt.Errorf("optimum: %w", err)
	}
	for k, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("optimum: client %d: %w", k, err)
		}
	}
	return losses, nil
}
