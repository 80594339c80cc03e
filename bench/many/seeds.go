package many

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rollcall/bench/run"
	"rollcall/bench/run/folder"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// Task is a cell of a table or figure: the settings of its runs, one run for every seed, and its name in log lines.
type Task struct {
	Settings settings.Settings
	Label    string
	Own      bool // the runs must stand in the table's own folder, and are copied there from other tables
	StopAt   *int // see [run.Experiment]
	From     int  // the rounds before are another command's or another task's, from which the runs resume
}

// work returns the cost of a run of the task.
func (t *Task) work() progress.Work {
	work := run.Work(t.Label, &t.Settings)
	work.From = t.From
	if t.StopAt != nil {
		work.Rounds = min(*t.StopAt, work.Rounds)
	}
	return work
}

// Expect says which tasks the caller will have made later, with so many seeds each: the progress counts them among all
// runs of the command.
func (p *Pool) Expect(tasks []Task, seeds int) {
	var works []progress.Work
	for i := range tasks {
		for range seeds {
			works = append(works, tasks[i].work())
		}
	}
	p.progress.Expect(works)
}

func (t *Task) run(p *Pool, table string, seed uint32, decisions bool) *seedRun {
	out := p.Sessions[0].Machine.Out
	x := run.Experiment{
		Table: table, Settings: t.Settings, Seed: seed, Decisions: decisions, StopAt: t.StopAt, Own: t.Own,
		Dir: run.Folder(out, table, t.Settings, seed),
	}
	return &seedRun{x: x, pool: p}
}

// seedRun is one run of a cell, to be found or trained.
type seedRun struct {
	x        run.Experiment
	pool     *Pool
	progress progress.Run
	unmade   error // why this command does not train the run, if it is not there already; nil: it does

	run  results.Run // once it is found or trained
	kept bool        // it was found
}

// Undone counts the runs that a command has left undone, and why.
type Undone struct {
	Parts   int // runs of other parts
	Held    int // runs of its own part that other processes make and that were not waited for
	Refused int // runs whose folders have other work
}

func (u *Undone) count(err error) {
	switch {
	case run.IsRefused(err):
		u.Refused++
	case isOfOtherPart(err):
		u.Parts++
	case IsElsewhere(err):
		u.Held++
	}
}

// WaysOut says what to do about a refused run.
const WaysOut = "--replace moves the old work aside and trains the run again, --mixed accepts a finished run of " +
	"other " +
	"numerics or data, another --out leaves all as it is"

// Words says how many runs were refused, and what to do; "": none.
func (u *Undone) Words() string {
	if u.Refused == 0 {
		return ""
	}
	return files.Count(u.Refused, "run") + " refused, whose folders stay as they are: " + WaysOut
}

