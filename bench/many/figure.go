package many

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rollcall/algos/availability"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
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
		for _, model := range what.Processes {
			rows, err := Trajectories(model, availability.Defaults(what.Base, f.Seeds[0]), f.Rounds)
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
	left, err := p.Seeds(ctx, f.ID, tasks, f.Seeds, decisions, func(i int, runs papers.Runs, failed error) error {
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
		case isInterrupted(failed): // [Pool.Run] reports it, once, for all lines
		case IsElsewhere(failed):
			lacking++
		default:
			run.Logf(p.Stderr, "rollcall: %s\n", settings.ErrorLine(failed))
			wrong = append(wrong, failed)
		}
		return nil
	})
	switch {
	case err != nil:
	case left.Refused > 0:
		err = fmt.Errorf("figure %s: %d of %d lines failed, named above: %s", f.ID, len(wrong), len(lines),
			left.Words())
	case len(wrong) == 1:
		err = wrong[0]
	case wrong != nil:
		err = fmt.Errorf("figure %s: %d of %d lines failed, named above", f.ID, len(wrong), len(lines))
	case lacking > 0:
		err = &LackingError{left.Held, lacking}
		if left.Held == 0 {
			err = &OtherPartError{p.Keep.Part, left.Parts, lacking}
		}
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
	var columns []papers.Column
	for _, r := range f.Runs {
		methods, sets, columns = append(methods, r.Method), append(sets, r.Data), append(columns, r.Column)
	}
	method, err := narrow("methods", w.Methods, methods)
	if err != nil {
		return nil, nil, err
	}
	data, err := narrow("data", w.Data, sets)
	if err != nil {
		return nil, nil, err
	}
	column, err := w.column("figure "+f.ID, columns)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range f.Runs {
		if method(r.Method) && data(r.Data) && column(&r.Column) {
			lines = append(lines, papers.Line{Training: r})
		}
	}
	if len(lines) == 0 {
		return nil, nil, settings.Usagef("figure %s: no run is left of these methods, data and columns", f.ID)
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

// FigureInfo returns how the measured data of a figure were made, and how large the figure is in its paper. given are
// the flags that the user gave. It must be called before the pool is closed.
func (p *Pool) FigureInfo(
	f *papers.Figure, w *Wanted, m *papers.Measured, given map[string]string,
) (info results.FigureInfo, err error) {
	whole, err := papers.FigureByID(f.ID)
	if err != nil {
		return info, err
	}
	ours, err := w.sizeOf(f)
	if err != nil {
		return info, err
	}
	paper, err := (&Wanted{Preset: w.Preset}).sizeOf(&whole)
	if err != nil {
		return info, err
	}
	info = results.FigureInfo{
		Figure: f.ID, Preset: w.Preset, Settings: given, Version: run.Version(),
		Rounds: f.Rounds, PaperRounds: whole.Rounds,
		Seeds: append([]uint32{}, f.Seeds...), PaperSeeds: len(whole.Seeds),
		Clients: ours.clients, PaperClients: paper.clients,
		Methods: ours.methods, PaperMethods: paper.methods,
		Data: map[string]string{}, PaperData: paper.data,
		Numerics: []string{}, Revisions: []string{},
	}
	for i := range m.Lines {
		line := &m.Lines[i]
		info.Trained = true
		info.Runs += len(line.Of)
		info.Diverged += len(line.Diverged)
		if len(line.Of) > 0 {
			info.Rounds = min(info.Rounds, line.Rounds())
		}
		for _, r := range line.Of {
			info.Data[r.Data] = results.DataInFile(r.DataChecksum)
			info.Numerics = append(info.Numerics, r.Numerics)
			info.Revisions = append(info.Revisions, r.Revisions.String())
		}
	}
	if _, trained := f.Measure.(papers.Coalitions); trained {
		info.Trained, info.Runs = true, len(m.Coalitions)
		class, engine, err := p.Sessions[0].Machine.Numerics()
		if err != nil {
			return info, err
		}
		info.Numerics = append(info.Numerics, class)
		info.Revisions = append(info.Revisions, run.Revisions(&ours.settings, engine).String())
	}
	// Data that no kept run names are still open in the sessions that read them.
	for _, ses := range p.Sessions {
		if len(m.Lines) == 0 && ses.Data != nil {
			info.Data[ses.Data.Name] = results.DataInFile(ses.Checksum(&ours.settings))
		}
	}
	info.Numerics, info.Revisions = files.SortedSet(info.Numerics), files.SortedSet(info.Revisions)
	return info, nil
}

// figureSize is what a figure's lines have, each value once: ascending clients, and names in the order of the lines.
type figureSize struct {
	clients       []int // not nil
	methods, data []string
	settings      settings.Settings // of the last line
}

// sizeOf returns the size of the wanted part of a figure. A figure that is computed from no setting of a run has none.
func (w *Wanted) sizeOf(f *papers.Figure) (size figureSize, err error) {
	size = figureSize{clients: []int{}, methods: []string{}, data: []string{}}
	add := func(s settings.Settings, trained bool) {
		size.settings, size.clients = s, append(size.clients, s.Clients)
		if trained {
			size.methods = append(size.methods, s.Method)
		}
	}
	switch what := f.Measure.(type) {
	case papers.Curves:
		_, tasks, err := w.lines(f)
		if err != nil {
			return size, err
		}
		for _, t := range tasks {
			add(t.Settings, true)
			size.data = append(size.data, t.Settings.Data)
		}
	case papers.Coalitions:
		s, err := w.coalitionSettings(f, what.MostStale)
		if err != nil {
			return size, err
		}
		add(s, true)
		size.data = append(size.data, s.Data)
	case papers.EstimatorErrors: // the estimators watch the clients, and no data are read
		for _, r := range f.Runs {
			s, err := w.settings("figure "+f.ID, f.Rounds, r.Column, r.Method)
			if err != nil {
				return size, err
			}
			add(s, false)
		}
	case papers.BaseAvailability:
		s, err := w.splitOf(what.Method, what.Data, nil)
		if err != nil {
			return size, err
		}
		add(s, false)
		size.data = append(size.data, s.Data)
	case papers.ClassShares:
		s, err := w.splitOf(what.Method, what.Data, &what.Clients)
		if err != nil {
			return size, err
		}
		add(s, false)
		size.data = append(size.data, s.Data)
	}
	size.clients = files.SortedSet(size.clients)
	size.methods = append([]string{}, files.Unique(size.methods)...) // not nil, so that JSON has []
	size.data = append([]string{}, files.Unique(size.data)...)
	return size, nil
}
