package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"rollcall/bench/spec"
)

// figureRun is one cell of a figure, run.
type figureRun struct {
	spec.Run
	cellRuns
	settings Settings
}

// figureRuns runs the cells that the flags leave.
func (a *app) figureRuns(ctx context.Context, figure *spec.Figure, f *figureFlags, given *pflag.FlagSet, l *lab) ([]figureRun, error) {
	var known struct{ methods, data []string }
	for _, r := range figure.Runs {
		known.methods, known.data = append(known.methods, r.Method), append(known.data, r.Data)
	}
	method, err := narrow(given, "methods", f.methods, known.methods)
	if err != nil {
		return nil, err
	}
	data, err := narrow(given, "data", f.data, known.data)
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
		return nil, usagef("figure %s: no run is left of these methods and data", figure.ID)
	}
	for i := range left {
		r := &left[i]
		s, err := f.settings("figure "+figure.ID, figure.Rounds, r.Column, r.Method, given)
		if err != nil {
			return nil, err
		}
		r.settings = s
		label := cellLabel(fmt.Sprintf("[%d/%d]", i+1, len(left)), s, r.Column)
		if r.Series != "" && r.Series != r.Method {
			label += " " + r.Series
		}
		if r.cellRuns, err = a.seeds(ctx, figure.ID, s, figure.Seeds, l, label, figure.Decides()); err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
	}
	return left, nil
}
