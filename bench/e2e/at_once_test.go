package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
)

// timelessTree returns the files below a folder, the times and durations in them left out.
func timelessTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	for _, path := range filesBelow(t, dir) {
		name := must.Get(filepath.Rel(dir, path))(t)
		switch filepath.Base(path) {
		case lock.File: // whose text is for people alone
		case results.CurveFile:
			tree[name] = timeless(t, path)
		default:
			tree[name] = timelessText(name, contents(t, path))
		}
	}
	return tree
}

// timelessText returns the text of a file other than a curve, the times in it left out.
func timelessText(name, text string) string {
	if filepath.Base(name) == results.RunFile {
		return regexp.MustCompile(`"(started|finished)": "[^"]*"`).ReplaceAllString(text, "")
	}
	return text
}

// sameTree compares what two commands left.
func sameTree(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s:\n%q\nwant\n%q", what, name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is left over", what, name)
		}
	}
	if len(want) == 0 {
		t.Errorf("%s: nothing to compare", what)
	}
}

// atOnceSweep are the arguments of a sweep on data sets, generated anew for every seed: each under 2 processes with 2
// methods.
func atOnceSweep(out, data string, more ...string) []string {
	args := []string{
		"sweep", "--data", data, "--clients", "5", "--rounds", "3", "--local-steps", "2", "--batch", "4",
		"--eval-every", "1", "--methods", "fedavg-active,mifa", "--availability", "stationary,sine", "--threads", "2",
		"--device", "cpu", "--out", out,
	}
	if strings.Contains(data, "synthetic") {
		args = append(args, "--train-size", "120", "--test-size", "40")
	}
	return append(args, more...)
}

// Runs side by side leave the same bytes as one by one, say once what is true of all, and write whole lines.
func TestAtOnce(t *testing.T) {
	alone, out := t.TempDir(), t.TempDir()
	one := pass(t, atOnceSweep(alone, "synthetic,leaf", "--seeds", "3,4")...)
	many := pass(t, atOnceSweep(out, "synthetic,leaf", "--seeds", "3,4", "--pack", "3")...)
	sameTree(t, "--pack 3", timelessTree(t, out), timelessTree(t, alone))
	if strings.ReplaceAll(many.stdout, out, alone) != one.stdout {
		t.Errorf("stdout:\n%s\nwant\n%s", many.stdout, one.stdout)
	}
	whole := regexp.MustCompile(`^(device: .* 1 thread \(one of 3 engines\)|` +
		`\[[1-8]/8\] \S+ (synthetic|leaf) (stationary|sine) seed [34]: round [0-3]/3, .* s)$`)
	rounds, devices := 0, 0
	for line := range strings.Lines(many.stderr) {
		if !whole.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("stderr: line %q, want a device or an evaluation", line)
		}
		if strings.HasPrefix(line, "device: ") {
			devices++
		} else {
			rounds++
		}
	}
	if rounds != 8*2*4 || devices != 1 {
		t.Errorf("%d lines of evaluations, %d of devices, want 8 cells × 2 seeds × 4 and 1", rounds, devices)
	}
	again := pass(t, atOnceSweep(out, "synthetic,leaf", "--seeds", "3,4", "--pack", "2")...)
	if again.stdout != many.stdout || strings.Count(again.stderr, "2 finished runs kept\n") != 8 {
		t.Errorf("second time:\n%s%s\nwant the same table from kept runs", again.stdout, again.stderr)
	}
}

