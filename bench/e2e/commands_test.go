package e2e

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"rollcall/algos/availability"
	"rollcall/bench/cli"
	"rollcall/internal/files"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// Every command explains itself, on stdout.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		args := append(strings.Fields(strings.TrimPrefix(c.CommandPath(), "rollcall")), "--help")
		o := pass(t, args...)
		for _, want := range []string{"Usage:\n  rollcall", "--help"} {
			if !strings.Contains(o.stdout, want) || o.stderr != "" {
				t.Errorf("%s: stdout %q, stderr %q, want %q on stdout",
					strings.Join(args, " "), o.stdout, o.stderr, want)
			}
		}
		if strings.Contains(o.stdout, "(default )") {
			t.Errorf("%s: stdout %q, want no default that says nothing", strings.Join(args, " "), o.stdout)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") && c.Parent() != nil && c.Parent().Name() == "rollcall" {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cli.Root())
	if bare := pass(t); !strings.Contains(bare.stdout, "Available Commands:") {
		t.Errorf("without arguments: %q, want the commands", bare.stdout)
	}
}

// halfCIFAR10 puts files of the right names and lengths where CIFAR-10 is looked for; edit may spoil them further.
func halfCIFAR10(t *testing.T, edit func(path string)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, "cifar-10-batches-bin")
	must.OK(t, os.Mkdir(folder, 0o777))
	for _, name := range []string{
		"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
		"data_batch_5.bin", "test_batch.bin",
	} {
		path := filepath.Join(folder, name)
		f := must.Get(os.Create(path))(t)
		if err := f.Truncate(10000 * 3073); err != nil { // zeros that take no room: 10,000 black pictures of class 0
			t.Fatal(err)
		}
		must.OK(t, f.Close())
	}
	if edit != nil {
		edit(folder)
	}
	return dir
}

