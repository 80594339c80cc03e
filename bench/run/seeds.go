package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rollcall/bench/run/part"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// Task is a cell of a table or figure: the settings of its runs, one run for every seed, and its name in log lines.
type Task struct {
	Settings settings.Settings
	Label    string
	Own      bool // the runs must stand in the table's own folder, and are copied there from other tables
	StopAt   *int // see [Experiment]
}

// run returns the run of a task with a seed.
func (t *Task) run(p *Pool, table string, seed uint32, decisions bool) *seedRun {
	return &seedRun{
		Experiment: Experiment{
			Table: table, Settings: t.Settings, Seed: seed, Decisions: decisions, StopAt: t.StopAt,
			Dir: Folder(p.Sessions[0].Machine.Out, table, t.Settings, seed),
		},
		own: t.Own, pool: p,
	}
}

// seedRun is one run of a cell, to be found or made.
type seedRun struct {
	Experiment
	own      bool
	pool     *Pool
	progress progress.Run
	unmade   error // why this command does not make the run, if it is not there already; nil: it makes it

	was  found       // the folder when the command began
	run  results.Run // once it is found or made
	kept bool        // it was found
}

// Seeds finds or makes the runs of all cells with all seeds. It calls finished for every cell in order, with the runs
// it has and the reason why others are missing, see [failures]. Runs that diverged are among the runs. elsewhere counts
// the runs that other processes make and that were not waited for.
func (p *Pool) Seeds(ctx context.Context, table string, tasks []Task, seeds []uint32, decisions bool,
	finished func(cell int, runs papers.Runs, failed error) error,
) (elsewhere int, err error) {
	runs, jobs := make([][]*seedRun, len(tasks)), make([][]*Job, len(tasks))
	ofPart := p.keysOfPart(table, tasks, seeds)
	for i, t := range tasks {
		for _, seed := range seeds {
			r := t.run(p, table, seed, decisions)
			work := Work(t.Label, &t.Settings)
			work.Rounds = r.rounds()
			r.progress = p.progress.Run(fmt.Sprintf("%s seed %d", t.Label, seed), work)
			switch {
			case p.Keep.Look:
				r.unmade = &finalError{fmt.Errorf("%s: not finished", r.Dir)}
			case !ofPart[r.key()]:
				r.unmade = &ElsewhereError{Part: p.Keep.Part, Runs: 1}
				r.progress.Stop()
			}
			if p.Keep.Again { // for all runs at once: what another process makes from now on is kept
				r.was = r.found()
			}
			runs[i] = append(runs[i], r)
			jobs[i] = append(jobs[i], &Job{Run: r.Dir, Do: r.do, Work: r.left(&work, p.Keep)})
		}
	}
	err = p.Run(ctx, jobs, func(i int) error {
		var done []results.Run
		kept := 0
		for _, r := range runs[i] {
			r.progress.Stop() // runs that were never begun have a progress too
		}
		for k, r := range runs[i] {
			if err := jobs[i][k].Err; isElsewhere(err) {
				elsewhere++
			}
			if jobs[i][k].Err != nil {
				continue
			}
			done = append(done, r.run)
			r.run = results.Run{} // frees the curve: the job itself lives as long as the table
			if r.kept {
				kept++
			}
		}
		failed := failures(runs[i], jobs[i])
		if kept > 0 {
			Logf(p.Stderr, "%s: %s kept\n", tasks[i].Label, Count(kept, "finished run"))
		}
		all, err := joinSeeds(done, decisions, p.Keep.Mixed)
		for _, r := range all.Diverged {
			Logf(p.Stderr, "rollcall: %s: seed %d: %s\n", tasks[i].Label, r.Seed, r.Info.Error)
		}
		return finished(i, all, errors.Join(failed, err))
	})
	return elsewhere, err
}

// key names the run in [part.Part.Keys].
func (r *seedRun) key() part.Key {
	return part.Key{Cell: filepath.Base(filepath.Dir(r.Dir)), Seed: r.Seed}
}

// keysOfPart returns which runs of the tasks are in the part of this command.
func (p *Pool) keysOfPart(table string, tasks []Task, seeds []uint32) map[part.Key]bool {
	var keys []part.Key
	for _, t := range tasks {
		for _, seed := range seeds {
			keys = append(keys, t.run(p, table, seed, false).key())
		}
	}
	return p.Keep.Part.Keys(keys)
}

// seedsError is the reason why some seeds of a cell have no run.
type seedsError struct {
	seeds []string
	text  string
	error // the first seed's
}

func (e *seedsError) Error() string {
	word := "seed "
	if len(e.seeds) > 1 {
		word = "seeds "
	}
	return word + strings.Join(e.seeds, ", ") + ": " + e.text
}

func (e *seedsError) Unwrap() error { return e.error }