// A seed that fails is tried again and counted; the others of its cell, and all other cells, are made all the same.
func TestAtOnceFailure(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out") // the same one, since messages name it
	var want map[string]string
	packs := []string{"1", "3", "8"}
	if testing.Short() {
		packs = packs[1:2]
	}
	for _, pack := range packs {
		pass(t, atOnceSweep(out, "leaf", "--seeds", "3")...)
		blocked, err := filepath.Glob(filepath.Join(out, "sweep", "mifa_leaf_*"))
		if err != nil || len(blocked) != 2 {
			t.Fatalf("%q, %v, want the two cells of mifa on leaf", blocked, err)
		}
		for _, cell := range blocked { // a file where the folder of seed 4 belongs
			must.OK(t, os.RemoveAll(filepath.Join(cell, "seed-3")))
			must.OK(t, os.WriteFile(filepath.Join(cell, "seed-4"), nil, 0o600))
		}
		o := rollcall(t, atOnceSweep(out, "leaf", "--seeds", "3,4,5,6", "--pack", pack)...)
		if o.status != statusFailure || !strings.HasSuffix(o.stderr, "rollcall: table sweep: 2 of 4 cells failed\n") ||
			strings.Count(o.stderr, ": seed 4: ") != 2 || strings.Count(o.stderr, ": tried again later\n") != 2 {
			t.Errorf("--pack %s: status %d, %q, want 1 and two cells that failed in seed 4, tried twice",
				pack, o.status, o.stderr)
		}
		_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
		for _, row := range rows {
			status, n := "ok", "4"
			if row["method"] == "mifa" {
				status, n = "failed", "3"
			}
			if row["status"] != status || row["n"] != n {
				t.Errorf("--pack %s: %s on %s: %s with n = %s, want %s with %s",
					pack, row["method"], row["data"], row["status"], row["n"], status, n)
			}
		}
		tree := timelessTree(t, out)
		if want == nil {
			want = tree
		}
		sameTree(t, "--pack "+pack, tree, want)
		must.OK(t, os.RemoveAll(out))
	}
}

// Ctrl-C ends all runs; what had begun is in the summary, and the next command makes of it what an undisturbed one
// makes.
func TestAtOnceInterrupted(t *testing.T) {
	alone, out := t.TempDir(), t.TempDir()
	pass(t, atOnceSweep(alone, "leaf", "--seeds", "3,4")...)
	o := interrupted(t, "[3/4] fedavg-active leaf sine seed 3: round 1/3",
		atOnceSweep(out, "leaf", "--seeds", "3,4", "--pack", "3")...)
	if o.status != statusInterrupted || !strings.HasSuffix(o.stderr, "\nrollcall: interrupted\n") {
		t.Errorf("status %d, stderr %q, want 130 and `rollcall: interrupted`", o.status, o.stderr)
	}
	_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
	done, begun := 0, 0
	for _, row := range rows {
		switch row["status"] {
		case "ok":
			done++
		case "interrupted":
			begun++
		default:
			t.Errorf("row %v, want ok or interrupted", row)
		}
	}
	if begun < 2 || done+begun < 6 { // two metrics a cell
		t.Errorf("%d rows that are ok, %d interrupted, want the first three cells, the third interrupted", done, begun)
	}
	states := map[results.RunStatus]int{}
	for _, path := range filesBelow(t, out) {
		if filepath.Base(path) == results.RunFile {
			info := must.Get(results.ReadRunInfo(path))(t)
			states[info.Status]++
		}
	}
	if n := states[results.RunInterrupted]; n < 1 || n > 3 || states[results.RunFailed] > 0 || len(states) != 2 {
		t.Errorf("runs %v, want one to three interrupted and the rest complete", states)
	}
	pass(t, atOnceSweep(out, "leaf", "--seeds", "3,4", "--pack", "3")...)
	sameTree(t, "resumed", timelessTree(t, out), timelessTree(t, alone))
}

// Figures too: the same CSV and drawing.
func TestAtOnceFigure(t *testing.T) {
	var want map[string]string
	for _, pack := range []string{"1", "3"} {
		out := t.TempDir()
		pass(t, "figure", "cafed-i2", "--rounds", "3", "--clients", "4", "--seeds", "1,2", "--pack", pack,
			"--device", "cpu", "--threads", "1", "--out", out)
		tree := timelessTree(t, out)
		if want == nil {
			want = tree
		}
		sameTree(t, "--pack "+pack, tree, want)
	}
}