// No run on data that is not what its name says.
func TestDataFilesAreChecked(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	out := t.TempDir()
	run := func(dir string) outcome {
		return rollcall(t, "run", "--data", "cifar10", "--data-dir", dir, "--clients", "4", "--rounds", "1",
			"--local-steps", "1", "--batch", "8", "--out", out)
	}
	t.Run("other content", func(t *testing.T) {
		dir := halfCIFAR10(t, nil)
		oneLineError(t, run(dir), statusFailure, "cifar10", "data_batch_1.bin", "not the official file", "want")
		o := rollcall(t, "data", "verify", "cifar10", "--data-dir", dir)
		oneLineError(t, o, statusFailure, "6 of 6 files")
		if strings.Count(o.stdout, "\n") != 6 || !strings.Contains(o.stdout, "data_batch_1.bin: ") {
			t.Errorf("stdout %q, want a line per file", o.stdout)
		}
	})
	t.Run("truncated", func(t *testing.T) {
		dir := halfCIFAR10(t, func(folder string) {
			must.OK(t, os.Truncate(filepath.Join(folder, "data_batch_3.bin"), 10000*3073-1))
		})
		o := run(dir)
		oneLineError(t, o, statusFailure, "cifar10", "data_batch_", "want")
	})
	if left, _ := filepath.Glob(filepath.Join(out, "run", "*", "seed-*", "*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// A folder without permission to write; root may write anywhere.
func TestReadOnlyOut(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	must.OK(t, os.Chmod(dir, 0o555))
	oneLineError(t, rollcall(t, small(filepath.Join(dir, "out"))...), statusFailure, dir, "permission denied")
}

// p_i^t as papers/algorithms' table has it, from the p_i that are printed beside it.
func TestAvailabilityCSV(t *testing.T) {
	const N, T, period, gamma, cutoff, low = 6, 25, 8, 0.4, 0.15, 0.3
	sine := func(p float64, round int) float64 {
		return p * (gamma*math.Sin(2*math.Pi*float64(round)/period) + 1 - gamma)
	}
	closed := map[string]func(p float64, round int) float64{
		"stationary": func(p float64, _ int) float64 { return p },
		"staircase": func(p float64, round int) float64 {
			if round%period < period/2 {
				return p
			}
			return p * low
		},
		"sine": sine,
		"interleaved-sine": func(p float64, round int) float64 {
			if v := sine(p, round); v >= cutoff {
				return v
			}
			return 0
		},
	}
	own := map[string][]string{
		"staircase":        {"--period", "8", "--low", "0.3"},
		"sine":             {"--period", "8", "--gamma", "0.4"},
		"interleaved-sine": {"--period", "8", "--gamma", "0.4", "--cutoff", "0.15"},
	}
	for _, kind := range availability.Names() {
		of, ok := closed[kind]
		if !ok {
			continue // its own tests have it
		}
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", "trace.csv")
			args := []string{
				"availability", "--kind", kind, "--clients", "6", "--rounds", "25", "--train-size", "300",
				"--seed", "7", "--csv", path,
			}
			o := pass(t, append(args, own[kind]...)...)
			if !strings.HasPrefix(o.stdout, path+": ") {
				t.Errorf("stdout %q, want the file named", o.stdout)
			}
			header, rows := table(t, contents(t, path))
			if strings.Join(header, ",") != "round,client,p,pi,lambda,probability,active" || len(rows) != N*T {
				t.Fatalf("columns %v, %d rows, want %d", header, len(rows), N*T)
			}
			for n, row := range rows {
				round, client := n/N, n%N
				p, got := number(t, row["p"]), number(t, row["probability"])
				// Both are the same few float64 operations, in perhaps another order: 1e-15.
				if want := of(p, round); int(number(t, row["round"])) != round ||
					int(number(t, row["client"])) != client || math.Abs(got-want) > 1e-15 {
					t.Errorf("round %d client %d: %v, want p %g", round, client, row, want)
				}
				if got == 0 && row["active"] != "0" {
					t.Errorf("round %d client %d: active with probability 0", round, client)
				}
			}
		})
	}
}

// The trace is the one a run with the same seed sees.
func TestAvailabilityIsThatOfRun(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--availability", "sine", "--rounds", "6", "--seed", "9", "--local-steps", "1")...)
	trace := activeClients(t, "--kind", "sine", "--clients", "6", "--rounds", "6", "--train-size", "300", "--seed", "9")
	_, rows := table(t, contents(t, only(t, out, curvePath)))
	for _, row := range rows[1:] {
		round := int(number(t, row["round"]))
		if got, want := int(number(t, row["active"])), len(trace[round-1]); got != want {
			t.Errorf("round %d: %d active in the run, %d in the trace", round, got, want)
		}
	}
}

// bench in its three formats, on the data set it falls back to without CIFAR-10.
func TestBenchFallsBack(t *testing.T) {
	longtest.Only(t, "minutes of bench in three formats")
	if testing.Short() {
		t.Skip("a round of full size is not for -short")
	}
	out := t.TempDir()
	args := []string{
		"bench", "--data", "cifar10", "--clients", "2", "--rounds", "1", "--warmup", "0", "--out", out, "--format",
	}
	text, row, gobench := pass(t, append(args, "text")...), pass(t, append(args, "csv")...),
		pass(t, append(args, "gobench")...)
	for _, o := range []outcome{text, row, gobench} {
		// A machine that does other work has lines about that besides.
		if got := strings.Count(o.stderr, "running on synthetic data instead\n"); got != 1 {
			t.Errorf("stderr %q, want one line about the other data", o.stderr)
		}
	}
	for _, want := range []string{
		"synthetic", "client-steps/s", "images/s", "GFLOP/s", "ms median", "MiB", "test accuracy",
	} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("text: %q, want %q in it", text.stdout, want)
		}
	}
	if !strings.Contains(gobench.stdout, "\nBenchmarkRound/data=synthetic/") ||
		!strings.Contains(gobench.stdout, " ns/op\t") {
		t.Errorf("gobench: %q", gobench.stdout)
	}
	records, err := csv.NewReader(strings.NewReader(row.stdout)).ReadAll()
	if err != nil || len(records) != 2 {
		t.Fatalf("csv: %v in %q, want a header and a row", err, row.stdout)
	}
	rows, err := files.ReadCSVFile[results.BenchRow](filepath.Join(out, results.BenchFile))
	if err != nil || len(rows) != 3 {
		t.Fatalf("bench.csv: %d rows, %v, want one of each command", len(rows), err)
	}
	for _, r := range rows {
		if r.Data != "synthetic" || r.ClientStepsPerSec <= 0 || r.Rounds != 1 ||
			r.EvalImages != 10000 || !r.TestAcc.Valid {
			t.Errorf("row %+v", r)
		}
		const perImage = 20942592e-9 // GFLOP of cnn-cifar10, see TestOperations in nets; the CSV has rounded numbers
		if got := r.GFLOPs / r.ImagesPerSec; math.Abs(got-perImage) > 1e-6*perImage {
			t.Errorf("%g GFLOP per image, want %g within a millionth", got, perImage)
		}
	}
	if again, err := files.ReadCSV[results.BenchRow](strings.NewReader(row.stdout), "stdout"); err != nil ||
		again[0] != rows[1] {
		t.Errorf("--format csv: %+v, %v, want the row appended to bench.csv: %+v", again, err, rows[1])
	}
}
