package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/run/plan"
	"rollcall/bench/settings"
	"rollcall/bench/slurm"
)

// spread is where the runs of a command are made: here, or by the tasks of a Slurm job.
type spread struct {
	slurm, dryRun, collect          bool
	partition, limit, gres, account string
	tasks                           int      // 0: as many as the plan says
	atOnce                          int      // most tasks at a time; 0: no limit
	more                            []string // options of sbatch
}

// slurmFolder is the folder of scripts, numbers and logs of jobs, below that of the table or figure.
const slurmFolder = "slurm"

// collectEvery is the time between two looks at the queue. Tests shorten it.
var collectEvery = 10 * time.Second

// registerSpread adds the flags of commands whose runs may be made elsewhere: table, sweep and figure.
func registerSpread(fs *pflag.FlagSet, s *spread, k *run.Keep) {
	fs.Var(&k.Part, "part", "make only part i of n of the runs, for processes that share no folder; "+
		"results merge puts the parts together")
	fs.BoolVar(&s.slurm, "slurm", false,
		"submit a Slurm array job whose tasks make the runs, on a folder that all nodes see; as large as --plan says")
	fs.BoolVar(&s.dryRun, "dry-run", false, "with --slurm: print the batch script, and submit nothing")
	fs.BoolVar(&s.collect, "collect", false,
		"wait for the tasks of --slurm, now or of an earlier command, and print what they have made; makes no run")
	for _, f := range []struct {
		into       *string
		name, help string
	}{
		{&s.partition, "partition", "partition of the tasks"},
		{&s.limit, "time", "limit of a task, as sbatch takes it; at its end the task is requeued (default: by --plan)"},
		{&s.gres, "gres", "generic resources of a task, such as gpu:1, all of whose cards it uses"},
		{&s.account, "account", "account that is charged"},
	} {
		fs.StringVar(f.into, f.name, "", "with --slurm: "+f.help)
	}
	fs.IntVar(&s.tasks, "tasks", 0, "with --slurm: how many tasks share the runs (default: by --plan)")
	fs.IntVar(&s.atOnce, "array-limit", 0, "with --slurm: most tasks at a time (default: no limit)")
	fs.StringArrayVar(&s.more, "sbatch", nil,
		"with --slurm: another option of sbatch, such as --qos=low; may be repeated")
}

// spreadFlags are the flags that the tasks of a job are not given.
var spreadFlags = []string{
	"slurm", "dry-run", "collect", "partition", "time", "gres", "account", "tasks", "array-limit", "sbatch", "no-wait",
}

// validate reports the first impossible flag, or one that is of no use with the others.
func (s *spread) validate(fs *pflag.FlagSet, m *run.Machine, k *run.Keep) error {
	away := "slurm"
	if !s.slurm {
		away = "collect"
		for _, name := range spreadFlags {
			if fs.Changed(name) && name != "collect" && name != "no-wait" {
				return settings.Usagef("--%s: of no use without --slurm", name)
			}
		}
	}
	checked := *m
	if (s.slurm || s.collect) && s.elsewhere(m) { // the cards of the tasks are not here
		checked.Device, checked.Precision = "cpu", ""
	}
	if err := cmp.Or(checked.ValidateAtOnce(), k.Validate()); err != nil || !s.slurm && !s.collect {
		return err
	}
	for _, name := range []string{"part", "again", "plan"} { // a task that starts again would make its own runs again
		if fs.Changed(name) {
			return settings.Usagef("--%s: of no use with --%s, want one of the two", name, away)
		}
	}
	switch {
	case s.dryRun && s.collect:
		return settings.Usagef("--dry-run: of no use with --collect, want one of the two")
	case s.slurm && m.CheckpointEvery == 0:
		return settings.Usagef("--checkpoint-every 0: a task of --slurm goes on from its checkpoints, want more than 0")
	}
	for _, option := range s.more {
		if !strings.HasPrefix(option, "-") || strings.ContainsAny(option, "\n\r") {
			return settings.Usagef("--sbatch %q: want an option in one line, such as --sbatch=--qos=low", option)
		}
	}
	for _, name := range []string{"tasks", "array-limit"} {
		if n := map[string]int{"tasks": s.tasks, "array-limit": s.atOnce}[name]; fs.Changed(name) &&
			(n < 1 || n > slurm.MostTasks) {
			return settings.Usagef("--%s %d: want 1 … %d", name, n, slurm.MostTasks)
		}
	}
	_, err := s.lead(m)
	return err
}

