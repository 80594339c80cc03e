// Package plan says what a table, sweep, tuning or figure would do, before it is done: which runs it would make, with
// how much memory, in how many hours. It is --plan of these commands, for people who book a machine for the job.
package plan

import (
	"context"
	"errors"
	"fmt"

	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/memory"
	"rollcall/results"
)

// Plan is what a command would do.
type Plan struct {
	Title        string // of the table, figure or tuning
	Groups       []Group
	Runs         []Run        // of all cells, in order
	Rates        []Rate       // a measurement per workload
	AtOnce       int          // runs at a time, on all cards together
	Cards        int          // cards that share the runs; 1 on the CPU
	Each         []float64    // seconds of each run that is not kept
	Largest      run.Needs    // the run that needs the most memory
	LargestOf    string       // the method of that run; empty: no run is made
	Limit        memory.Limit // of the machine, or --memory-limit
	LimitIsKnown bool         // false: --memory-limit off, or the system does not say
	Notes        []string     // lines about data sets that are not available
}

// Group is the runs of a method in one column, one run per seed.
type Group struct {
	Settings   settings.Settings
	Runs, Kept int     // all runs, and those that are finished already
	Refused    int     // runs whose folders have other work
	Resumed    int     // runs that resume from a checkpoint, neither kept nor made from the start
	Sec        float64 // seconds for all runs that are not kept, one after the other
}

// Run is one run of a plan.
type Run struct {
	many.Planned
	Sec   float64 // seconds for what is left of it
	Whole float64 // seconds for all of it; 0 for a run that is kept, unless all are counted
	Bytes int64   // memory; likewise
}

// planner makes a plan: first its cells, by which the workloads are known, then a measurement of every workload.
type planner struct {
	*Plan
	session   *run.Session        // opens data and engines, one after the other
	all       bool                // runs that are kept are counted too
	missing   map[string]bool     // data sets that are not available
	workloads []workload          // in the order of the cells
	costs     map[workload][]cost // the runs that a workload's speed is for
}

// workload is what runs of the same speed have in common: one measurement serves all of them.
type workload struct {
	data, of     string // the data that are measured, and those of the runs
	net, preset  string // the preset decides on clipping and augmentation
	batch, steps int
	train, test  int // samples of generated images
}

// cost is the work of one run of a cell.
type cost struct {
	cell, run         int     // indices in Plan.Cells and Plan.Runs
	images, evaluated float64 // images to train on and to evaluate, see run.Needs
}

// Make plans runs, which the caller lists cell by cell. It fetches data sets that are not there, as the runs would. all
// says that it counts the work of runs that are kept, too.
func Make(ctx context.Context, title string, p *many.Pool, runs []many.Planned, all bool) (*Plan, error) {
	ses := p.Sessions[0] // one session measures alone: what other engines cost beside it is not planned, see total
	about := &Plan{Title: title, AtOnce: len(p.Sessions), Cards: p.Cards()}
	pl := &planner{about, ses, all, map[string]bool{}, nil, map[workload][]cost{}}
	pl.Limit, pl.LimitIsKnown = ses.Machine.Memory.Limit()
	for len(runs) > 0 {
		// The seeds of a cell stand together and share their settings.
		n := 1
		for n < len(runs) && results.Hash(runs[n].Settings) == results.Hash(runs[0].Settings) {
			n++
		}
		if err := pl.cell(ctx, runs[:n]); err != nil {
			return nil, err
		}
		runs = runs[n:]
	}
	for _, w := range pl.workloads {
		if err := pl.measure(ctx, w); err != nil {
			return nil, err
		}
	}
	return pl.Plan, nil
}

func (pl *planner) cell(ctx context.Context, runs []many.Planned) error {
	c := Group{Settings: runs[0].Settings, Runs: len(runs)}
	for i := range runs {
		switch r := &runs[i]; {
		case r.Kept:
			c.Kept++
		case r.Refused != "":
			if c.Refused++; c.Refused == 1 {
				pl.Notes = append(pl.Notes, fmt.Sprintf("%s: refused: %s", r.Dir, r.Refused))
			}
		case r.Done > r.From:
			c.Resumed++
		}
	}
	pl.Groups = append(pl.Groups, c)
	for i := range runs {
		r := &runs[i]
		pl.Runs = append(pl.Runs, Run{Planned: *r})
		if !r.Left() && (!pl.all || r.Twin) {
			continue
		}
		// Files that are open already stay open; generated data are made for each seed.
		data, err := pl.open(ctx, &r.Settings, r.Seed)
		if err != nil {
			return err
		}
		// Each seed has its own availability, and so its own work.
		needs, err := pl.session.Needs(ctx, &r.Settings, r.Seed, r.Models)
		if err != nil {
			return err
		}
		// The first run counts even if it needs nothing: LargestOf says whether any run is made.
		if needs.Bytes > pl.Largest.Bytes || pl.LargestOf == "" {
			pl.Largest, pl.LargestOf = needs, r.Settings.Method
		}
		s := &r.Settings
		w := workload{data, s.Data, s.Net, s.Preset, s.Batch, s.LocalSteps, 0, 0}
		if s.Data == generatedData { // of other data it makes no difference how many samples take part
			w.train, w.test = s.TrainSize, s.TestSize
		}
		if _, ok := pl.costs[w]; !ok {
			pl.workloads = append(pl.workloads, w)
		}
		pl.Runs[len(pl.Runs)-1].Bytes = needs.Bytes
		pl.costs[w] = append(pl.costs[w], cost{len(pl.Groups) - 1, len(pl.Runs) - 1, needs.Images, needs.Evaluated})
	}
	return nil
}

// open opens the data of s. If they are not available it opens generated images in their place, the same for all such
// data sets. It returns the name of the data that are open.
func (pl *planner) open(ctx context.Context, s *settings.Settings, seed uint32) (string, error) {
	if !pl.missing[s.Data] { // a download that failed is not tried again for every run
		err := pl.session.OpenData(ctx, s, seed)
		if ctx.Err() != nil || !errors.Is(err, datasets.ErrUnavailable) {
			return s.Data, err
		}
		pl.missing[s.Data] = true
		pl.Notes = append(pl.Notes, settings.ErrorLine(err)+": planned and measured on generated images")
	}
	// anySeed, so that one set serves all runs; each seed would generate its own.
	generated, err := settings.Defaults(s.Method, s.Preset, generatedData)
	if err != nil {
		return "", err
	}
	return generatedData, pl.session.OpenData(ctx, &generated, anySeed)
}

const (
	generatedData = "synthetic" // stands in for data that are not available
	anySeed       = 3           // the seed of everything that is measured: speed does not depend on it
)