// Seeds finds or makes the runs of all cells with all seeds. It calls finished for every cell in order, with the runs
// it has and the reason why others are missing, see [failures]. Runs that diverged are among the runs.
func (p *Pool) Seeds(ctx context.Context, table string, tasks []Task, seeds []uint32, decisions bool,
	finished func(cell int, runs papers.Runs, failed error) error,
) (left Undone, err error) {
	if err := p.fetch(ctx, table, tasks, seeds); err != nil {
		return left, err
	}
	runs, jobs := make([][]*seedRun, len(tasks)), make([][]*Job, len(tasks))
	ofPart := p.keysOfPart(table, tasks, seeds)
	for i, t := range tasks {
		for _, seed := range seeds {
			r := t.run(p, table, seed, decisions)
			work := t.work()
			r.progress = p.progress.Run(fmt.Sprintf("%s seed %d", t.Label, seed), work)
			switch {
			case p.Keep.Look:
				r.unmade = run.Final(fmt.Errorf("%s: not finished", r.x.Dir))
			case !ofPart[r.key()]:
				r.unmade = &OtherPartError{Part: p.Keep.Part, Runs: 1}
				r.progress.Stop()
			}
			if p.Keep.Again { // for all runs at once: what another process makes from now on is kept
				r.x.Was = folder.StampOf(r.x.Dir)
			}
			runs[i] = append(runs[i], r)
			jobs[i] = append(jobs[i], &Job{Run: r.x.Dir, Do: r.do, Work: r.left(&work)})
		}
	}
	err = p.Run(ctx, jobs, func(i int) error {
		var done []results.Run
		kept := 0
		for _, r := range runs[i] {
			r.progress.Stop() // runs that were never begun have a progress too
		}
		for k, r := range runs[i] {
			if err := jobs[i][k].Err; err != nil {
				left.count(err)
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
			run.Logf(p.Stderr, "%s: %s kept\n", tasks[i].Label, files.Count(kept, "finished run"))
		}
		all, err := joinSeeds(done, decisions, p.Keep.Mixed)
		for _, r := range all.Diverged {
			run.Logf(p.Stderr, "rollcall: %s: seed %d: %s\n", tasks[i].Label, r.Seed, r.Info.Error)
		}
		return finished(i, all, errors.Join(failed, err))
	})
	return left, err
}

// key names the run in [Part.Keys].
func (r *seedRun) key() RunKey {
	return RunKey{Cell: filepath.Base(filepath.Dir(r.x.Dir)), Seed: r.x.Seed}
}

// keysOfPart returns which runs of the tasks are in the part of this command.
func (p *Pool) keysOfPart(table string, tasks []Task, seeds []uint32) map[RunKey]bool {
	var keys []RunKey
	for _, t := range tasks {
		for _, seed := range seeds {
			keys = append(keys, t.run(p, table, seed, false).key())
		}
	}
	return p.Keep.Part.Keys(keys)
}

// seedsError is the reason why some seeds of a cell have no run.
type seedsError struct {
	seeds []uint32
	text  string
	error // the first seed's
}

func (e *seedsError) Error() string { return results.OfSeeds(e.seeds, e.text) }

func (e *seedsError) Unwrap() error { return e.error }

// failures returns the reasons why seeds have no run, one error per reason. A reason names the folder of several runs
// as seed-*. If other processes train all missing runs, the error is an *[run.ElsewhereError], and nothing has failed.
func failures(runs []*seedRun, jobs []*Job) error {
	var all []error
	of := map[string]*seedsError{} // by the reason
	var elsewhere error
	for k, j := range jobs {
		switch {
		case j.Err == nil:
		case IsElsewhere(j.Err):
			elsewhere = j.Err
		default:
			seed := runs[k].x.Seed
			text := j.Err.Error()
			reason := strings.ReplaceAll(text, runs[k].x.Dir, filepath.Join(filepath.Dir(runs[k].x.Dir), "seed-*"))
			if refused, is := errors.AsType[*folder.RefusedError](j.Err); is {
				text, reason = refused.String(), refused.String() // the folder is that of the cell
			}
			if e := of[reason]; e != nil {
				e.seeds, e.text = append(e.seeds, seed), reason
				continue
			}
			of[reason] = &seedsError{[]uint32{seed}, text, j.Err}
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
				"train them again", runs[0].Dir, runs[i].Dir, strings.Join(differ, "; "))
		}
		if err := all.Add(&runs[i], decisions); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (r *seedRun) do(ctx context.Context, ses *run.Session) (err error) {
	if r.x.Others, err = r.others(); err != nil {
		return err
	}
	if r.unmade != nil {
		return r.look(ctx, ses)
	}
	m, err := r.x.Do(ctx, ses, r.pool.Keep.Keep, r.progress)
	if err != nil && !run.IsDiverged(err) {
		return err
	}
	r.run, r.kept = *m.Run, m.Kept
	r.progress.Stop()
	return nil
}

// look reads the run if it is finished, and changes nothing.
func (r *seedRun) look(ctx context.Context, ses *run.Session) error {
	d, done, err := r.x.Look(ctx, ses, r.pool.Keep.Keep)
	if err != nil {
		return err
	}
	switch d := d.(type) {
	case folder.Keep:
		done = d.Run
	case folder.Refuse:
		return &folder.RefusedError{Dir: r.x.Dir, Refuse: d}
	case folder.Resume:
		if d.Finished != nil {
			done = d.Finished
		}
	}
	if done == nil {
		if info, err := results.ReadRunInfo(filepath.Join(r.x.Dir, results.RunFile)); err == nil && r.pool.Keep.Look {
			return run.Final(fmt.Errorf("%s: %s", r.x.Dir, cmp.Or(info.Error, string(info.Status))))
		}
		return r.unmade
	}
	r.run, r.kept = *done, true
	r.progress.Stop()
	return nil
}

// others returns the folders of other tables below OUT in which the same run may be.
func (r *seedRun) others() (dirs []string, err error) {
	out := r.pool.Sessions[0].Machine.Out
	tables, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) { // as for a plan
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	cell, seed := filepath.Base(filepath.Dir(r.x.Dir)), filepath.Base(r.x.Dir)
	for _, table := range tables { // ReadDir sorts by name, so that the choice is always the same
		if dir := filepath.Join(out, table.Name(), cell, seed); dir != r.x.Dir {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// Drop removes the checkpoints of stopped runs that nobody resumes, unless checkpoints are to be kept or another
// process makes the run.
func (p *Pool) Drop(ctx context.Context, table string, t Task, seeds []uint32) error {
	for _, seed := range seeds {
		x := t.run(p, table, seed, false).x
		if err := x.RemoveCheckpoints(ctx, p.Sessions[0], p.Keep.Keep); err != nil {
			return err
		}
	}
	return nil
}