// lead returns how long before its limit a task is told that its time is up: the grace, and time for Slurm and the
// shell. It is a quarter of a short limit, because Slurm may tell a task a minute earlier than it was asked to.
func (s *spread) lead(m *run.Machine) (lead time.Duration, err error) {
	const margin, least = 40 * time.Second, 5 * time.Second
	if s.limit == "" {
		return m.Grace + margin, nil
	}
	limit, err := slurm.ParseTime(s.limit)
	if err != nil {
		return 0, settings.Usagef("--time %q: %w", s.limit, err)
	}
	if lead = max(m.Grace+least, min(m.Grace+margin, limit/4)); lead > limit/2 {
		return 0, settings.Usagef("--time %s: too short for a task to end in good order within --grace %s, want more "+
			"time or a shorter grace", s.limit, m.Grace)
	}
	return lead, nil
}

// runs is a command whose runs can be made elsewhere.
type runs struct {
	id, title string // of the table or figure
	planned   func(ctx context.Context, p *run.Pool) ([]run.Planned, error)
	here      func(m run.Machine, keep run.Keep) error // makes the runs and shows what comes of them
}

// spread makes the runs where the flags say, and shows what comes of them here, unless they go on elsewhere.
func (a *app) spread(cmd *cobra.Command, s *spread, machine run.Machine, keep run.Keep, of runs) error {
	if !s.slurm && !s.collect {
		return of.here(machine, keep)
	}
	folder := filepath.Join(machine.Out, of.id, slurmFolder)
	if s.slurm {
		more, err := a.submit(cmd, s, machine, keep, of, folder)
		if err != nil || !more || !s.collect {
			return err
		}
	}
	ids, err := slurm.Submitted(folder)
	if err != nil {
		return err
	}
	if len(ids) == 0 && !s.slurm {
		return fmt.Errorf("slurm: %s: no job was submitted, want --slurm first", folder)
	}
	err = slurm.Wait(cmd.Context(), ids, collectEvery, func(t slurm.Tally) {
		run.Logf(a.stderr, "slurm: %s\n", t.Text)
	})
	if errors.Is(err, context.Canceled) {
		run.Logf(a.stderr, "rollcall: the tasks go on, and --collect waits for them again; scancel %s ends them\n",
			strings.Join(ids, " "))
	}
	if err != nil {
		return err
	}
	keep.Look = true
	if s.elsewhere(&machine) { // no engine is opened here
		machine.Device, machine.Precision = "cpu", ""
	}
	err = of.here(machine, keep)
	if err != nil {
		run.Logf(a.stderr, "slurm: the logs of the tasks are in %s\n", folder)
	}
	return err
}

