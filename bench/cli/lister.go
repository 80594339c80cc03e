package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/files"
	"rollcall/internal/lock"
	"rollcall/results"
	"rollcall/results/compare"
)

// lister reads the runs below some folders, as often as it is asked. It reads a run that has ended only once, so that
// watching a folder of thousands of runs costs little.
type lister struct {
	folders []string

	// The last reading.
	runs []results.Run               // runs with a curve first, each once; then begun runs without one
	work map[string]compare.Progress // by folder: how far a run is that has not ended, and who makes it
	bad  []error                     // files that are not what they should be

	ended map[string]endedRun // by folder: the runs that need not be read again
}

// endedRun is a run that has ended. It is not read again as long as the stamp of its files is the same.
type endedRun struct {
	stamp string // of stampOf
	run   results.Run
}

// found is the content of one folder. It is a value of its own, because folders are read in parallel.
type found struct {
	run   results.Run
	bad   []error
	work  compare.Progress
	stamp string
	begun bool // there is something of a run: a curve, a run.json, a claim or a checkpoint
}

// read reads all runs again. It returns an error for a folder that cannot be read at all, and when ctx ends; everything
// else that is wrong is in l.bad.
func (l *lister) read(ctx context.Context) error {
	dirs, err := results.BegunFolders(ctx, l.folders...)
	if err != nil {
		return err
	}
	all := make([]found, len(dirs))
	if err := files.Parallel(ctx, len(dirs), func(i int) { all[i] = l.readRun(dirs[i]) }); err != nil {
		return err
	}
	// ended is made anew, so that it holds no run whose folder has gone or whose files have changed.
	l.runs, l.bad, l.work, l.ended = nil, nil, map[string]compare.Progress{}, map[string]endedRun{}
	for _, f := range all {
		l.bad = append(l.bad, f.bad...)
		for _, beside := range f.run.Beside {
			l.bad = append(l.bad, beside.Err)
		}
		l.work[f.run.Dir] = f.work
		if f.stamp != "" {
			l.ended[f.run.Dir] = endedRun{f.stamp, f.run}
		}
		if len(f.run.Curve) > 0 {
			l.runs = append(l.runs, f.run)
		}
	}
	// Tables may share a run, and each has a copy of it: the list has it once. Runs without a curve come after the
	// checks for copies, which compare numbers.
	once, doubles := results.OnlyOnce(l.runs)
	l.bad = append(l.bad, doubles...)
	l.bad = append(l.bad, results.RefuseTwins(once)...)
	l.runs = once
	for _, f := range all {
		if f.begun && len(f.run.Curve) == 0 {
			l.runs = append(l.runs, l.named(f.run))
		}
	}
	return nil
}

// readRun reads the folder of one run. A process may be writing to it at the same time.
func (l *lister) readRun(dir string) (f found) {
	// The stamp is taken before the files are read: if one changes meanwhile, the next stamp differs.
	stamp := stampOf(dir)
	if was, ok := l.ended[dir]; ok && was.stamp == stamp {
		return found{run: was.run, stamp: stamp, begun: true}
	}
	f.run.Dir = dir
	if stamp != "" {
		f.run, f.bad = results.ReadRunFolder(dir)
		f.begun = f.run.Info != nil || f.run.Damaged || len(f.run.Curve) > 0
	}
	if f.run.Damaged { // perhaps only because the run ended after curve.csv was read and before run.json was
		f.run, f.bad = results.ReadRunFolder(dir)
	}
	switch s := f.run.Status(); s {
	case results.RunDamaged: // is read again each time: --replace repairs it
	case results.RunComplete, results.RunDiverged:
		f.stamp = stamp
	default:
		work, begun := workIn(dir)
		f.work, f.begun = work, f.begun || begun
	}
	return f
}

// stampOf returns the sizes and times of curve.csv and run.json as text; "" if neither is there. Files with the same
// stamp are taken to be unchanged: their checksums would cost as much as reading them.
func stampOf(dir string) (stamp string) {
	for _, name := range []string{results.CurveFile, results.RunFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			stamp += fmt.Sprintf("%s %d %s\n", name, info.Size(), info.ModTime())
		}
	}
	return stamp
}

// workIn returns how far the run in a folder is and which process makes it. It asks the run's lock and its newest
// checkpoint, and begun is false if there is neither. It ignores errors of both: the process that resumes the run
// reports them.
func workIn(dir string) (w compare.Progress, begun bool) {
	if holder, err := lock.Running(dir); err == nil && holder != nil {
		w, begun = compare.Progress{Round: holder.Round, Rounds: holder.Rounds, Process: processOf(holder)}, true
	}
	// The text of a lock has the round of its last writing. A checkpoint may be newer, or there without any lock.
	if c, err := checkpoint.Newest(dir); err == nil && c != nil {
		w.Round, w.Rounds, begun = max(w.Round, c.Round), max(w.Rounds, c.Rounds), true
	}
	return w, begun
}

