package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/bench/cli"
	"rollcall/internal/must"
	"rollcall/results"
)

const curveColumns = "table,method,preset,data,net,availability,clients,alpha,seed,round,active,lr," +
	"train_loss,train_acc,test_loss,test_acc,elapsed_s,params,engine,precision,version"

var (
	sha256Sum = regexp.MustCompile("^sha256:[0-9a-f]{64}$")
	seedSum   = regexp.MustCompile("^seed-sha256:[0-9a-f]{64}$") // of data that the seed makes
)

func TestRunWritesCurveAndRunInfo(t *testing.T) {
	out := t.TempDir()
	o := pass(t, small(out, "--method", "mifa", "--availability", "sine", "--seed", "5")...)
	path := only(t, out, curvePath)
	header, rows := table(t, contents(t, path))
	if got := strings.Join(header, ","); got != curveColumns {
		t.Errorf("columns:\n got %s\nwant %s", got, curveColumns)
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows, want rounds 0, 1 and 2", len(rows))
	}
	for i, row := range rows {
		for name, want := range map[string]string{
			"table": "run", "method": "mifa", "preset": "code", "data": "synthetic",
			"net": "lenet5", "availability": "sine", "clients": "6", "alpha": "0.1", "seed": "5",
			"round": string(rune('0' + i)), "precision": "fp32",
		} {
			if row[name] != want {
				t.Errorf("row %d: %s %q, want %q", i, name, row[name], want)
			}
		}
		params := strings.Split(row["params"], ";")
		for _, want := range []string{
			"batch=8", "eval-every=1", "local-steps=2", "rounds=2", "test-size=100", "train-size=300",
		} {
			if !slices.Contains(params, want) || !slices.IsSorted(params) {
				t.Errorf("row %d: params %q, want %s among them, sorted", i, params, want)
			}
		}
		for _, name := range []string{"train_acc", "test_acc"} {
			if v := row[name]; v != "0" && v != "1" && !strings.HasPrefix(v, "0.") {
				t.Errorf("row %d: %s %q, want a fraction", i, name, v)
			}
		}
	}
	info := must.Get(results.ReadRunInfo(only(t, out, runPath)))(t)
	if info.Status != results.RunComplete || info.Rounds != 2 || info.Seed != 5 || info.Data != "synthetic" ||
		!seedSum.MatchString(info.DataChecksum) || info.Schema != results.Schema || info.Numerics == "" ||
		info.Revisions.Method < 1 || !sha256Sum.MatchString(info.Checksums[results.CurveFile]) || info.Device == "" ||
		info.Version == "" {
		t.Errorf("run.json: %+v", info)
	}
	if n := len(filesBelow(t, out)); n != 3 {
		t.Errorf("files %q, want .lock, curve.csv and run.json alone", filesBelow(t, out))
	}
	if !strings.Contains(o.stdout, path+": complete") || strings.Contains(o.stderr, path) {
		t.Errorf("stdout %q stderr %q, want the result's path on stdout", o.stdout, o.stderr)
	}
	if got := strings.Count(o.stderr, "mifa: round "); got != 3 {
		t.Errorf("%d progress lines, want one per evaluation, 3:\n%s", got, o.stderr)
	}
}

// Same arguments, other threads: the same bytes but for elapsed_s.
func TestRunDoesNotDependOnThreads(t *testing.T) {
	for _, more := range [][]string{
		{"--method", "fedawe", "--availability", "sine"},
		{"--method", "fedvarp", "--preset", "paper", "--momentum", "0.5"},
		{"--method", "f3ast", "--net", "cnn-cinic10", "--f3ast-limit", "2", "--augment", "sample", "--weights", "size"},
	} {
		t.Run(more[1], func(t *testing.T) {
			var curves []string
			for _, threads := range []string{"1", "3"} {
				out := t.TempDir()
				pass(t, small(out, append(more, "--threads", threads)...)...)
				curves = append(curves, timeless(t, only(t, out, curvePath)))
			}
			if curves[0] != curves[1] {
				t.Errorf("1 thread:\n%s3 threads:\n%s", curves[0], curves[1])
			}
		})
	}
}

