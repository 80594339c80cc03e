package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results/papers"
)

// figureRun is one cell of a figure, run.
type figureRun struct {
	papers.Run
	papers.Runs
	settings settings.Settings
}

// figureRuns runs the cells that the flags leave.
func (a *app) figureRuns(ctx context.Context, figure *papers.Figure, f *figureFlags, given *pflag.FlagSet, p *run.Pool) ([]figureRun, error) {
	var known struct{ methods, data []string }
	for _, r := range figure.Runs {
		known.methods, known.data = append(known.methods, r.Method), append(known.data, r.Data)
	}
	method, err := settings.Narrow("methods", f.methods, known.methods)
	if err != nil {
		return nil, err
	}
	data, err := settings.Narrow("data", f.data, known.data)
	if err != nil {
		return nil, err
	}
	var left []figureRun
	for _, r := range figure.Runs {
		if method(r.Method) && data(r.Data) {
			left = append(left, figureRun{Run: r})
		}
	}
	if len(left) == 0 {
		return nil, settings.Usagef("figure %s: no run is left of these methods and data", figure.ID)
	}
	tasks := make([]run.Task, len(left))
	for i := range left {
		r := &left[i]
		s, err := f.Settings("figure "+figure.ID, figure.Rounds, r.Column, r.Method, given)
		if err != nil {
			return nil, err
		}
		r.settings = s
		label := run.CellLabel(fmt.Sprintf("[%d/%d]", i+1, len(left)), s, r.Column)
		if r.Series != "" && r.Series != r.Method {
			label += " " + r.Series
		}
		tasks[i] = run.Task{Settings: s, Label: label}
	}
	err = p.Seeds(ctx, figure.ID, tasks, figure.Seeds, figure.Decides(), func(i int, runs papers.Runs, failed error) error {
		if left[i].Runs = runs; failed != nil {
			return fmt.Errorf("%s: %w", tasks[i].Label, failed)
		}
		return nil
	})
	return left, err
}
