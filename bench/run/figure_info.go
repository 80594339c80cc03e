package run

import (
	"slices"

	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

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
		Figure: f.ID, Preset: w.Preset, Settings: given, Version: Version(),
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
		info.Revisions = append(info.Revisions, revisions(&ours.settings, engine).String())
	}
	// Data that no kept run names are still open in the sessions that read them.
	for _, l := range p.Sessions {
		if len(m.Lines) == 0 && l.Data != nil {
			info.Data[l.Data.Name] = results.DataInFile(l.checksum(&ours.settings))
		}
	}
	info.Numerics, info.Revisions = sortedSet(info.Numerics), sortedSet(info.Revisions)
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
	size.clients = sortedSet(size.clients)
	size.methods = append([]string{}, settings.Unique(size.methods)...) // not nil, so that JSON has []
	size.data = append([]string{}, settings.Unique(size.data)...)
	return size, nil
}

// sortedSet returns the values in ascending order, each once; never nil.
func sortedSet[T int | string](values []T) []T {
	return append([]T{}, slices.Compact(slices.Sorted(slices.Values(values)))...)
}
