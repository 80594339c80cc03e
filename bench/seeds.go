package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"rollcall/results"
)

// cellRuns are the complete runs of one cell, one for each seed.
type cellRuns struct {
	curves    [][]results.CurveRow
	decisions [][]results.DecisionRow // where they were asked for
	clients   [][]results.ClientRow   // of a split that has them
	device    string
}

// task is a cell of a table or figure: what is run with every seed, and its name in log lines.
type task struct {
	settings Settings
	label    string
}

// seedRun is one run of a cell, found or made.
type seedRun struct {
	experiment
	label     string
	decisions bool

	runs cellRuns // it alone
	kept bool
}

// seeds runs the seeds of the cells, or finds them, and hands cell after cell to settle: the runs before the first that failed, and why
// that one did.
func (p *pack) seeds(ctx context.Context, table string, tasks []task, seeds []uint32, decisions bool, settle func(cell int, runs cellRuns, failed error) error) error {
	runs, jobs := make([][]*seedRun, len(tasks)), make([][]*job, len(tasks))
	for i, t := range tasks {
		for _, seed := range seeds {
			dir := folder(p.labs[0].machine.Out, table, t.settings, seed)
			r := &seedRun{
				experiment: experiment{table: table, settings: t.settings, seed: seed, dir: dir, clients: decisions},
				label:      fmt.Sprintf("%s seed %d", t.label, seed), decisions: decisions,
			}
			runs[i], jobs[i] = append(runs[i], r), append(jobs[i], &job{run: dir, do: r.do})
		}
	}
	return p.run(ctx, jobs, func(i int) error {
		var all cellRuns
		kept := 0
		for k, r := range runs[i] {
			if err := jobs[i][k].err; err != nil {
				return settle(i, all, fmt.Errorf("seed %d: %w", seeds[k], err))
			}
			all.add(&r.runs)
			if r.kept {
				kept++
			}
		}
		if kept > 0 {
			logf(p.stderr, "%s: %s kept\n", tasks[i].label, count(kept, "finished run"))
		}
		return settle(i, all, nil)
	})
}

// do finds the run or makes it, and reads it.
func (r *seedRun) do(ctx context.Context, l *lab) error {
	dir, err := r.earlier(ctx, l)
	if err != nil {
		return err
	}
	if r.kept = dir != ""; r.kept {
		err = l.machine.keptEvents(dir)
	} else {
		dir = r.dir
		_, err = r.experiment.do(ctx, l, newProgress(l.stderr, r.label))
	}
	if err != nil {
		return err
	}
	return r.runs.read(dir, r.decisions)
}

// earlier returns the folder of a finished run with the same settings and seed, of whichever table; "" if there is none.
func (x *experiment) earlier(ctx context.Context, l *lab) (dir string, err error) {
	out := l.machine.Out
	name, seed := filepath.Base(filepath.Dir(x.dir)), filepath.Base(x.dir)
	tables, err := os.ReadDir(out)
	if err != nil {
		return "", fmt.Errorf("output folder: %w", err)
	}
	dirs := []string{x.dir}
	for _, table := range tables { // in order of names, so that the choice is always the same
		dirs = append(dirs, filepath.Join(out, table.Name(), name, seed))
	}
	for _, dir := range dirs {
		finished, err := x.finished(ctx, l, dir)
		if err != nil {
			return "", err
		}
		if finished {
			return dir, nil
		}
	}
	return "", nil
}

// read appends a finished run.
func (r *cellRuns) read(dir string, decisions bool) error {
	curve, err := results.ReadCurve(filepath.Join(dir, results.CurveFile))
	if err != nil {
		return err
	}
	info, err := results.ReadRunInfo(filepath.Join(dir, results.RunFile))
	if err != nil {
		return err
	}
	if decisions {
		rows, err := results.ReadDecisions(filepath.Join(dir, results.DecisionsFile))
		if err != nil {
			return err
		}
		r.decisions = append(r.decisions, rows)
	}
	if err := r.readClients(dir); err != nil {
		return err
	}
	r.curves, r.device = append(r.curves, curve), info.Device
	return nil
}

// add appends other runs.
func (r *cellRuns) add(other *cellRuns) {
	r.curves, r.decisions, r.clients = append(r.curves, other.curves...), append(r.decisions, other.decisions...), append(r.clients, other.clients...)
	r.device = other.device
}
