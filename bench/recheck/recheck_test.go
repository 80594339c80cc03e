package recheck

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// train makes a run below out/item, as a table of that name does, and returns its folder.
func train(t *testing.T, out, item string, seed uint32, more ...string) string {
	t.Helper()
	s := settingstest.Tiny(t, more...)
	x := &run.Experiment{Table: item, Settings: s, Seed: seed, Dir: run.Folder(out, item, s, seed)}
	ses := &run.Session{Machine: run.Machine{Device: "cpu", Threads: 1, Out: out}, Stderr: io.Discard}
	must.Get(x.Do(t.Context(), ses, run.Keep{}, progress.New(io.Discard).Run(item, progress.Work{})))(t)
	must.OK(t, ses.Close())
	return x.Dir
}

// options returns those of a recheck of everything below dirs.
func options(dirs ...string) Options {
	return Options{
		Dirs: dirs, For: time.Minute, Seed: 3, Machine: run.Machine{Threads: 1}, Log: progress.New(io.Discard),
	}
}

func recheck(t *testing.T, o Options) *Report {
	t.Helper()
	return must.Get(Run(t.Context(), o))(t)
}

// forge changes the curve and run.json of a run, and writes new checksums, as who forges a run would.
func forge(t *testing.T, dir string, change func(rows []results.CurveRow, info *results.RunInfo)) {
	t.Helper()
	curve, kept := filepath.Join(dir, results.CurveFile), filepath.Join(dir, results.RunFile)
	rows, info := must.Get(results.ReadCurve(curve))(t), must.Get(results.ReadRunInfo(kept))(t)
	change(rows, &info)
	must.OK(t, results.WriteCurve(curve, rows))
	resultstest.Sign(t, dir, info)
}

// forgeSettings makes a run of fedar-2, seed 3, say that it is of other settings than those with which it was trained.
func forgeSettings(t *testing.T, out, dir string, s settings.Settings) {
	t.Helper()
	forge(t, dir, func(rows []results.CurveRow, info *results.RunInfo) {
		info.Settings = s
		for i := range rows {
			rows[i].Params = s.Params()
		}
	})
	to := run.Folder(out, "fedar-2", s, 3)
	must.OK(t, os.MkdirAll(filepath.Dir(to), 0o777))
	must.OK(t, os.Rename(dir, to))
}

