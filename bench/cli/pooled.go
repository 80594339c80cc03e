package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/many"
	"rollcall/bench/many/plan"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/bench/slurm"
	"rollcall/internal/files"
)

// pooled is a command that makes many runs: table, sweep, figure or tune. The runs are made here, or by the tasks of a
// Slurm job.
type pooled struct {
	*app
	cmd     *cobra.Command
	machine run.Machine
	keep    many.Keep

	format                          string // of --plan
	slurm, dryRun, collect          bool
	partition, limit, gres, account string
	tasks                           int      // 0: as many as the plan says
	atOnce                          int      // most tasks at a time; 0: no limit
	more                            []string // options of sbatch
	prologue                        []string // lines of shell before the command
}

// slurmFolder is the folder of scripts, numbers and logs of jobs, below that of the table or figure.
const slurmFolder = "slurm"

// CollectEvery is the time between two looks at the queue. Tests shorten it.
var CollectEvery = 10 * time.Second

// pooled adds the flags of a command that makes many runs.
func (a *app) pooled(cmd *cobra.Command) *pooled {
	s := &pooled{app: a, cmd: cmd}
	fs := cmd.Flags()
	registerPool(fs, &s.machine, &s.keep)
	settings.Under(settings.Workers, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&s.format, "format", "text",
			"of --plan: text, or json: every run with the command that trains it alone, for schedulers")
		fs.Var(&s.keep.Part, "part", "train only part i of n of the runs, for schedulers; if the parts share no "+
			"folder, results merge merges them")
	})
	settings.Under(settings.Slurm, fs, s.registerSlurm)
	return s
}

// registerSlurm adds the flags of jobs.
func (s *pooled) registerSlurm(fs *pflag.FlagSet) {
	fs.BoolVar(&s.slurm, "slurm", false,
		"submit a Slurm array job whose task i trains part i of n, on a folder that all nodes see; "+
			"--plan sets its size")
	fs.BoolVar(&s.dryRun, "dry-run", false, "with --slurm: print the batch script, and submit nothing")
	fs.BoolVar(&s.collect, "collect", false,
		"wait for the tasks of --slurm, of this or an earlier command, and print their results; trains nothing")
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
	fs.IntVar(&s.tasks, "tasks", 0,
		"with --slurm: the number n of parts, one for each task (default: as before, or by --plan)")
	fs.IntVar(&s.atOnce, "array-limit", 0, "with --slurm: largest number of tasks at a time (default: no limit)")
	fs.StringArrayVar(&s.more, "sbatch", nil,
		"with --slurm: another option of sbatch, such as --qos=low; may be repeated")
	fs.StringArrayVar(&s.prologue, "prologue", nil,
		"with --slurm: a line of shell before the command, such as 'module load cuda'; may be repeated")
}

// jobFlags are the flags that the tasks of a job are not given.
var jobFlags = []string{
	"slurm", "dry-run", "collect", "partition", "time", "gres", "account", "tasks", "array-limit", "sbatch", "prologue",
	"no-wait", "format",
}