func TestRunKeepsFinished(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out)...)
	path := only(t, out, curvePath)
	before := contents(t, path)
	long := time.Now().Add(-time.Hour)
	must.OK(t, os.Chtimes(path, long, long))
	touched := func() bool {
		info := must.Get(os.Stat(path))(t)
		return !info.ModTime().Equal(long)
	}

	o := pass(t, small(out, "--threads", "2")...)
	if touched() || contents(t, path) != before || !strings.Contains(o.stdout, "kept") {
		t.Errorf("repeated: file written %v, stdout %q, want the file left alone and said so", touched(), o.stdout)
	}
	pass(t, small(out, "--seed", "4")...)
	pass(t, small(out, "--lr", "0.01")...)
	if n := len(filesBelow(t, out)); touched() || n != 9 {
		t.Errorf("other seed and other settings: file written %v, %d files, want the file left alone and three a run",
			touched(), n)
	}
	pass(t, small(out, "--again")...)
	if !touched() {
		t.Error("--again: file left alone, want it written anew")
	}

	// What is not a complete result is run again, but nothing is replaced unasked.
	run := filepath.Join(filepath.Dir(path), results.RunFile)
	for _, c := range []struct {
		name    string
		spoil   func() error
		refused bool
	}{
		{"no run.json", func() error { return os.Remove(run) }, false},
		{"cut run.json", func() error { return os.Truncate(run, 100) }, true},
		{"cut curve.csv", func() error { return os.Truncate(path, 250) }, true},
	} {
		must.OK(t, c.spoil())
		o := rollcall(t, small(out)...)
		refused := strings.Contains(o.stderr, ": refused: ")
		if refused != c.refused || refused != (o.status != statusOK) {
			t.Errorf("%s: status %d, %q, want it refused: %t", c.name, o.status, o.stderr, c.refused)
		}
		if c.refused {
			o = pass(t, small(out, "--replace")...)
		}
		if strings.Contains(o.stdout, "kept") || timeless(t, path) == "" ||
			rollcall(t, "results", "verify", out).status != statusOK {
			t.Errorf("%s: stdout %q, want a new complete run", c.name, o.stdout)
		}
	}
}

// A result on altered files is that of these files, and of no others.
func TestRunOnAlteredData(t *testing.T) {
	if testing.Short() {
		t.Skip("reads CIFAR-10 many times")
	}
	black := halfCIFAR10(t, nil)
	label := halfCIFAR10(t, func(folder string) {
		f := must.Get(os.OpenFile(filepath.Join(folder, "data_batch_1.bin"), os.O_WRONLY, 0))(t)
		if _, err := f.WriteAt([]byte{1}, 0); err != nil { // the first picture is now of class 1
			t.Fatal(err)
		}
		must.OK(t, f.Close())
	})
	out := t.TempDir()
	run := []string{
		"run", "--data", "cifar10", "--net", "lenet5", "--clients", "4", "--rounds", "1", "--local-steps", "1",
		"--batch", "8", "--eval-train=false", "--out", out,
	}
	for _, c := range []struct {
		name, dir string
		kept      bool
		more      []string
	}{
		{"first", black, false, nil},
		{"again", black, true, nil},
		{"another label", label, false, []string{"--again"}},
		{"the first files", black, false, []string{"--again"}},
		{"another label, mixed", label, true, []string{"--mixed"}},
	} {
		o := pass(t, slices.Concat(run, []string{"--allow-altered", "--data-dir", c.dir}, c.more)...)
		if strings.Contains(o.stdout, "kept") != c.kept {
			t.Errorf("%s: stdout %q, want a kept run: %t", c.name, o.stdout, c.kept)
		}
	}
	dir := filepath.Dir(only(t, out, curvePath))
	for _, files := range []string{label, black} { // each stands aside while the other is in place
		o := pass(t, append(run, "--allow-altered", "--data-dir", files)...)
		if !strings.Contains(o.stderr, ": moved back from .old") || !strings.Contains(o.stdout, "kept") {
			t.Errorf("%s: %q, %q, want the run taken back", files, o.stdout, o.stderr)
		}
	}
	for _, aside := range must.Get(filepath.Glob(filepath.Join(dir, ".old*")))(t) {
		must.OK(t, os.RemoveAll(aside))
	}
	before := contents(t, only(t, out, curvePath))
	o := rollcall(t, append(run, "--allow-altered", "--data-dir", label)...)
	if o.status != statusFailure || !strings.Contains(o.stderr, "data checksum sha256:") ||
		!strings.Contains(o.stderr, "--mixed accepts a finished run") ||
		contents(t, only(t, out, curvePath)) != before {
		t.Errorf("another label: status %d, %q, want both checksums, what to do, and the run left alone",
			o.status, o.stderr)
	}
	oneLineError(t, rollcall(t, append(run, "--data-dir", black)...), statusFailure,
		"data_batch_1.bin", "not the official file")
}