// Runs of several items, in folders and in an archive, have the rows that were kept, and nothing is written there.
func TestEqual(t *testing.T) {
	out := t.TempDir()
	train(t, out, "fedawe-2", 3)
	train(t, out, "fedawe-2", 4)
	train(t, out, "fedar-2", 3)
	train(t, out, "last", 3, "rounds=60", "eval-every=20", "eval-train-rounds=last")
	train(t, out, "none", 3, "eval-train=false", "data=synthetic", "train-size=64", "test-size=16", "method=f3ast")
	packed := t.TempDir()
	train(t, packed, "cafed-1", 5, "method=ca-fed", "availability=markov")
	archive(t, filepath.Join(out, "cafed-1", "paper", ArchiveName), membersOf(t, filepath.Join(packed, "cafed-1")))
	before := membersOf(t, out)
	r := recheck(t, options(out))
	if len(r.Lines) != 6 || r.Err() != nil || r.Found != 6 || len(r.LeftOut) > 0 {
		t.Fatalf("%d lines of %d runs, %v, left out %v, problems %v", len(r.Lines), r.Found, r.Err(), r.LeftOut,
			r.Problems)
	}
	const want = "6 runs of 5 items of 3 papers rechecked: 39 rows compared, all equal."
	if got := r.Summary(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(membersOf(t, out), before) {
		t.Error("files below the folder have changed")
	}
	for _, l := range r.Lines {
		if l.last != l.settings.Rounds || l.item == "cafed-1" && !strings.Contains(l.path, ArchiveName) {
			t.Errorf("%s: %d rounds, want all, and the archive in the path", l.path, l.last)
		}
	}
	o := options(out)
	if o.Only = []string{"last", "cafed-1"}; len(recheck(t, o).Lines) != 2 {
		t.Error("--only has other runs than its items'")
	}
	o.Only = []string{"fedar-9"}
	if _, err := Run(t.Context(), o); !settings.IsUsage(err) {
		t.Errorf("of an unknown item: %v, want invalid usage", err)
	}
}

// A default that has changed since is other params, and the same run.
func TestOtherDefaults(t *testing.T) {
	out := t.TempDir()
	forge(t, train(t, out, "fedar-2", 3), func(rows []results.CurveRow, _ *results.RunInfo) {
		for i := range rows {
			rows[i].Params = rows[i].Params.And("momentum=0")
		}
	})
	if r := recheck(t, options(out)); len(r.Lines) != 1 || r.Err() != nil {
		t.Errorf("%+v, %v, left out %v, want equal rows", r.Lines, r.Err(), r.LeftOut)
	}
}

// What was changed in a run is found, however good the checksums are.
func TestForged(t *testing.T) {
	digit := func(of func(r *results.CurveRow) *float64) func([]results.CurveRow, *results.RunInfo) {
		return func(rows []results.CurveRow, _ *results.RunInfo) {
			x := of(&rows[5])
			*x = math.Nextafter(*x, 0.5) // the last digit alone
		}
	}
	for name, c := range map[string]struct {
		change func(rows []results.CurveRow, info *results.RunInfo)
		want   string
	}{
		"test_acc":   {digit(func(r *results.CurveRow) *float64 { return &r.TestAcc.Value }), "round 5: test_acc 0."},
		"train_loss": {digit(func(r *results.CurveRow) *float64 { return &r.TrainLoss.Value }), "round 5: train_loss "},
		"lr":         {digit(func(r *results.CurveRow) *float64 { return &r.LR }), "round 5: lr 0."},
		"active": {
			func(rows []results.CurveRow, _ *results.RunInfo) { rows[2].Active ^= 1 }, "round 2: active ",
		},
		"data": {
			func(_ []results.CurveRow, info *results.RunInfo) { info.DataChecksum = results.OfSeed("00") },
			"other generated data: checksum seed-sha256:00, now seed-sha256:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			forge(t, train(t, out, "fedar-2", 3), c.change)
			r := recheck(t, options(out))
			if len(r.Lines) != 1 || !strings.HasPrefix(r.Lines[0].difference, c.want) || r.Err() == nil {
				t.Errorf("%+v, %v, want %q", r.Lines, r.Err(), c.want)
			}
		})
	}
	t.Run("settings", func(t *testing.T) { // of other settings than those with which it was trained
		out := t.TempDir()
		dir := train(t, out, "fedar-2", 3)
		s := settingstest.Tiny(t, "lr=0.06")
		forgeSettings(t, out, dir, s)
		r := recheck(t, options(out))
		const want = "round 1: lr 0.05, now 0.06"
		if len(r.Lines) != 1 || !strings.HasPrefix(r.Lines[0].difference, want) || r.Err() == nil {
			t.Errorf("%+v, %v, problems %v, want another lr", r.Lines, r.Err(), r.Problems)
		}
	})
	t.Run("diverges", func(t *testing.T) {
		out := t.TempDir()
		dir := train(t, out, "fedar-2", 3, "method=fedavg-active")
		s := settingstest.Tiny(t, "method=fedavg-active", "lr=1e38")
		forgeSettings(t, out, dir, s)
		r := recheck(t, options(out))
		if len(r.Lines) != 1 || r.Lines[0].difference == "" || r.Err() == nil {
			t.Errorf("%+v, %v, problems %v, want a difference", r.Lines, r.Err(), r.Problems)
		}
	})
	t.Run("text", func(t *testing.T) { // the same number in other words, which no checksum finds
		out := t.TempDir()
		path := filepath.Join(train(t, out, "fedar-2", 3), results.CurveFile)
		text := string(must.Get(os.ReadFile(path))(t))
		must.OK(t, os.WriteFile(path, []byte(strings.Replace(text, ",3,0,0,0,", ",3,0,0,0.0,", 1)), 0o666))
		r := recheck(t, options(out))
		if len(r.Lines) != 1 || r.Lines[0].difference != "round 0: lr 0.0, now 0" {
			t.Errorf("%+v, problems %v, want lr", r.Lines, r.Problems)
		}
	})
	t.Run("changed", func(t *testing.T) { // without a new checksum, as by accident
		out := t.TempDir()
		path := filepath.Join(train(t, out, "fedar-2", 3), results.CurveFile)
		text := string(must.Get(os.ReadFile(path))(t))
		must.OK(t, os.WriteFile(path, []byte(strings.Replace(text, ",6,", ",5,", 1)), 0o666))
		train(t, out, "fedar-3", 4)
		r := recheck(t, options(out))
		if len(r.Lines) != 1 || len(r.Problems) == 0 || r.Err() == nil || r.LeftOut["damaged or unfinished"] != 1 {
			t.Errorf("%+v, %v, problems %v, left out %v", r.Lines, r.Err(), r.Problems, r.LeftOut)
		}
	})
}

