package run

import (
	"context"
	"slices"

	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/results/papers"
)

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
