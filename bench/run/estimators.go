package run

import (
	"math"
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/results/papers"
)

// estimatorErrors returns how far the estimators are from the truth before the first round, when they have seen the
// history alone, and after the last one. Nothing is trained.
func estimatorErrors(f *papers.Figure, w *Wanted) (errors []papers.EstimatorError, err error) {
	for _, r := range f.Runs {
		s, err := w.settings("figure "+f.ID, f.Rounds, r.Column, r.Method)
		if err != nil {
			return nil, err
		}
		options := s.ProcessOptions(slices.Repeat([]float64{1}, s.Clients))
		first, last := papers.EstimatorError{X: r.X}, papers.EstimatorError{X: r.X, Round: s.Rounds}
		for _, seed := range f.Seeds {
			options.Seed = seed
			process, err := availability.New(s.Availability, options)
			if err != nil {
				return nil, err
			}
			pi, lambda := process.Stationary()
			e := algos.NewEstimator(int(r.X), algos.Preset(s.Preset), seed, pi, lambda)
			first.Pi, first.Lambda = append(first.Pi, meanDistance(e.Pi, pi)),
				append(first.Lambda, meanDistance(e.Lambda, lambda))
			for t := range s.Rounds {
				e.Observe(process.Active(t))
			}
			last.Pi, last.Lambda = append(last.Pi, meanDistance(e.Pi, pi)),
				append(last.Lambda, meanDistance(e.Lambda, lambda))
		}
		errors = append(errors, first, last)
	}
	return errors, nil
}

// meanDistance returns the mean of |a − b|.
func meanDistance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i]-b[i]) / float64(len(a))
	}
	return sum
}