// Runs that this program and this machine would rightly make otherwise are left out, each with a reason. If none is
// left, that is no success.
func TestLeftOut(t *testing.T) {
	for want, change := range map[string]func(info *results.RunInfo){
		"method revision 99, want 1": func(info *results.RunInfo) { info.Revisions.Method = 99 },
		"net revision 7, want 1":     func(info *results.RunInfo) { info.Revisions.Net = 7 },
		"engine revision 9, want 1":  func(info *results.RunInfo) { info.Revisions.Engine = 9 },
		"numerics cuda-sm999-tf32, which this machine and program do not compute": func(info *results.RunInfo) {
			info.Numerics = "cuda-sm999-tf32"
		},
		"interrupted": func(info *results.RunInfo) { info.Status = results.RunInterrupted },
		"the method is a program of its own": func(info *results.RunInfo) {
			info.Settings.(map[string]any)["method-sha256"] = "0123"
		},
		"settings that this program has not, or reads in another way": func(info *results.RunInfo) {
			info.Settings.(map[string]any)["colour"] = "blue"
		},
	} {
		t.Run(want, func(t *testing.T) {
			out := t.TempDir()
			dir := train(t, out, "fedar-2", 3)
			forge(t, dir, func(_ []results.CurveRow, info *results.RunInfo) { change(info) })
			info := must.Get(results.ReadRunInfo(filepath.Join(dir, results.RunFile)))(t)
			named := filepath.Join(out, "fedar-2", "fedawe_leaf_stationary_"+info.SettingsHash)
			if named != filepath.Dir(dir) {
				must.OK(t, os.Rename(filepath.Dir(dir), named))
			}
			r := recheck(t, options(out))
			if len(r.Lines) > 0 || r.LeftOut[want] != 1 || r.Err() == nil {
				t.Errorf("%d lines, left out %v, %v, problems %v", len(r.Lines), r.LeftOut, r.Err(), r.Problems)
			}
			var text, page strings.Builder
			must.OK(t, r.Text(&text))
			must.OK(t, r.Markdown(&page, "rollcall results recheck out"))
			for _, got := range []string{text.String(), page.String()} {
				if !strings.Contains(got, "\nNothing was rechecked.\n") || strings.Contains(got, "equal") ||
					strings.Contains(got, "compared") || !strings.Contains(got, "1 run left out: "+want) {
					t.Errorf("%s\nwant that nothing was rechecked, and why", got)
				}
			}
		})
	}
}

