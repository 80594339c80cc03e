// Package recheck trains the first rounds of kept runs anew, as many as some minutes allow, and compares the rows of
// their curves: whoever doubts kept results need not believe their files.
//
//	report, err := recheck.Run(ctx, recheck.Options{Dirs: []string{"results/replay"}, For: 10 * time.Minute, Seed: 3})
//	fmt.Println(report.Summary())
package recheck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/results"
)

// Options says what is rechecked.
type Options struct {
	Dirs    []string      // folders with kept runs, in folders or in archives, see [ArchiveName]
	Only    []string      // items, the folders directly below Dirs; none: all
	For     time.Duration // how long the whole may take
	Seed    uint32        // of the order in which runs are drawn
	Machine run.Machine   // Device, Precision, Altered and Out are those of the runs
	Log     *progress.Command
}

// checker rechecks runs one after the other.
type checker struct {
	*Options
	*Report
	ses *run.Session // of the last run
	end time.Time    // when the time is over
}

// grace is how long a run that is stopped may go on, to finish its round.
const grace = 5 * time.Second

// Run rechecks kept runs until the time is over, or each was drawn. If ctx ends, it returns what was rechecked until
// then, and ctx's error.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	r = &Report{Began: time.Now(), Seed: o.Seed, LeftOut: map[string]int{}}
	temp, err := os.MkdirTemp("", "rollcall-recheck-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	all, bad, err := find(ctx, &o, temp)
	if err != nil {
		return nil, err
	}
	r.Found, r.Problems = len(all), bad
	o.Machine.Out, o.Machine.Grace = filepath.Join(temp, "out"), grace
	all = slices.DeleteFunc(all, func(k *kept) bool {
		leave := k.ready(o.Machine)
		if leave != "" {
			r.LeftOut[leave]++
		}
		return leave != ""
	})
	drawn := draw(all, o.Seed)
	perTurn := map[int]int{} // how many runs are left
	for _, k := range drawn {
		perTurn[k.turn]++
	}
	items := perTurn[0]
	c := &checker{&o, r, &run.Session{}, r.Began.Add(o.For)}
	for _, k := range drawn {
		left := time.Until(c.end)
		if left <= 0 || ctx.Err() != nil {
			break
		}
		c.check(ctx, k, min(o.For/time.Duration(items), left/time.Duration(perTurn[k.turn])))
		perTurn[k.turn]--
	}
	r.Took, r.Interrupted = time.Since(r.Began), ctx.Err() != nil
	return r, errors.Join(ctx.Err(), c.ses.Close())
}

// check rechecks a run for a share of the time, and longer if no row after round 0 is compared by then.
func (c *checker) check(ctx context.Context, k *kept, share time.Duration) {
	text, err := files.ReadUpTo(filepath.Join(k.Dir, results.CurveFile), files.MostRows)
	var rows []results.CurveRow
	if err == nil {
		rows, err = c.train(ctx, k, share)
	}
	for i := range rows {
		rows[i].Params = k.Params // in the words of then; restore has compared the settings
	}
	l := line{kept: k, rows: len(rows), sum: sha256.Sum256(text)}
	if len(rows) > 0 {
		l.last = rows[len(rows)-1].Round
		l.differ, l.difference = compare(string(text), rows)
	}
	switch {
	case errors.Is(err, errOtherData), run.IsDiverged(err): // where the kept run did not
		l.difference = cmp.Or(l.difference, files.OneLine(err.Error()))
	case run.IsFinal(err):
		c.LeftOut[files.OneLine(err.Error())]++
		return
	case err != nil:
		c.Problems = append(c.Problems, fmt.Errorf("recheck: %s: %w", k.path, err))
		c.LeftOut["it failed, see the problems"]++
		return
	}
	if l.rows > 0 || l.difference != "" { // otherwise the time was over before
		c.Lines = append(c.Lines, l)
	}
}

// errOtherData says that the program generates other data than those of the run, which has the same revision.
var errOtherData = errors.New("other generated data")