// processOf returns the name of a process as PID@HOST, without blanks: lists separate processes by blanks.
func processOf(h *lock.Holder) string {
	pid, host := "unknown", "unknown"
	if h.PID > 0 {
		pid = strconv.Itoa(h.PID)
	}
	if h.Host != "" {
		host = strings.Join(strings.Fields(h.Host), "_")
	}
	return pid + "@" + host
}

// why returns the reason why a run has no good end: what is wrong with its files, the error that ended it, or how the
// command will go on with it.
func (l *lister) why(r *results.Run) string {
	for _, err := range l.bad {
		// An error names a file in the run's folder, the folder, or two folders with the same numbers. Without what
		// follows, seed-1 would be found in an error about seed-10.
		for _, end := range []string{string(filepath.Separator), ":", " and "} {
			if r.Damaged && strings.Contains(err.Error(), r.Dir+end) {
				return err.Error()
			}
		}
	}
	if r.Info != nil {
		return r.Info.Error
	}
	// A run without run.json and without a process was killed before it could write how it ended.
	if rounds, err := checkpoint.Rounds(r.Dir); err == nil && len(rounds) > 0 {
		return fmt.Sprintf("its worker has ended; repeat the command to resume from round %d", rounds[0])
	}
	return "its worker has ended; repeat the command to start it again"
}

// named fills in the cell of a run that has no curve yet: from another run of the same cell, or else from the names of
// its folders, TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N.
func (l *lister) named(r results.Run) results.Run {
	whole, err := filepath.Abs(r.Dir)
	if err != nil {
		whole = r.Dir
	}
	cell := filepath.Dir(whole)
	seed, _ := results.SeedInName(whole)
	if n, err := strconv.ParseUint(seed, 10, 32); err == nil {
		r.Seed = uint32(n)
	}
	for i := range l.runs { // another run also has what the names lack, such as the net and the number of clients
		other := &l.runs[i]
		if filepath.Dir(other.Dir) == filepath.Dir(r.Dir) {
			r.Setup, r.Params = other.Setup, other.Params
			return r
		}
	}
	r.Table = filepath.Base(filepath.Dir(cell))
	// No name of a method, a data set or a process has an underscore.
	if names := strings.Split(filepath.Base(cell), "_"); len(names) == 4 {
		r.Method, r.Data, r.Availability = names[0], names[1], names[2]
	}
	return r
}

// watchEvery is the time between two lists: short for people, long for a network folder of many runs. The help of
// --watch states it.
const watchEvery = 2 * time.Second

// watch lists the runs again and again until none is running, in place on a terminal, else whenever the list has
// changed. A dumb terminal, such as an editor's, does not know the codes that move the cursor, and counts as a file.
func (a *app) watch(ctx context.Context, l *lister) error {
	show := onChange(a.stdout) // writes the rows of one reading
	if f, is := files.Terminal(a.stdout); is {
		show = inPlace(f, func() (columns, lines int) {
			columns, lines, err := term.GetSize(int(f.Fd()))
			if err != nil || columns < 1 || lines < 1 {
				return 80, 24 // a terminal that does not know its size
			}
			return columns, lines
		})
	}
	for {
		if err := l.read(ctx); err != nil {
			return err
		}
		rows := compare.ListRuns(l.runs, l.work)
		if err := show(rows); err != nil {
			return err
		}
		// A row names a process only while the process computes a run. Without any, the list would not change any more.
		if !slices.ContainsFunc(rows, func(r compare.ListRow) bool { return r.Process != "" }) {
			return a.complain("results list", l.bad)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchEvery):
		}
	}
}

// onChange returns a function that writes a list if it differs from the last one. A log of lists stays short that way.
func onChange(w io.Writer) func(rows []compare.ListRow) error {
	last := "" // the text of the last list
	return func(rows []compare.ListRow) error {
		if len(rows) == 0 {
			return nil
		}
		var b strings.Builder
		if err := compare.WriteList(&b, rows, math.MaxInt); err != nil {
			return err
		}
		text := b.String()
		if text == last {
			return nil
		}
		if last != "" { // an empty line between two lists
			text = "\n" + text
		}
		last = b.String()
		_, err := io.WriteString(w, text)
		return err
	}
}

// inPlace returns a function that draws a list over the last one. The last column and the last line of the screen stay
// empty: a character there would make the terminal scroll.
func inPlace(w io.Writer, size func() (columns, lines int)) func(rows []compare.ListRow) error {
	return func(rows []compare.ListRow) error {
		columns, lines := size()
		const clear = "\x1b[H\x1b[J" // move to the upper left, clear what follows
		text := strings.Join(compare.ListOnScreen(rows, columns-1, lines-1), "\n")
		_, err := io.WriteString(w, clear+files.Printable(text)+"\n")
		return err
	}
}
