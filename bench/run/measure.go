package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// Measure measures the data of a figure, or the wanted part of it. Each type of papers.Measure has its own way.
func (p *Pool) Measure(ctx context.Context, f *papers.Figure, w *Wanted) (m papers.Measured, err error) {
	m.Figure = *f
	switch what := f.Measure.(type) {
	case papers.Nothing:
	case papers.Curves:
		m.Lines, err = p.lines(ctx, f, w, what.Decisions)
	case papers.ClassShares:
		m.Classes, err = p.classes(ctx, what, f.Seeds[0], w)
	case papers.BaseAvailability:
		m.Base, err = p.base(ctx, what, f.Seeds[0], w)
	case papers.Trajectories:
		for _, process := range what.Processes {
			rows, err := Trajectories(process, availability.Defaults(what.Base, f.Seeds[0]), f.Rounds)
			if err != nil {
				return m, err
			}
			m.Paths = append(m.Paths, rows...)
		}
	case papers.EstimatorErrors:
		m.Errors, err = estimatorErrors(f, w)
	case papers.Coalitions:
		m.Coalitions, err = p.coalitions(ctx, f, w, what.MostStale)
	default:
		err = fmt.Errorf("figure %s: no way to measure %T", f.ID, what)
	}
	return m, err
}

// lines makes the runs of the wanted lines of a figure, with every seed.
func (p *Pool) lines(ctx context.Context, f *papers.Figure, w *Wanted, decisions bool) ([]papers.Line, error) {
	lines, tasks, err := w.lines(f)
	if err != nil {
		return nil, err
	}
	var wrong []error // a line that failed does not keep the other lines from being made
	lacking := 0
	elsewhere, err := p.Seeds(ctx, f.ID, tasks, f.Seeds, decisions, func(i int, runs papers.Runs, failed error) error {
		if failed == nil {
			lines[i].Runs = runs
			failed = markLine(&lines[i], tasks[i].Label)
		} else {
			failed = fmt.Errorf("%s: %w", tasks[i].Label, failed)
		}
		switch {
		case failed == nil:
		case errors.Is(failed, context.Canceled):
			return failed
		case isElsewhere(failed):
			lacking++
		default:
			Logf(p.Stderr, "rollcall: %s\n", settings.OneLine(failed))
			wrong = append(wrong, failed)
		}
		return nil
	})
	switch {
	case err != nil:
	case len(wrong) == 1:
		err = wrong[0]
	case wrong != nil:
		err = fmt.Errorf("figure %s: %d of %d lines failed, named above", f.ID, len(wrong), len(lines))
	case lacking > 0:
		err = &ElsewhereError{Runs: elsewhere, Lines: lacking}
	}
	return lines, err
}

// markLine adds marks to the name of a line whose mean is not what a reader expects: seeds that diverged are not in it,
// or the runs in it are not alike. It returns an error if every seed diverged.
func markLine(line *papers.Line, label string) error {
	var marks []string
	if left, away := len(line.Curves), len(line.Diverged); away > 0 {
		if left == 0 {
			return fmt.Errorf("%s: every seed diverged: %s", label, line.Diverged[0].Info.Error)
		}
		marks = append(marks, fmt.Sprintf("[%d of %d seeds, %d diverged]", left, left+away, away))
	}
	if words := results.MixedWords(line.Of); words != "" {
		marks = append(marks, "[mixed: "+words+"]")
	}
	if line.Series != "" && marks != nil { // a line without a name is not in the legend
		line.Series += " " + strings.Join(marks, " ")
	}
	return nil
}

// lines returns the wanted lines of a figure, and the task of each.
func (w *Wanted) lines(f *papers.Figure) (lines []papers.Line, tasks []Task, err error) {
	var methods, sets []string
	for _, r := range f.Runs {
		methods, sets = append(methods, r.Method), append(sets, r.Data)
	}
	method, err := narrow("methods", w.Methods, methods)
	if err != nil {
		return nil, nil, err
	}
	data, err := narrow("data", w.Data, sets)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range f.Runs {
		if method(r.Method) && data(r.Data) {
			lines = append(lines, papers.Line{Run: r})
		}
	}
	if len(lines) == 0 {
		return nil, nil, settings.Usagef("figure %s: no run is left of these methods and data", f.ID)
	}
	tasks = make([]Task, len(lines))
	for i, r := range lines {
		s, err := w.settings("figure "+f.ID, f.Rounds, r.Column, r.Method)
		if err != nil {
			return nil, nil, err
		}
		label := cellLabel(fmt.Sprintf("[%d/%d]", i+1, len(lines)), s, r.Column)
		if r.Series != "" && r.Series != r.Method {
			label += " " + r.Series
		}
		tasks[i] = Task{Settings: s, Label: label}
	}
	return lines, tasks, nil
}
