package e2e

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/bench/cli"
	"rollcall/internal/must"
	"rollcall/results"
)

// atOnceSweep are the arguments of a sweep on data sets, generated anew for every seed: each under 2 processes with 2
// methods.
func atOnceSweep(out, data string, more ...string) []string {
	args := strings.Fields("sweep --methods fedavg-active,mifa --availability stationary,sine --clients 8 --rounds 3 " +
		"--local-steps 2 --batch 4 --eval-every 1 --threads 2 --device cpu --data " + data + " --out " + out)
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
		`run \d+/16 · \[[1-8]/8\] \S+ (synthetic|leaf) (stationary|sine) seed [34]: round [0-3]/3 · .*|` +
		`run 16/16 · after \d+ s)$`)
	rounds, devices := 0, 0
	for line := range strings.Lines(many.stderr) {
		if !whole.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("stderr: line %q, want a device or an evaluation", line)
		}
		if strings.HasPrefix(line, "device: ") {
			devices++
		} else if strings.Contains(line, ": round ") {
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
		rows := summaryRows(t, out, "sweep")
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

// Ctrl-C ends all runs, each of which leaves a checkpoint; what had begun is in the summary, and the next command goes
// on from there to what an undisturbed one makes.
func TestAtOnceInterrupted(t *testing.T) {
	alone, out := t.TempDir(), t.TempDir()
	// So many rounds that no run in progress ends before the other one has begun, on however busy a machine.
	line := func(out string) []string {
		return smallSweep(out, "--methods", "fedawe,mifa,fedau", "--seeds", "3", "--pack", "2", "--rounds", "2000",
			"--eval-every", "50")
	}
	pass(t, line(alone)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := &trigger{text: ": round 50/", times: 2, do: cancel}
	status := cli.Run(ctx, line(out), io.Discard, stderr)
	if status != statusInterrupted || !strings.HasSuffix(stderr.String(), "\n"+resumesLine) {
		t.Errorf("status %d, stderr %q, want 130 and %q", status, stderr, resumesLine)
	}
	begun := 0
	for _, row := range summaryRows(t, out, "sweep") {
		if row["status"] != "interrupted" {
			t.Errorf("row %v, want it interrupted", row)
		}
		begun++
	}
	left := must.Get(filepath.Glob(filepath.Join(out, "sweep/*/seed-3/checkpoint-*.safetensors")))(t)
	if begun != 2*2 || len(left) != 2 { // two metrics a cell
		t.Errorf("%d rows, checkpoints %q, want two cells that were interrupted, a checkpoint of either", begun, left)
	}
	o := pass(t, line(out)...)
	if n := strings.Count(o.stderr, ": resumes from round "); n != 2 {
		t.Errorf("%d runs gone on, want 2\n%s", n, o.stderr)
	}
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

// The order of lists, the number of threads and of runs at once change no number.
func TestAtOnceInAnyOrder(t *testing.T) {
	tree := func(more ...string) map[string]string {
		out := t.TempDir()
		pass(t, smallSweep(out, more...)...)
		files := timelessTree(t, out)
		delete(files, "sweep/"+results.SummaryFile) // whose rows come in the order that was asked for
		return files
	}
	want := tree("--methods", "fedawe,mifa,fedvarp", "--availability", "sine,uniform", "--seeds", "3,4")
	for _, line := range []string{
		"--methods fedvarp,mifa,fedawe --availability uniform,sine --seeds 4,3",
		"--methods fedawe,mifa,fedvarp --availability sine,uniform --seeds 3,4 --pack 4 --threads 2",
		"--methods mifa,fedvarp,fedawe --availability uniform,sine --seeds 4,3 --pack 3 --threads 3",
	} {
		sameTree(t, line, tree(strings.Fields(line)...), want)
	}
}