// train trains a run anew, and returns the rows of its curve up to where it was stopped.
func (c *checker) train(ctx context.Context, k *kept, share time.Duration) ([]results.CurveRow, error) {
	ctx, stop := context.WithDeadline(ctx, c.end)
	defer stop()
	run.Logf(c.Log, "%s: for %s, of %s that are left\n", k.path, progress.Duration(share),
		progress.Duration(time.Until(c.end)))
	until := time.Now().Add(share)
	if was := c.ses.Machine; was.Device != k.machine.Device || was.Precision != k.machine.Precision {
		if err := c.ses.Close(); err != nil {
			return nil, err
		}
		c.ses = &run.Session{Stderr: c.Log}
	}
	c.ses.Machine = k.machine
	x := &run.Experiment{
		Table: k.Table, Settings: k.settings, Seed: k.Seed, Dir: run.Folder(k.machine.Out, k.Table, k.settings, k.Seed),
	}
	var m run.Outcome
	err := c.sameData(ctx, k)
	if err == nil {
		p := c.Log.Run(fmt.Sprintf("%s %s seed %d", k.item, k.Method, k.Seed), progress.Work{})
		m, err = x.Do(ctx, c.ses, run.Keep{}, &watch{Run: p, s: &k.settings, stop: stop, until: until, end: c.end})
	}
	if c.ses.Engine != nil {
		e := c.ses.Engine.Info()
		c.Engines = files.Unique(append(c.Engines, fmt.Sprintf("%s (%s), %s", e.Engine, e.Device, e.Precision)))
	}
	if ctx.Err() != nil && !run.IsDiverged(err) {
		err = nil // it was stopped
	}
	return m.Rows, err
}

// sameData opens the data set of a run, and compares its checksum with the kept one. Files may be other ones here, but
// a revision generates the same data everywhere.
func (c *checker) sameData(ctx context.Context, k *kept) error {
	if err := c.ses.OpenData(ctx, &k.settings, k.Seed); err != nil {
		return err
	}
	switch is, here := k.Info.DataChecksum, c.ses.Checksum(&k.settings); {
	case is == here:
		return nil
	case here == results.OfSeed(c.ses.Data.Checksum):
		return fmt.Errorf("%w: checksum %s, now %s", errOtherData, is, here)
	default:
		return run.Final(fmt.Errorf("data of checksum %s, here %s", is, here))
	}
}

// watch stops a run when its share of the time is over.
type watch struct {
	progress.Run
	s          *settings.Settings
	stop       func()
	until, end time.Time // of the share, and of all
	began      time.Time // of the first round
}

// Evaluated implements [progress.Run].
func (w *watch) Evaluated(row results.CurveRow) {
	w.Run.Evaluated(row)
	if row.Round == 0 {
		w.began = time.Now()
	} else if time.Now().After(w.until) {
		w.stop()
	}
}

// Round implements [progress.Run]. It stops a run also if the first row after round 0 will not be there in time. The
// first round of a run may be slow, and says nothing.
func (w *watch) Round(done, active int) {
	w.Run.Round(done, active)
	first := 1
	for !w.s.Evaluates(first) {
		first++
	}
	left := time.Since(w.began) / time.Duration(done) * time.Duration(first-done)
	switch {
	case w.s.Evaluates(done): // Evaluated follows
	case done > first && time.Now().After(w.until), done > 1 && done < first && time.Now().Add(left).After(w.end):
		w.stop()
	}
}

// compare compares the rows of a run that was trained anew with the text of the kept curve, as texts and column by
// column, but for time and version, and of the engine its numerics. It returns how many rows differ, and the first
// difference.
func compare(text string, rows []results.CurveRow) (differ int, first string) {
	in, err := files.NewCSVReader(strings.NewReader(text))
	if err != nil {
		return len(rows), err.Error()
	}
	was, err := in.ReadAll()
	if err != nil {
		return len(rows), err.Error()
	}
	i := 0
	for now := range files.CSVRecords(rows) { // which come from numbers, and cannot fail
		row := rows[i]
		i++
		found := ""
		for j, column := range files.CSVHeader[results.CurveRow]() {
			is, here := "none", now[j]
			if at := slices.Index(was[0], column); at >= 0 && i < len(was) {
				is = was[i][at]
			}
			if column == "engine" {
				is, here = nets.Numerics(is, row.Precision), nets.Numerics(here, row.Precision)
			}
			if is != here && found == "" && column != "elapsed_s" && column != "version" {
				found = fmt.Sprintf("round %d: %s %s, now %s", row.Round, column, is, here)
			}
		}
		if found != "" {
			differ, first = differ+1, cmp.Or(first, found)
		}
	}
	return differ, first
}