// Ctrl-C between rounds: rows so far are there and said, and the next command makes of it what an undisturbed one
// makes.
func TestRunInterruptedAndResumed(t *testing.T) {
	whole, out := t.TempDir(), t.TempDir()
	six := []string{"--rounds", "6", "--eval-every", "2", "--availability", "staircase"}
	pass(t, small(whole, six...)...)

	o := interrupted(t, "round 2/6", small(out, six...)...)
	if o.status != statusInterrupted || !strings.HasSuffix(o.stderr, "\nrollcall: interrupted\n") ||
		!strings.Contains(o.stdout, "round 2:") {
		t.Errorf("status %d, stdout %q, stderr %q, want 130 and `rollcall: interrupted`", o.status, o.stdout, o.stderr)
	}
	path := only(t, out, curvePath)
	if _, rows := table(t, contents(t, path)); len(rows) != 2 {
		t.Errorf("%d rows, want those of rounds 0 and 2", len(rows))
	}
	info, err := results.ReadRunInfo(only(t, out, runPath))
	if err != nil || info.Status != results.RunInterrupted || info.Rounds != 2 {
		t.Errorf("run.json: %+v, %v, want interrupted after 2 rounds", info, err)
	}

	pass(t, small(out, six...)...)
	if got, want := timeless(t, path), timeless(t, only(t, whole, curvePath)); got != want {
		t.Errorf("resumed:\n%sundisturbed:\n%s", got, want)
	}
}

// Ctrl-C in the middle of a long round: back within a second, as promised.
func TestRunInterruptedInRound(t *testing.T) {
	out := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at time.Time
	stderr := &trigger{text: "round 0/1", do: func() {
		time.AfterFunc(300*time.Millisecond, func() { at = time.Now(); cancel() })
	}}
	var stdout bytes.Buffer
	status := cli.Run(ctx, small(out, "--rounds", "1", "--local-steps", "100000"), &stdout, stderr)
	took := time.Since(at)
	if status != statusInterrupted || took > time.Second {
		t.Errorf("status %d, %v after the interrupt, want 130 within 1s\n%s", status, took, stderr.String())
	}
	if _, rows := table(t, contents(t, only(t, out, curvePath))); len(rows) != 1 {
		t.Errorf("%d rows, want that of round 0", len(rows))
	}
}

// A loss that is no number any more: round and client are named, the rows before it are kept.
func TestRunDiverges(t *testing.T) {
	out := t.TempDir()
	o := rollcall(t, small(out, "--method", "fedavg-active", "--lr", "1e30")...)
	last := o.stderr[strings.LastIndex(strings.TrimSpace(o.stderr), "\n")+1:]
	if o.status != statusFailure || !strings.HasPrefix(last, "rollcall: fedavg-active: round 1: client ") ||
		!strings.Contains(last, "want a finite number") {
		t.Errorf("status %d, %q, want 1 and an error that names round 1 and a client", o.status, last)
	}
	if _, rows := table(t, contents(t, only(t, out, curvePath))); len(rows) != 1 {
		t.Errorf("%d rows, want that of round 0", len(rows))
	}
	info, err := results.ReadRunInfo(only(t, out, runPath))
	if err != nil || info.Status != results.RunDiverged || !strings.Contains(info.Error, "round 1: client ") {
		t.Errorf("run.json: %+v, %v, want diverged and why", info, err)
	}
	again := rollcall(t, small(out, "--method", "fedavg-active", "--lr", "1e30")...)
	if again.status != statusFailure || !strings.Contains(again.stdout, "kept, diverged before") ||
		!strings.HasSuffix(again.stderr, last) {
		t.Errorf("repeated: status %d, %q, %q, want 1, the run kept, and the same error",
			again.status, again.stdout, again.stderr)
	}
}