// validate reports the first impossible flag, or one that is of no use with the others.
func (s *pooled) validate() error {
	fs, m := s.cmd.Flags(), &s.machine
	away := "slurm"
	if !s.slurm {
		away = "collect"
		for _, name := range jobFlags {
			if fs.Changed(name) && !slices.Contains([]string{"collect", "no-wait", "format"}, name) {
				return settings.Usagef("--%s: of no use without --slurm", name)
			}
		}
	}
	if err := settings.OneOf("format", s.format, []string{"text", "json"}); err != nil {
		return err
	}
	if fs.Changed("format") && !m.Plan {
		return settings.Usagef("--format %s: of no use without --plan", s.format)
	}
	checked := *m
	if (s.slurm || s.collect) && s.elsewhere() { // the cards of the tasks are not here
		checked.Device, checked.Precision = "cpu", ""
	}
	if err := cmp.Or(checked.ValidateAtOnce(), s.keep.Validate()); err != nil || !s.slurm && !s.collect {
		return err
	}
	// A task that starts again would make its own runs again.
	for _, name := range []string{"part", "again", "plan", "rung"} {
		if fs.Changed(name) {
			return settings.Usagef("--%s: of no use with --%s, want one of the two", name, away)
		}
	}
	switch {
	case s.dryRun && s.collect:
		return settings.Usagef("--dry-run: of no use with --collect, want one of the two")
	case s.slurm && m.CheckpointEvery == 0:
		return settings.Usagef("--checkpoint-every 0: a task of --slurm resumes from its checkpoints, want more than 0")
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
	_, err := s.lead()
	return err
}

// lead returns how long before its limit a task is told that its time is up: the grace, and time for Slurm and the
// shell. It is a quarter of a short limit, because Slurm may tell a task a minute earlier than it was asked to.
func (s *pooled) lead() (lead time.Duration, err error) {
	const margin, least = 40 * time.Second, 5 * time.Second
	m := &s.machine
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

type planned struct {
	id, title string // of the table, the figure or the tuning
	runs      func(ctx context.Context, p *many.Pool) ([]many.Planned, error)
	stages    func(ctx context.Context, p *many.Pool) ([]stage, error) // nil: all runs, in one
}

// stage is runs that an array job makes once the stage before it is made.
type stage struct {
	name  string   // of its folder below slurmFolder; empty: that folder itself
	flags []string // of its tasks
	runs  []many.Planned
}

// begin prints the plan, submits the runs to Slurm or waits for them there, where the flags say so. here reports
// whether the command then makes the runs here, or shows what Slurm's tasks have made.
func (s *pooled) begin(of planned) (here bool, err error) {
	switch {
	case s.machine.Plan:
		return false, s.plan(of)
	case !s.slurm && !s.collect:
		return true, nil
	}
	folder := s.logs(of.id)
	if s.slurm {
		more, err := s.submit(of, folder)
		if err != nil || !more || !s.collect {
			return false, err
		}
	}
	jobs, err := slurm.Submitted(folder)
	if err != nil {
		return false, err
	}
	if len(jobs) == 0 && !s.slurm {
		return false, fmt.Errorf("slurm: %s: no job was submitted, want --slurm first", folder)
	}
	var ids []string
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	err = slurm.Wait(s.cmd.Context(), ids, CollectEvery, func(t slurm.Tally) {
		run.Logf(s.stderr, "slurm: %s\n", t.Text)
	})
	if errors.Is(err, context.Canceled) {
		run.Logf(s.stderr, "rollcall: the tasks continue, and --collect waits for them again; scancel %s ends them\n",
			strings.Join(ids, " "))
	}
	if err != nil {
		return false, err
	}
	s.keep.Look = true
	if s.elsewhere() { // no engine is opened here
		s.machine.Device, s.machine.Precision = "cpu", ""
	}
	return true, nil
}

// logs returns the folder of the job's scripts, numbers and logs.
func (s *pooled) logs(id string) string { return filepath.Join(s.machine.Out, id, slurmFolder) }

// end returns the error of a command, and says where the reasons are if tasks have made the runs, and whether it
// resumes.
func (s *pooled) end(id string, err error) error {
	if err != nil && s.collect {
		run.Logf(s.stderr, "slurm: the logs of the tasks are in %s\n", s.logs(id))
	}
	return s.orResumes(err)
}

// submit writes the jobs of what is left to do, and submits or prints them. more reports whether there is anything to
// wait for or to show.
func (s *pooled) submit(of planned, folder string) (more bool, err error) {
	jobs, err := s.jobs(of, folder)
	if err != nil {
		return false, err
	}
	if len(jobs) == 0 {
		run.Logf(s.stderr, "slurm: %s: nothing is left to do: no job\n", of.id)
		return true, nil
	}
	after := ""
	for _, job := range jobs {
		script, err := job.Script()
		if err != nil {
			return false, err
		}
		if s.dryRun {
			if _, err := fmt.Fprint(s.stdout, script); err != nil {
				return false, err
			}
			continue
		}
		if after, err = slurm.Submit(s.cmd.Context(), job.Logs, script, job.Parts, after); err != nil {
			return false, err
		}
		if _, err = fmt.Fprintf(s.stdout, "job %s: %s; logs in %s\n", after, job.About[0], job.Logs); err != nil {
			return false, err
		}
	}
	if !s.collect && !s.dryRun {
		run.Logf(s.stderr, "slurm: the same command with --collect in place of --slurm waits for the tasks and shows "+
			"their results\n")
	}
	return !s.dryRun, nil
}

// jobs returns a job for each stage that has something left to do.
func (s *pooled) jobs(of planned, folder string) (jobs []slurm.Job, err error) {
	machine, keep := s.machine, s.keep
	base := slurm.Job{
		Name: "rollcall-" + of.id, TimeUp: StatusTimeUp, Partition: s.partition, Account: s.account, Gres: s.gres,
		Time: s.limit, AtOnce: s.atOnce, More: s.more, Prologue: s.prologue,
	}
	if base.Lead, err = s.lead(); err != nil {
		return nil, err
	}
	if base.Dir, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	command, err := s.taskCommand()
	if err != nil {
		return nil, err
	}
	if s.cmd.Flags().Changed("threads") {
		base.Threads = machine.Threads
	}
	measured := !s.elsewhere()
	if !measured { // the machine of the tasks cannot be asked, and what they have made is taken as it is
		machine.Device, machine.Precision, keep.Look = "cpu", "", true
	}
	stages, made, err := s.planStages(machine, keep, of)
	if err != nil || made.Left().Runs == 0 {
		return nil, err
	}
	left := made.Left()
	about := left.Words
	if !measured {
		about = files.Count(left.Runs, "run") + " left; the cards of the tasks were not measured here"
	} else if need := made.Largest.Bytes * int64(machine.AtOnce); !machine.OnCard() && need >= 1e9 {
		base.MemoryMiB = (need*5/4)>>20 + 512 // the largest run, and what a process takes besides
	}
	cards := max(1, slurm.Cards(s.gres))
	runs := made.Runs
	for _, st := range stages {
		job, of := base, runs[:len(st.runs)]
		runs = runs[len(st.runs):]
		job.Logs = filepath.Join(folder, st.name)
		if job.Parts, err = s.parts(job.Logs, of, slurm.Work{
			Known: measured, Cards: cards, AtOnce: cards * machine.AtOnce,
		}); err != nil {
			return nil, err
		}
		n, largest := 0, time.Duration(0)
		job.Tasks, n, largest = tasksLeft(of, job.Parts, cards)
		if n == 0 {
			continue
		}
		if job.Time == "" {
			job.Time = slurm.Limit(largest, measured)
		}
		what := fmt.Sprintf("%s for %s", files.Count(len(job.Tasks), "task"), files.Count(n, "run"))
		if st.name != "" {
			job.Name, what = job.Name+"-"+st.name, what+" of "+st.name
		}
		job.Command = slices.Concat(command, st.flags, []string{"--no-wait"})
		job.About = slices.Concat(
			[]string{what, made.Title, "Made by rollcall " + run.Version() + "."}, made.Notes, []string{about})
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// planStages plans all stages of a command, with the work of runs that are kept: parts are the same at every time.
func (s *pooled) planStages(
	machine run.Machine, keep many.Keep, of planned,
) (stages []stage, made *plan.Plan, err error) {
	ctx, p := s.cmd.Context(), many.NewPool(s.stderr, machine, keep)
	defer func() { err = errors.Join(err, p.Close()) }()
	if of.stages != nil {
		stages, err = of.stages(ctx, p)
	} else {
		stages = make([]stage, 1)
		stages[0].runs, err = of.runs(ctx, p)
	}
	if err != nil {
		return nil, nil, err
	}
	var all []many.Planned
	for _, st := range stages {
		all = append(all, st.runs...)
	}
	if !slices.ContainsFunc(all, func(r many.Planned) bool { return r.Left() }) {
		return stages, &plan.Plan{}, nil // and nothing is measured
	}
	made, err = plan.Make(ctx, of.title, p, all, true)
	return stages, made, err
}

// parts returns how many parts the runs of a stage have: as many as --tasks says, or as an earlier job had, or by work.
func (s *pooled) parts(folder string, of []plan.Run, w slurm.Work) (int, error) {
	earlier, err := slurm.Submitted(folder)
	if err != nil || s.tasks > 0 {
		return s.tasks, err
	}
	for _, job := range slices.Backward(earlier) {
		if job.Parts > 0 {
			run.Logf(s.stderr, "slurm: %s as in job %s (--tasks changes it)\n", files.Count(job.Parts, "part"), job.ID)
			return job.Parts, nil
		}
	}
	sec := 0.0
	for _, r := range of {
		if !r.Twin {
			w.Runs, sec = w.Runs+1, sec+r.Whole
		}
	}
	w.All = plan.Seconds(sec)
	return slurm.Tasks(w), nil
}

// tasksLeft returns the parts that have runs left, how many runs these are, and how long the largest part takes on its
// cards.
func tasksLeft(of []plan.Run, parts, cards int) (tasks []int, n int, largest time.Duration) {
	var keys []many.RunKey
	for i := range of {
		keys = append(keys, of[i].Key())
	}
	deal, left, sec := many.Deal(keys, parts), map[int]bool{}, map[int]float64{}
	for i := range of {
		if r, in := &of[i], deal[keys[i]]; r.Left() {
			n, left[in] = n+1, true
			sec[in] += r.Sec / float64(cards)
			largest = max(largest, plan.Seconds(max(sec[in], r.Sec)))
		}
	}
	return slices.Sorted(maps.Keys(left)), n, largest
}

// elsewhere reports whether the tasks have cards and this machine has none, so that it cannot measure for them.
func (s *pooled) elsewhere() bool {
	m := &s.machine
	wants := strings.HasPrefix(m.Device, "cuda") || m.Device == "auto" && slurm.Cards(s.gres) > 0
	return wants && !m.OnCard()
}

// taskCommand returns the command line of a task: this one without the flags of the job.
func (s *pooled) taskCommand() ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	words := append([]string{program}, s.words(func(f *pflag.Flag) bool {
		return !slices.Contains(jobFlags, f.Name)
	})...)
	// A task that has cards trains on all of them, and never on the processor because a card cannot be used.
	if slurm.Cards(s.gres) > 0 && !s.cmd.Flags().Changed("device") {
		words = append(words, "--device=cuda:all")
	}
	return words, nil
}

// words returns the command line without the program, with those of its flags that are wanted. Files have their paths
// from the root, so that it may be repeated in any folder.
func (s *pooled) words(wanted func(f *pflag.Flag) bool) []string {
	words := append([]string{s.cmd.Name()}, s.cmd.Flags().Args()...)
	s.cmd.Flags().Visit(func(f *pflag.Flag) {
		if !wanted(f) {
			return
		}
		list, isList := f.Value.(pflag.SliceValue)
		values := []string{f.Value.String()} // of a list, its text has brackets
		switch kind := f.Value.Type(); {
		case isList && (kind == "stringArray" || settings.TakesCommas(f)):
			values = list.GetSlice()
		case isList:
			for i, value := range list.GetSlice() {
				values = append(values[:i], absolute(f.Name, value))
			}
			values = []string{settings.JoinList(values)}
		}
		for _, value := range values {
			switch value = asGiven(f.Name, value); {
			case f.Name == "cell":
				value = cellPaths(value)
			case !isList || settings.TakesCommas(f):
				value = absolute(f.Name, value)
			}
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return words
}

func (s *pooled) plan(of planned) error {
	ctx, p := s.cmd.Context(), s.pool()
	runs, err := of.runs(ctx, p)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	made, err := plan.Make(ctx, of.title, p, runs, false)
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	if s.format != "json" {
		return made.Write(s.stdout)
	}
	common := runFlags(s.cmd.Flags())
	return made.WriteJSON(s.stdout, s.machine.Out, func(r *many.Planned, id string) ([]string, error) {
		words, err := runWords(r, id)
		return append(words, common...), err
	})
}

// runWords returns a command line of `rollcall run` that makes one run of a table, a sweep or a figure where that
// command would, but for the flags that say on what machine.
func runWords(r *many.Planned, id string) ([]string, error) {
	given, err := r.Settings.Flags()
	if err != nil {
		return nil, err
	}
	words := []string{"rollcall", "run", "--id=" + id}
	for name, value := range given.All() {
		words = append(words, "--"+name+"="+asGiven(name, value))
	}
	if r.Decisions {
		words = append(words, "--decisions")
	}
	return append(words, fmt.Sprint("--seed=", r.Seed)), nil
}

// runFlags returns those flags of a command line that run has too, and that are no settings, and --out.
func runFlags(fs *pflag.FlagSet) (words []string) {
	of := pflag.NewFlagSet("", pflag.ContinueOnError)
	registerOne(of, &run.Machine{}, &run.Keep{})
	of.VisitAll(func(f *pflag.Flag) {
		given := fs.Lookup(f.Name)
		if given == nil || !given.Changed && f.Name != "out" {
			return
		}
		value := given.Value.String()
		if several := value == "cuda:all" || strings.Contains(value, ","); f.Name == "device" && several {
			value = "cuda" // one run is on one card
		}
		words = append(words, "--"+f.Name+"="+value)
	})
	return words
}
