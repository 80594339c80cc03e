// Package plan says what a table, sweep or figure would do before it is done: which runs, with how much memory, in how
// many hours.
package plan

import (
	"context"
	"errors"
	"slices"

	"rollcall/bench/run"
	"rollcall/bench/run/memory"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/results"
)

// Plan is what a command would do.
type Plan struct {
	Title        string // of the table or figure
	Cells        []Cell
	Rates        []Rate
	AtOnce       int // runs at a time
	Largest      run.Asks
	LargestOf    string       // its method; empty: no run is made
	Limit        memory.Limit // of the machine
	LimitIsKnown bool
	Notes        []string // data that cannot be had
}

// Cell is the runs of a method in one column.
type Cell struct {
	Settings   settings.Settings
	Runs, Kept int
	Resumed    int     // of those that are made: they go on
	Sec        float64 // of the runs that are made, one after the other
}

// planner makes a plan.
type planner struct {
	*Plan
	session   *run.Session
	workloads []workload // in the order in which they come
	costs     map[workload][]cost
}

// workload is what runs of the same speed have in common.
type workload struct {
	data, net, preset string
	batch, steps      int
	train, test       int // samples of generated images
}

// cost is what a run of a cell comes to.
type cost struct {
	cell              int
	images, evaluated float64
}

// Make plans runs, which come cell by cell. Data sets that are not there are fetched, as the runs would.
func Make(ctx context.Context, title string, p *run.Pool, runs []run.Planned) (*Plan, error) {
	l := p.Sessions[0]
	m := &planner{&Plan{Title: title, AtOnce: len(p.Sessions)}, l, nil, map[workload][]cost{}}
	m.Limit, m.LimitIsKnown = l.Machine.Memory.Limit()
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && results.Hash(runs[n].Settings) == results.Hash(runs[0].Settings) {
			n++
		}
		if err := m.cell(ctx, runs[:n]); err != nil {
			return nil, err
		}
		runs = runs[n:]
	}
	for _, w := range m.workloads {
		if err := m.measure(ctx, w); err != nil {
			return nil, err
		}
	}
	return m.Plan, nil
}

// cell adds the runs of a cell.
func (m *planner) cell(ctx context.Context, runs []run.Planned) error {
	c := Cell{Settings: runs[0].Settings, Runs: len(runs)}
	var made []*run.Planned
	for i := range runs {
		if runs[i].Kept {
			c.Kept++
			continue
		}
		if runs[i].Done > 0 {
			c.Resumed++
		}
		made = append(made, &runs[i])
	}
	m.Cells = append(m.Cells, c)
	if len(made) == 0 {
		return nil
	}
	for _, r := range made {
		data, err := m.open(ctx, &r.Settings, r.Seed)
		if err != nil {
			return err
		}
		asks, err := m.session.Asks(ctx, r)
		if err != nil {
			return err
		}
		if asks.Bytes > m.Largest.Bytes || m.LargestOf == "" {
			m.Largest, m.LargestOf = asks, r.Settings.Method
		}
		w := workload{data, r.Settings.Net, r.Settings.Preset, r.Settings.Batch, r.Settings.LocalSteps, r.Settings.TrainSize, r.Settings.TestSize}
		if _, ok := m.costs[w]; !ok {
			m.workloads = append(m.workloads, w)
		}
		left := float64(r.Settings.Rounds-r.Done) / float64(r.Settings.Rounds)
		m.costs[w] = append(m.costs[w], cost{len(m.Cells) - 1, left * asks.Images, left * asks.Evaluated})
	}
	return nil
}

// open opens the data of s, or else generated images. It returns the name of what is open.
func (m *planner) open(ctx context.Context, s *settings.Settings, seed uint32) (string, error) {
	err := m.session.OpenData(ctx, s, seed)
	if ctx.Err() != nil || !errors.Is(err, datasets.ErrUnavailable) {
		return s.Data, err
	}
	generated, defaultsErr := settings.Defaults(s.Method, s.Preset, generatedData)
	if defaultsErr != nil {
		return "", defaultsErr
	}
	note := settings.OneLine(err) + ": planned and measured on generated images"
	if !slices.Contains(m.Notes, note) {
		m.Notes = append(m.Notes, note)
	}
	return generatedData, m.session.OpenData(ctx, &generated, seed)
}

// generatedData stand in for data that cannot be had.
const generatedData = "synthetic"
