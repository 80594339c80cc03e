package run

import (
	"context"
	"math"
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
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

// Trajectories returns p_i^t and the activity of every client of a process in the first rounds.
func Trajectories(process string, o availability.Options, rounds int) (rows []papers.FedAWEF6Row, err error) {
	made, err := availability.New(process, o)
	if err != nil {
		return nil, err
	}
	for i, base := range o.Base {
		p := make([]float64, len(o.Base))
		for t := range rounds {
			made.Probabilities(t, p)
			active := 0
			if slices.Contains(made.Active(t), i) {
				active = 1
			}
			rows = append(rows, papers.FedAWEF6Row{
				Availability: process, P: base, Round: t, Probability: p[i], Active: active,
			})
		}
	}
	return rows, nil
}

// base returns the p_i of a data set's split.
func (p *Pool) base(ctx context.Context, of papers.BaseAvailability, seed uint32, w *Wanted) ([]float64, error) {
	data := of.Data
	if w.Data != nil {
		if len(w.Data) != 1 {
			return nil, settings.Usagef("--data: %d data sets, want one", len(w.Data))
		}
		data = w.Data[0]
	}
	s, err := settings.Defaults(of.Method, w.Preset, data)
	if err != nil {
		return nil, err
	}
	if err := s.Give(w.Given); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	session := p.Sessions[0]
	if err := session.OpenData(ctx, &s, seed); err != nil {
		return nil, err
	}
	clients, err := Populate(session.Data, &s, seed)
	return clients.Base, err
}
