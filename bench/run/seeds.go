package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"rollcall/bench/settings"
	"rollcall/results/papers"
)

// Task is a cell of a table or figure: what is run with every seed, and its name in log lines.
type Task struct {
	Settings settings.Settings
	Label    string
}

// seedRun is one run of a cell, found or made.
type seedRun struct {
	Experiment
	label     string
	decisions bool

	runs papers.Runs // this run alone
	kept bool        // it was there already
}

// Seeds runs the seeds of the cells, or finds their runs in OUT, and calls finished for one cell after the other, with
// the runs before the first that failed and why that one did.
func (p *Pool) Seeds(ctx context.Context, table string, tasks []Task, seeds []uint32, decisions bool,
	finished func(cell int, runs papers.Runs, failed error) error,
) error {
	runs, jobs := make([][]*seedRun, len(tasks)), make([][]*Job, len(tasks))
	for i, t := range tasks {
		for _, seed := range seeds {
			dir := Folder(p.Sessions[0].Machine.Out, table, t.Settings, seed)
			r := &seedRun{
				Experiment: Experiment{Table: table, Settings: t.Settings, Seed: seed, Dir: dir, Clients: decisions},
				label:      fmt.Sprintf("%s seed %d", t.Label, seed), decisions: decisions,
			}
			runs[i], jobs[i] = append(runs[i], r), append(jobs[i], &Job{Run: dir, Do: r.do})
		}
	}
	return p.Run(ctx, jobs, func(i int) error {
		var all papers.Runs
		kept := 0
		for k, r := range runs[i] {
			if err := jobs[i][k].Err; err != nil {
				return finished(i, all, fmt.Errorf("seed %d: %w", seeds[k], err))
			}
			all.Add(&r.runs)
			if r.kept {
				kept++
			}
		}
		if kept > 0 {
			Logf(p.Stderr, "%s: %s kept\n", tasks[i].Label, Count(kept, "finished run"))
		}
		return finished(i, all, nil)
	})
}

// do finds the run or makes it, and reads it.
func (r *seedRun) do(ctx context.Context, l *Session) error {
	dir, err := r.earlier(ctx, l)
	if err != nil {
		return err
	}
	if r.kept = dir != ""; r.kept {
		err = l.Machine.KeptEvents(dir)
	} else {
		dir = r.Dir
		_, err = r.Do(ctx, l, NewProgress(l.Stderr, r.label))
	}
	if err != nil {
		return err
	}
	return r.runs.Read(dir, r.decisions)
}

// earlier returns the folder of a finished run with the same settings and seed, of whichever table; "" if there is
// none.
func (x *Experiment) earlier(ctx context.Context, l *Session) (dir string, err error) {
	out := l.Machine.Out
	name, seed := filepath.Base(filepath.Dir(x.Dir)), filepath.Base(x.Dir)
	tables, err := os.ReadDir(out)
	if err != nil {
		return "", fmt.Errorf("output folder: %w", err)
	}
	dirs := []string{x.Dir}
	for _, table := range tables { // in order of names, so that the choice is always the same
		dirs = append(dirs, filepath.Join(out, table.Name(), name, seed))
	}
	for _, dir := range dirs {
		finished, err := x.Finished(ctx, l, dir)
		if err != nil {
			return "", err
		}
		if finished {
			return dir, nil
		}
	}
	return "", nil
}
