package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"rollcall/bench/run/checkpoint"
	"rollcall/bench/run/claim"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/files"
)

// lister reads the runs below some folders, again and again: those that have ended once.
type lister struct {
	folders []string

	// As they were read last.
	runs []results.Run
	work map[string]compare.Work // of runs without an end, by folder
	bad  []error                 // what is wrong with files

	ended map[string]endedRun // by folder
}

// endedRun is a run that has ended, as long as its files are as they were.
type endedRun struct {
	stamp string
	run   results.Run
}

// found is what was read in one folder.
type found struct {
	run   results.Run
	bad   []error
	work  compare.Work
	stamp string
	begun bool // something is known of the run, a curve or not
}

// read reads all runs. The error is of a folder that cannot be read at all, or ctx's.
func (l *lister) read(ctx context.Context) error {
	dirs, err := results.BegunFolders(ctx, l.folders...)
	if err != nil {
		return err
	}
	all := make([]found, len(dirs))
	if err := files.Parallel(ctx, len(dirs), func(i int) { all[i] = l.readRun(dirs[i]) }); err != nil {
		return err
	}
	l.runs, l.bad, l.work, l.ended = nil, nil, map[string]compare.Work{}, map[string]endedRun{}
	for _, f := range all {
		l.bad = append(l.bad, f.bad...)
		l.work[f.run.Dir] = f.work
		if f.stamp != "" {
			l.ended[f.run.Dir] = endedRun{f.stamp, f.run}
		}
		if len(f.run.Curve) > 0 {
			l.runs = append(l.runs, f.run)
		}
	}
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

// readRun reads the folder of a run, which a process may be writing to.
func (l *lister) readRun(dir string) (f found) {
	stamp := stampOf(dir)
	if was, ok := l.ended[dir]; ok && was.stamp == stamp {
		return found{run: was.run, stamp: stamp, begun: true}
	}
	f.run.Dir = dir
	if stamp != "" {
		f.run, f.bad = results.ReadRunFolder(dir)
		f.begun = f.run.Info != nil || f.run.Damaged || len(f.run.Curve) > 0
	}
	if f.run.Damaged { // or it ended between one file and the next
		f.run, f.bad = results.ReadRunFolder(dir)
	}
	switch s := f.run.Status(); s {
	case results.RunDamaged:
	case results.RunComplete, results.RunDiverged:
		f.stamp = stamp
	default:
		work, begun := workIn(dir)
		f.work, f.begun = work, f.begun || begun
	}
	return f
}

// stampOf tells when curve.csv and run.json were written; "" where neither is there.
func stampOf(dir string) (stamp string) {
	for _, name := range []string{results.CurveFile, results.RunFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			stamp += fmt.Sprintf("%s %d %s\n", name, info.Size(), info.ModTime())
		}
	}
	return stamp
}

// workIn says how far the run in a folder is, and who makes it, by its claim and its newest checkpoint, and whether
// there is either. What cannot be read of them is not known: whoever goes on from them says what is wrong.
func workIn(dir string) (w compare.Work, begun bool) {
	if holder, err := claim.Read(dir); err == nil && holder != nil {
		w, begun = compare.Work{Round: holder.Round, Rounds: holder.Rounds}, true
		if !holder.Dead {
			w.Process = processOf(holder)
		}
	}
	if c, err := checkpoint.Newest(dir); err == nil && c != nil {
		w.Round, w.Rounds, begun = max(w.Round, c.Round), max(w.Rounds, c.Rounds), true
	}
	return w, begun
}

// processOf names a process as PID@HOST.
func processOf(h *claim.Holder) string {
	pid, host := "unknown", "unknown"
	if h.PID > 0 {
		pid = strconv.Itoa(h.PID)
	}
	if h.Host != "" {
		host = strings.Join(strings.Fields(h.Host), "_")
	}
	return pid + "@" + host
}

// why says why a run came to no good end.
func (l *lister) why(r *results.Run) string {
	for _, err := range l.bad {
		for _, end := range []string{string(filepath.Separator), ":", " and "} {
			if r.Damaged && strings.Contains(err.Error(), r.Dir+end) {
				return err.Error()
			}
		}
	}
	if r.Info != nil {
		return r.Info.Error
	}
	if rounds, err := checkpoint.Rounds(r.Dir); err == nil && len(rounds) > 0 {
		return fmt.Sprintf("its process has ended; the command goes on from round %d when it is repeated", rounds[0])
	}
	return "its process has ended; the command begins it anew when it is repeated"
}

// seedFolder is the name of a run's folder.
var seedFolder = regexp.MustCompile(`^seed-(\d+)$`)

// named returns a run without a curve with the names of its cell: those of another run of the cell, or else those that
// its folder has.
func (l *lister) named(r results.Run) results.Run {
	whole, err := filepath.Abs(r.Dir)
	if err != nil {
		whole = r.Dir
	}
	cell := filepath.Dir(whole)
	if seed := seedFolder.FindStringSubmatch(filepath.Base(whole)); seed != nil {
		if n, err := strconv.ParseUint(seed[1], 10, 32); err == nil {
			r.Seed = uint32(n)
		}
	}
	for i := range l.runs {
		other := &l.runs[i]
		if filepath.Dir(other.Dir) == filepath.Dir(r.Dir) {
			r.Cell, r.Params = other.Cell, other.Params
			return r
		}
	}
	r.Table = filepath.Base(filepath.Dir(cell))
	if names := strings.Split(filepath.Base(cell), "_"); len(names) == 4 {
		r.Method, r.Data, r.Availability = names[0], names[1], names[2]
	}
	return r
}
