package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"rollcall/algos/availability"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// drawFedAWE returns what writes the CSV of a figure of FedAWE, and its drawing.
func (a *app) drawFedAWE(ctx context.Context, figure *papers.Figure, f *figureFlags, given *pflag.FlagSet, p *run.Pool) (csv func(path string) error, drawn plot.Figure, err error) {
	switch figure.ID {
	case "fedawe-f2":
		rows, err := papers.FedAWEF2Rows(20)
		return csvWriter(rows), papers.FedAWEF2Figure(rows), err
	case "fedawe-f3":
		runs, err := a.figureRuns(ctx, figure, f, given, p)
		if err != nil {
			return nil, drawn, err
		}
		rows, err := papers.FedAWEF3Rows(cellsOfF3(runs))
		return csvWriter(rows), papers.FedAWEF3Figure(rows), err
	case "fedawe-f5":
		base, err := f.basis(ctx, figure, given, p.Sessions[0])
		if err != nil {
			return nil, drawn, err
		}
		rows, err := papers.FedAWEF5Rows(base)
		return csvWriter(rows), papers.FedAWEF5Figure(rows), err
	case "fedawe-f6":
		rows, err := trajectories(figure.Rounds, figure.Seeds[0])
		return csvWriter(rows), papers.FedAWEF6Figure(rows), err
	case "fedawe-f7":
		runs, err := a.figureRuns(ctx, figure, f, given, p)
		if err != nil {
			return nil, drawn, err
		}
		var curves [][]results.CurveRow
		for _, r := range runs {
			curves = append(curves, r.Curves...)
		}
		rows, err := papers.FedAWEF7Rows(curves, papers.FedAWEF7Options{Beta: f.ema, Smoothed: []string{"fedawe"}, LossAsCoded: f.lossAsCoded})
		return csvWriter(rows), papers.FedAWEF7Figure(rows), err
	}
	return nil, drawn, fmt.Errorf("figure %s: nobody draws it", figure.ID)
}

// cellsOfF3 sorts the runs of Figure 3 by their p and γ.
func cellsOfF3(runs []figureRun) []papers.FedAWEF3Run {
	var cells []papers.FedAWEF3Run
	for _, r := range runs {
		cell := papers.FedAWEF3Run{Curves: r.Curves}
		for name, value := range r.Set.All() {
			v, _ := strconv.ParseFloat(value, 64) // it has been a flag's value
			switch name {
			case "p":
				cell.P = v
			case "gamma":
				cell.Gamma = v
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// basis returns the p_i of a data set's split.
func (f *figureFlags) basis(ctx context.Context, figure *papers.Figure, given *pflag.FlagSet, l *run.Session) ([]float64, error) {
	data := "cifar10"
	if given.Changed("data") {
		if len(f.data) != 1 {
			return nil, settings.Usagef("--data: %d data sets, want one", len(f.data))
		}
		data = f.data[0]
	}
	s, err := settings.Defaults("fedawe", f.Preset, data)
	if err != nil {
		return nil, err
	}
	if s.Clients = f.Clients; s.Validate() != nil {
		return nil, s.Validate()
	}
	if err := l.OpenData(ctx, &s, figure.Seeds[0]); err != nil {
		return nil, err
	}
	clients, err := run.Populate(l.Data, &s, figure.Seeds[0])
	return clients.Base, err
}

// trajectories returns p_i^t and activity of three clients under FedAWE's four processes.
func trajectories(rounds int, seed uint32) ([]papers.FedAWEF6Row, error) {
	base := []float64{0.1, 0.5, 0.9}
	var rows []papers.FedAWEF6Row
	for _, name := range fedaweProcesses {
		of, err := pathRows(name, availability.Defaults(base, seed), rounds)
		if err != nil {
			return nil, err
		}
		rows = append(rows, of...)
	}
	return rows, nil
}
