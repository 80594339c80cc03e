// Package plan says what a table, sweep or figure would do before it is done: which runs, with how much memory, in how
// many hours.
package plan

import (
	"context"
	"errors"

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
	missing   map[string]bool // data that cannot be had
	workloads []workload      // in the order in which they come
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
	m := &planner{&Plan{Title: title, AtOnce: len(p.Sessions)}, l, map[string]bool{}, nil, map[workload][]cost{}}
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
		s := &r.Settings
		w := workload{data, s.Net, s.Preset, s.Batch, s.LocalSteps, s.TrainSize, s.TestSize}
		if _, ok := m.costs[w]; !ok {
			m.workloads = append(m.workloads, w)
		}
		left := float64(r.Settings.Rounds-r.Done) / float64(r.Settings.Rounds)
		m.costs[w] = append(m.costs[w], cost{len(m.Cells) - 1, left * asks.Images, left * asks.Evaluated})
	}
	return nil
}

// open opens the data of s, or else generated images, the same for all. It returns the name of what is open.
func (m *planner) open(ctx context.Context, s *settings.Settings, seed uint32) (string, error) {
	if !m.missing[s.Data] {
		err := m.session.OpenData(ctx, s, seed)
		if ctx.Err() != nil || !errors.Is(err, datasets.ErrUnavailable) {
			return s.Data, err
		}
		m.missing[s.Data] = true
		m.Notes = append(m.Notes, settings.OneLine(err)+": planned and measured on generated images")
	}
	generated, err := settings.Defaults(s.Method, s.Preset, generatedData)
	if err != nil {
		return "", err
	}
	return generatedData, m.session.OpenData(ctx, &generated, anySeed)
}

const (
	generatedData = "synthetic" // stand in for data that cannot be had
	anySeed       = 3           // of what is measured
)