// submit writes the job of what is left to do, and submits or prints it. more reports whether there is anything to wait
// for or to show.
func (a *app) submit(
	cmd *cobra.Command, s *spread, machine run.Machine, keep run.Keep, of runs, folder string,
) (more bool, err error) {
	left, job, err := a.plannedJob(cmd.Context(), s, machine, keep, of)
	if err != nil {
		return false, err
	}
	if left.Runs == 0 {
		run.Logf(a.stderr, "slurm: %s: nothing is left to do: no job\n", of.id)
		return true, nil
	}
	if job.Dir, err = os.Getwd(); err != nil {
		return false, fmt.Errorf("slurm: %w", err)
	}
	if job.Logs, err = filepath.Abs(folder); err != nil {
		return false, fmt.Errorf("slurm: %w", err)
	}
	if job.Command, err = taskCommand(cmd, s); err != nil {
		return false, err
	}
	if cmd.Flags().Changed("threads") {
		job.Threads = machine.Threads
	}
	job.Name, job.TimeUp = "rollcall-"+of.id, statusTimeUp
	job.About = append([]string{of.title, "Made by rollcall " + run.Version() + "."}, job.About...)
	script, err := job.Script()
	if err != nil {
		return false, err
	}
	if s.dryRun {
		_, err = fmt.Fprint(a.stdout, script)
		return false, err
	}
	id, err := slurm.Submit(cmd.Context(), folder, script)
	if err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(a.stdout, "job %s: %s for %s; logs in %s\n", id, run.Count(job.Tasks, "task"),
		run.Count(left.Runs, "run"), folder)
	if !s.collect {
		run.Logf(a.stderr, "slurm: the same command with --collect in place of --slurm waits for the tasks and shows "+
			"what they have made\n")
	}
	return true, err
}

// plannedJob returns what is left to do, and a job of the size for it.
func (a *app) plannedJob(
	ctx context.Context, s *spread, machine run.Machine, keep run.Keep, of runs,
) (left plan.Left, job slurm.Job, err error) {
	job = slurm.Job{
		Partition: s.partition, Account: s.account, Gres: s.gres, Time: s.limit, AtOnce: s.atOnce, More: s.more,
	}
	if job.Lead, err = s.lead(&machine); err != nil {
		return left, job, err
	}
	measured := !s.elsewhere(&machine)
	if !measured { // the machine of the tasks cannot be asked, and what they have made is taken as it is
		machine.Device, machine.Precision, keep.Look = "cpu", "", true
	}
	p := a.pool(machine, keep)
	planned, err := of.planned(ctx, p)
	if err != nil {
		return left, job, errors.Join(err, p.Close())
	}
	made, err := plan.Make(ctx, of.title, p, planned)
	if err := errors.Join(err, p.Close()); err != nil {
		return left, job, err
	}
	left = made.Left()
	if left.Runs == 0 {
		return left, job, nil
	}
	work := slurm.Work{
		Runs: left.Runs, All: left.All, Longest: left.Longest, Known: measured,
		AtOnce: max(1, slurm.Cards(s.gres)),
	}
	job.Tasks = cmp.Or(s.tasks, slurm.Tasks(work))
	if job.Time == "" {
		job.Time = slurm.Limit(work, job.Tasks)
	}
	about := left.Words
	if !measured {
		about = run.Count(left.Runs, "run") + " left; nobody has measured a card like those of the tasks here"
	} else if need := made.Largest.Bytes * int64(machine.AtOnce); !machine.OnCard() && need >= 1e9 {
		job.MemoryMiB = (need*5/4)>>20 + 512 // the largest run, and what a process takes besides
	}
	job.About = append(made.Notes, about)
	return left, job, nil
}

// elsewhere reports whether the tasks have cards and this machine has none, so that it cannot measure for them.
func (s *spread) elsewhere(m *run.Machine) bool {
	wants := strings.HasPrefix(m.Device, "cuda") || m.Device == "auto" && slurm.Cards(s.gres) > 0
	return wants && !m.OnCard()
}

// taskCommand returns the command line of a task: this one without the flags of the job.
func taskCommand(cmd *cobra.Command, s *spread) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	words := append([]string{program, cmd.Name()}, cmd.Flags().Args()...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(spreadFlags, f.Name) {
			return
		}
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok { // whose text has brackets
			value = strings.Join(list.GetSlice(), ",")
		}
		if slices.Contains(methodFlags, f.Name) {
			value = scriptPaths(value)
		}
		words = append(words, "--"+f.Name+"="+value)
	})
	// A task that has cards trains on all of them, and never on the processor because a card cannot be used.
	if slurm.Cards(s.gres) > 0 && !cmd.Flags().Changed("device") {
		words = append(words, "--device=cuda:all")
	}
	return append(words, "--no-wait"), nil
}