// failures returns the reasons why seeds have no run, one error per reason. A reason names the folder of several runs
// as seed-*. If all missing runs are made by other processes, the error is an *[ElsewhereError] and nothing has failed.
func failures(runs []*seedRun, jobs []*Job) error {
	var all []error
	of := map[string]*seedsError{} // by the reason
	var elsewhere error
	for k, j := range jobs {
		switch {
		case j.Err == nil:
		case isElsewhere(j.Err):
			elsewhere = j.Err
		default:
			seed := fmt.Sprint(runs[k].Seed)
			reason := strings.ReplaceAll(j.Err.Error(), runs[k].Dir, filepath.Join(filepath.Dir(runs[k].Dir), "seed-*"))
			if e := of[reason]; e != nil {
				e.seeds, e.text = append(e.seeds, seed), reason
				continue
			}
			of[reason] = &seedsError{[]string{seed}, j.Err.Error(), j.Err}
			all = append(all, of[reason])
		}
	}
	if all == nil {
		return elsewhere
	}
	return errors.Join(all...)
}

// joinSeeds returns the runs of a cell as one value. It refuses seeds with the same numbers, which are copies, and
// seeds that are not alike unless they are to be mixed: a mean over them would say nothing.
func joinSeeds(runs []results.Run, decisions, mixed bool) (all papers.Runs, err error) {
	if twins := results.RefuseTwins(runs); twins != nil {
		return all, errors.Join(twins...)
	}
	for i := range runs {
		if differ := runs[0].Likeness().Unlike(runs[i].Likeness()); differ != nil && !mixed {
			return papers.Runs{}, fmt.Errorf("%s and %s are not alike: %s: want --mixed to take both, or --again to "+
				"run them anew", runs[0].Dir, runs[i].Dir, strings.Join(differ, "; "))
		}
		if err := all.Add(&runs[i], decisions); err != nil {
			return all, err
		}
	}
	return all, nil
}

// do finds the run or makes it, and reads it. It claims the run first. A finished run can be kept without a claim, so
// that a folder that cannot be written to serves for reading.
func (r *seedRun) do(ctx context.Context, l *Session) (err error) {
	if r.unmade != nil {
		return r.look(ctx, l)
	}
	release, unclaimed := r.take(&r.pool.Watch)
	if isElsewhere(unclaimed) {
		return unclaimed
	}
	if unclaimed == nil {
		defer func() { err = errors.Join(err, release()) }()
	}
	kept, err := r.find(ctx, l)
	if err != nil {
		return err
	}
	copied := kept != nil && kept.Dir != r.Dir && r.own
	if unclaimed != nil && (kept == nil || copied) {
		return unclaimed
	}
	if r.kept = kept != nil; !r.kept {
		return r.make(ctx, l)
	}
	if copied {
		if kept, err = results.Adopt(kept, r.Dir, r.Table); err != nil {
			return err
		}
	}
	r.run = *kept
	r.progress.Stop()
	l.KeptEvents(kept)
	if unclaimed != nil || kept.Status() == results.RunInterrupted { // a stopped run needs its checkpoints
		return nil
	}
	return r.Tidy(l)
}

// look reads the run if it is finished, and changes nothing.
func (r *seedRun) look(ctx context.Context, l *Session) error {
	kept, err := r.find(ctx, l)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist): // the output folder need not be there
		return err
	case kept == nil:
		if info, err := results.ReadRunInfo(filepath.Join(r.Dir, results.RunFile)); err == nil && r.pool.Keep.Look {
			return &finalError{fmt.Errorf("%s: %s", r.Dir, cmp.Or(info.Error, string(info.Status)))}
		}
		return r.unmade
	}
	r.run, r.kept = *kept, true
	r.progress.Stop()
	return nil
}

// find returns the finished run that is to be kept; nil: there is none.
func (r *seedRun) find(ctx context.Context, l *Session) (*results.Run, error) {
	if r.pool.Keep.Again {
		return r.keptSince(ctx, l, r.was, r.pool.Keep)
	}
	return r.earlier(ctx, l, r.pool.Keep)
}

// make makes the run and reads it back from its files.
func (r *seedRun) make(ctx context.Context, l *Session) error {
	r.Anew = r.pool.Keep.Again && r.was.any
	_, err := r.Do(ctx, l, r.progress)
	if isLost(err) {
		Logf(l.Stderr, "rollcall: %s\n", settings.OneLine(err))
	}
	if err != nil && !IsDiverged(err) {
		return err
	}
	run, bad := results.ReadRunFolder(r.Dir)
	r.run = run
	return errors.Join(bad...)
}

// earlier returns the finished run with the same settings and seed, from any table below OUT; nil: there is none. The
// run's own folder comes first.
func (r *seedRun) earlier(ctx context.Context, l *Session, keep Keep) (*results.Run, error) {
	out := l.Machine.Out
	if keep.Again {
		return nil, nil // no run, and nothing wrong
	}
	name, seed := filepath.Base(filepath.Dir(r.Dir)), filepath.Base(r.Dir)
	tables, err := os.ReadDir(out)
	if err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	dirs := []string{r.Dir}
	for _, table := range tables { // ReadDir sorts by name, so that the choice is always the same
		if dir := filepath.Join(out, table.Name(), name, seed); dir != r.Dir {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		run, err := r.Kept(ctx, l, dir, keep)
		if err != nil {
			return nil, err
		}
		if run == nil {
			continue
		}
		return run, nil
	}
	return nil, nil // none is there, and nothing wrong
}
