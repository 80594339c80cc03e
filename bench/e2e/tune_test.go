package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/many/tune"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

const tuneGrid = "--lrs 0.3,0.03,0.003 --server-lrs 1,3"

func tuneOf(out, grid string, more ...string) []string {
	return append(strings.Fields("tune --data leaf --clients 8 --rounds 8 --local-steps 2 --batch 8 --eval-every 1 "+
		"--hold-out 0.2 --device cpu "+grid+" --out "+out), more...)
}

// tried is a pair of rates, as a test computes its score.
type tried struct {
	lr, server string
	accs       []float64 // by round, the mean over the seeds
	losses     []float64
}

// wholly trains every pair to the last round with `rollcall run`, and returns their means over the seeds.
func wholly(t *testing.T, out, method string, lrs, servers, seeds []string) (pairs []*tried) {
	t.Helper()
	for _, lr := range lrs {
		for _, server := range servers {
			p := &tried{lr: lr, server: server, accs: make([]float64, 9), losses: make([]float64, 9)}
			for _, seed := range seeds {
				at := filepath.Join(out, method, lr, server, seed)
				pass(t, strings.Fields("run --data leaf --availability sine --clients 8 --rounds 8 --local-steps 2 "+
					"--batch 8 --eval-every 1 --hold-out 0.2 --eval-train=false --device cpu --method "+method+
					" --lr "+lr+" --server-lr "+server+" --seed "+seed+" --out "+at)...)
				rows := curveRows(t, at)
				for i, row := range rows {
					p.accs[i] += number(t, row["test_acc"]) / float64(len(seeds))
					p.losses[i] += number(t, row["test_loss"]) / float64(len(seeds))
				}
			}
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// last3 returns the mean of the last three elements up to one, without the first of all.
func last3(x []float64, to int) float64 {
	from := max(1, to-2)
	sum := 0.0
	for _, v := range x[from : to+1] {
		sum += v
	}
	return sum / float64(to+1-from)
}

// TestTune compares a tuning with one by hand: every pair is trained to the end with `rollcall run`, and halved by its
// curve.
func TestTune(t *testing.T) {
	out := t.TempDir()
	args := tuneOf(out, tuneGrid, "--methods", "fedawe,mifa", "--availability", "sine", "--seeds", "1001,1002")
	first := pass(t, args...)
	dir := filepath.Join(out, "tune")
	_, trials := table(t, contents(t, filepath.Join(dir, tune.TrialsFile)))
	_, found := table(t, contents(t, filepath.Join(dir, tune.RatesFile)))
	if len(trials) != 2*(6+3+2) || len(found) != 2 {
		t.Fatalf("%d trials, %d rates, want 6 + 3 + 2 for each of two methods, and one of each", len(trials),
			len(found))
	}
	for m, method := range []string{"fedawe", "mifa"} {
		left := wholly(t, t.TempDir(), method, []string{"0.3", "0.03", "0.003"}, []string{"1", "3"},
			[]string{"1001", "1002"})
		var want []string
		for rung, round := range []int{2, 4, 8} {
			order := slices.Clone(left)
			slices.SortFunc(order, func(a, b *tried) int {
				if last3(a.accs, round) != last3(b.accs, round) {
					return map[bool]int{true: -1, false: 1}[last3(a.accs, round) > last3(b.accs, round)]
				}
				return map[bool]int{true: -1, false: 1}[last3(a.losses, round) < last3(b.losses, round)]
			})
			order = order[:[]int{3, 2, 1}[rung]]
			for _, p := range left {
				fate := "dropped"
				if slices.Contains(order, p) {
					fate = []string{"kept", "kept", "winner"}[rung]
				}
				want = append(want, fmt.Sprintf("%s %s/%s after %d: %.9f %.9f %s", method, p.lr, p.server, round,
					last3(p.accs, round), last3(p.losses, round), fate))
			}
			left = slices.DeleteFunc(left, func(p *tried) bool { return !slices.Contains(order, p) })
		}
		var got []string
		for _, row := range trials[m*11:][:11] {
			got = append(got, fmt.Sprintf("%s %s/%s after %s: %.9f %.9f %s", row["method"], row["lr"], row["server_lr"],
				row["rounds"], number(t, row["acc"]), number(t, row["loss"]), row["fate"]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("tried\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		row := found[m]
		if row["method"] != method || row["lr"] != left[0].lr || row["server_lr"] != left[0].server ||
			row["seeds"] != "1001 1002" || row["hold_out"] != "0.2" || row["rounds"] != "8" {
			t.Errorf("rates %v, want %s and %s of %s", row, left[0].lr, left[0].server, method)
		}
	}
	// A pair that was dropped has no checkpoint any more, and no run is trained twice.
	if rest, _ := filepath.Glob(filepath.Join(dir, "*", "*", "checkpoint-*")); len(rest) > 0 {
		t.Errorf("%q are left, want no checkpoints", rest)
	}
	before := contentsBelow(t, out, "")
	again := pass(t, args...)
	if after := contentsBelow(t, out, ""); again.stdout != first.stdout || fmt.Sprint(after) != fmt.Sprint(before) ||
		strings.Contains(again.stderr, ": round ") {
		t.Errorf("a second time:\n%s%s\nwant the same files from kept runs", again.stdout, again.stderr)
	}
	o := pass(t, append(args, "--plan")...)
	if !strings.Contains(o.stdout, "24 runs: 24 kept, 0 to resume, 0 to train") {
		t.Errorf("--plan of what is there: %s", o.stdout)
	}
	pass(t, "results", "verify", out)
	// A tuning of another method adds its rates.
	pass(t, tuneOf(out, "--lrs 0.3,0.03 --server-lrs 1", "--methods", "fedau", "--availability", "sine")...)
	if _, more := table(t, contents(t, filepath.Join(dir, tune.RatesFile))); len(more) != 3 ||
		more[0]["method"] != "fedawe" || more[2]["method"] != "fedau" {
		t.Errorf("rates after a second tuning: %v, want those of three methods", more)
	}
}

// A tuning that is interrupted, or whose runs lost their run.json as a killed process leaves them, goes on to the bytes
// of one that was not.
func TestTuneGoesOn(t *testing.T) {
	more := []string{"--methods", "fedawe", "--availability", "sine"}
	whole := t.TempDir()
	pass(t, tuneOf(whole, tuneGrid, more...)...)
	want := trialsAndRates(t, whole)
	for _, text := range []string{"to round 2 seed 1001: round 1/2", "to round 4 seed 1001: round 3/4", "round 7/8"} {
		out := t.TempDir()
		interrupt(t, text, tuneOf(out, tuneGrid, more...)...)
		for _, path := range filesBelow(t, out) {
			if filepath.Base(path) == results.RunFile && text == "round 7/8" {
				must.OK(t, os.Remove(path))
			}
		}
		pass(t, tuneOf(out, tuneGrid, more...)...)
		if got := trialsAndRates(t, out); got != want {
			t.Errorf("interrupted at %q:\n%s\nwant\n%s", text, got, want)
		}
	}
	packed := t.TempDir()
	pass(t, tuneOf(packed, tuneGrid, append(more, "--pack", "3")...)...)
	if got := trialsAndRates(t, packed); got != want {
		t.Errorf("three at a time:\n%s\nwant\n%s", got, want)
	}
	pass(t, tuneOf(packed, tuneGrid, append(more, "--again")...)...)
	if got := trialsAndRates(t, packed); got != want {
		t.Errorf("again:\n%s\nwant\n%s", got, want)
	}
}

// trialsAndRates returns the two files of a tuning.
func trialsAndRates(t *testing.T, out string) string {
	t.Helper()
	return contents(t, filepath.Join(out, "tune", tune.TrialsFile)) +
		contents(t, filepath.Join(out, "tune", tune.RatesFile))
}

// Pairs that diverge are last; if all do, there are no rates and the command says so.
func TestTuneDiverged(t *testing.T) {
	out := t.TempDir()
	o := pass(t, tuneOf(out, "--lrs 1e38,0.03 --server-lrs 1", "--methods", "fedavg-active", "--clip", "none")...)
	_, trials := table(t, contents(t, filepath.Join(out, "tune", tune.TrialsFile)))
	if trials[0]["status"] != "diverged" || trials[0]["fate"] != "dropped" || trials[0]["acc"] != "" ||
		!strings.Contains(o.stdout, "lr smallest") {
		t.Errorf("%v\n%s\nwant the first diverged and dropped, and the smallest rate the winner", trials[0], o.stdout)
	}
	bad := rollcall(t, tuneOf(t.TempDir(), "--lrs 1e38,2e38 --server-lrs 1", "--methods", "fedavg-active",
		"--clip", "none")...)
	if bad.status != statusFailure ||
		!strings.Contains(bad.stderr, "every pair of rates diverged, want smaller ones") ||
		!strings.Contains(bad.stderr, "tune tune: 1 of 1 cells have no rates") {
		t.Errorf("all diverge: status %d, %s", bad.status, bad.stderr)
	}
}

// run, sweep and table take the file, and say where it has no rates.
func TestRatesFile(t *testing.T) {
	out := t.TempDir()
	path := filepath.Join(out, "r.csv")
	text := "method,preset,data,net,availability,lr,server_lr\n" +
		"f3ast,code,binary,linear-binary,markov,0.02,2\nmifa,code,binary,linear-binary,markov,0.04,3\n"
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	tiny := []string{"--data", "binary", "--clients", "4", "--rounds", "4", "--eval-every", "1", "--device", "cpu"}
	args := func(command string, more ...string) []string {
		return slices.Concat(strings.Fields(command), tiny, []string{"--rates", path, "--out", out}, more)
	}
	pass(t, args("run --method f3ast --availability markov")...)
	if rows := curveRows(t, out); !strings.Contains(rows[0]["params"], "lr=0.02;") ||
		!strings.Contains(rows[0]["params"], "server-lr=2") {
		t.Errorf("run: params %s, want the file's rates", rows[0]["params"])
	}
	o := pass(t, args("sweep --methods f3ast,mifa,fedau --availability markov", "--rates", "mifa=0.5/1")...)
	rows := summaryRows(t, out, "sweep")
	params := map[string]string{}
	for _, row := range rows {
		params[row["method"]] = row["params"]
	}
	if !strings.Contains(params["f3ast"], "lr=0.02;") || !strings.Contains(params["mifa"], "lr=0.5;") ||
		strings.Contains(params["fedau"], "lr=") ||
		!strings.Contains(o.stderr, "has none for fedau (code) on binary, linear-binary, under markov") {
		t.Errorf("sweep: params %v, want the file's rates for f3ast, the command line's for mifa\n%s", params, o.stderr)
	}
	o = pass(t, "table", "cafed-1", "--data", "binary", "--rates", path, "--out", out, "--device", "cpu")
	rows = summaryRows(t, out, "cafed-1")
	for _, row := range rows {
		if got := strings.Contains(row["params"], "server-lr=2"); got != (row["method"] == "f3ast") {
			t.Errorf("table: %s has params %s", row["method"], row["params"])
		}
	}
	if !strings.Contains(o.stdout, "not compared: lr=0.02 server-lr=2, not the paper's") ||
		!strings.Contains(o.stderr, "has none for unbiased (code) on binary") {
		t.Errorf("table:\n%s%s\nwant f3ast's numbers not compared, and who keeps the paper's rates", o.stdout, o.stderr)
	}
	for _, c := range []struct{ line, want string }{
		{"run --method f3ast --availability markov --lr 0.1", "--lr 0.1: with --rates"},
		{"run --method f3ast --availability sine", "has none for f3ast (code) on binary, linear-binary, under sine"},
		{"sweep --methods mifa --availability markov --server-lr 1", "--server-lr 1: with --rates"},
		{"sweep --methods fedau --availability markov", "has none for fedau (code)"},
	} {
		oneLineError(t, rollcall(t, args(c.line)...), statusUsage, c.want)
	}
	twice := rollcall(t, args("sweep --methods mifa", "--rates", path)...)
	oneLineError(t, twice, statusUsage, path+" twice, want it once")
}

// A file of rates that cannot be read or is damaged is a failure, and no invalid usage: a scheduler may try again. What
// spreadsheets add to a good one does no harm.
func TestBrokenRates(t *testing.T) {
	dir, good := t.TempDir(), ratesFile("0.5", "1")
	for name, c := range map[string]struct{ text, want string }{ // "": it is read
		"good":         {good, ""},
		"empty rows":   {good + ",,,,,,\r\n,,,,,,\r\n", ""},
		"UTF-16":       {"\xff\xfem\x00e\x00", "line 1: UTF-16, want UTF-8"},
		"semicolons":   {strings.ReplaceAll(good, ",", ";"), "line 1: columns separated by semicolons"},
		"CR alone":     {strings.ReplaceAll(good, "\n", "\r"), "line 1: lines end with CR alone, want LF"},
		"empty":        {"", "line 1: empty"},
		"header alone": {good[:strings.Index(good, "\n")+1], "no rates, want one line at least"},
		"cut off":      {good[:len(good)-1], "line 2: no line break at its end"},
		"impossible":   {strings.Replace(good, ",0.5,", ",-1,", 1), "line 2: lr -1, want a finite number above 0"},
		"twice":        {good + good[strings.Index(good, "\n")+1:], "line 3: mifa (code) on leaf"},
		"a folder":     {"", "want a file"},
		"a device":     {"", "want a file"},
		"missing":      {"", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".csv")
			switch name {
			case "a folder":
				must.OK(t, os.Mkdir(path, 0o777))
			case "a device":
				path = os.DevNull
			case "missing":
			default:
				must.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
			}
			for _, line := range [][]string{
				smallRun(t.TempDir(), "--rates", path), smallSweep(t.TempDir(), "--methods", "mifa", "--rates", path),
			} {
				if c.want == "" {
					pass(t, line...)
				} else {
					oneLineError(t, rollcall(t, line...), statusFailure, "--rates", path, c.want)
				}
			}
		})
	}
}

// The default seed of tunings is one that no table or figure has.
func TestTuneSeed(t *testing.T) {
	help := strings.Join(strings.Fields(pass(t, "tune", "--help").stdout), " ") // it is wrapped anywhere
	if of := papers.WithSeed(1001); len(of) > 0 || !strings.Contains(help, "(default [1001])") {
		t.Errorf("seed 1001 is one of %q, want it the default, and one that no table or figure has", of)
	}
}