// All runs that the repository keeps have settings that this program reads, and revisions that it has, or had.
func TestReadyForKept(t *testing.T) {
	t.Setenv("ROLLCALL_DATA", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	o := options("../../results/replay")
	all, bad, err := find(t.Context(), &o, t.TempDir())
	if err != nil || bad != nil || len(all) < 100 {
		t.Fatalf("%d runs, %v, %v", len(all), bad, err)
	}
	for _, k := range all {
		switch leave := k.ready(o.Machine); {
		case leave == "", leave == "the data set cifar10 is not here", leave == "the data set mnist is not here",
			strings.HasPrefix(leave, "numerics "), strings.Contains(leave, " revision "):
		default:
			t.Errorf("%s: %q, want that it is ready, or that the data set is not here", k.path, leave)
		}
	}
}

// Every item has its turn before any has its second, the papers in turns; another seed draws another order.
func TestDraw(t *testing.T) {
	var all []*kept
	for item, paper := range map[string]string{
		"fedar-2": "FedAR", "fedar-3": "FedAR", "fedar-f1": "FedAR", "fedawe-2": "FedAWE", "rates": "",
	} {
		for _, cell := range []string{"a", "b", "c"} {
			all = append(all, &kept{path: filepath.Join(item, cell), item: item, paper: paper})
		}
	}
	paths := func(seed uint32) (paths []string) {
		for _, k := range draw(all, seed) {
			paths = append(paths, k.path)
		}
		return paths
	}
	order := draw(all, 1)
	for i, k := range order {
		if k.turn != i/5 {
			t.Errorf("%d: %s in turn %d, want turn %d", i, k.path, k.turn, i/5)
		}
	}
	first := map[string]bool{order[0].paper: true, order[1].paper: true, order[2].paper: true}
	if len(first) != 3 {
		t.Errorf("%q first, want one of each paper", paths(1)[:3])
	}
	slices.Reverse(all)
	if !slices.Equal(paths(1), paths(1)) || slices.Equal(paths(1), paths(2)) {
		t.Error("the order is not decided by the seed")
	}
}

// A run stops when its share is over, but for the first row after round 0, and at once if that would be too late.
func TestWatch(t *testing.T) {
	s := settingstest.Tiny(t, "rounds=100", "eval-every=5", "eval-last=none")
	past, later := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		until, end time.Time
		round      time.Duration // of each
		want       int           // the round after which it stops
		evaluated  bool          // and after its evaluation
	}{
		"share over":  {past, later, time.Millisecond, 5, true},
		"too late":    {later, time.Now().Add(2 * time.Second), time.Second, 2, false},
		"not over":    {later, later, time.Millisecond, 100, false},
		"evaluations": {later, later, 0, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			stopped := false
			w := &watch{
				Run: progress.New(io.Discard).Run("", progress.Work{}), s: &s,
				stop: func() { stopped = true }, until: c.until, end: c.end,
			}
			w.Evaluated(results.CurveRow{})
			for round := 1; round <= 100; round++ {
				w.began = time.Now().Add(-time.Duration(round) * c.round)
				if w.Round(round, 1); stopped {
					if round != c.want || c.evaluated {
						t.Errorf("stopped after round %d, want %d", round, c.want)
					}
					return
				}
				if s.Evaluates(round) {
					w.Evaluated(results.CurveRow{Round: round})
				}
				if stopped {
					if round != c.want || !c.evaluated {
						t.Errorf("stopped after the evaluation of round %d, want round %d", round, c.want)
					}
					return
				}
			}
			if c.want != 100 {
				t.Errorf("not stopped, want it after round %d", c.want)
			}
		})
	}
}

func init() { progress.LogEvery = 0 } // tests wait for rounds

// canceller ends a context when a text is written.
type canceller struct {
	at   string
	stop func()
}

func (c *canceller) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.at) {
		c.stop()
	}
	return len(p), nil
}

// A recheck that is interrupted returns what it has compared until then, and one whose time is over ends without an
// error.
func TestStops(t *testing.T) {
	out := t.TempDir()
	for seed := range uint32(4) {
		train(t, out, "fedar-2", seed, "rounds=30", "eval-last=none")
	}
	ctx, stop := context.WithCancel(t.Context())
	o := options(out)
	o.Log = progress.New(&canceller{"round 9/", stop})
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || !r.Interrupted || len(r.Lines) != 1 || r.Lines[0].rows != 10 ||
		r.Lines[0].difference != "" {
		t.Errorf("%v, %+v, want 10 rows of one run", err, r.Lines)
	}
	o = options(out)
	o.For = 1
	if r := recheck(t, o); len(r.Lines) > 0 || r.Err() == nil || r.notRechecked()[0] !=
		"4 runs not drawn or not begun in the time" {
		t.Errorf("%+v, %q, want none of 4 runs", r.Lines, r.notRechecked())
	}
}
