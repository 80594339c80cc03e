package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/cli"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
)

// sweepOf are the arguments of a sweep of seconds.
func sweepOf(out string, more ...string) []string {
	args := []string{
		"sweep", "--data", "synthetic", "--nets", "lenet5", "--train-size", "400", "--test-size", "100",
		"--clients", "6", "--rounds", "3", "--local-steps", "2", "--batch", "8", "--eval-every", "1",
		"--device", "cpu", "--out", out,
	}
	return append(args, more...)
}

// Methods of four papers under two processes: one row for each cell and metric, one and the same trace, split and work
// for all methods, and everything kept the second time.
func TestSweep(t *testing.T) {
	out := t.TempDir()
	args := sweepOf(out, "--methods", "fedawe,ca-fed,fedar,scaffold", "--availability", "markov,uniform",
		"--seeds", "3,4")
	first := pass(t, args...)
	header, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
	if got := strings.Join(header, ","); got != summaryColumns {
		t.Errorf("columns %s, want table's %s", got, summaryColumns)
	}
	if len(rows) != 4*2*2 {
		t.Fatalf("%d rows, want 4 methods × 2 processes × 2 metrics", len(rows))
	}
	for _, row := range rows {
		if row["status"] != "ok" || row["n"] != "2" || row["paper_mean"] != "" {
			t.Errorf("row %v, want two seeds and nothing of a paper", row)
		}
	}
	active := map[string][]string{} // of every round, by process and seed
	initial := map[string]string{}  // loss of the initial model
	curves, err := filepath.Glob(filepath.Join(out, "sweep", "*", "seed-*", results.CurveFile))
	if err != nil || len(curves) != 16 {
		t.Fatalf("%d curves, %v, want 16", len(curves), err)
	}
	for _, path := range curves {
		_, curve := table(t, contents(t, path))
		var there []string
		for _, row := range curve {
			there = append(there, row["active"])
		}
		key := curve[0]["availability"] + curve[0]["seed"]
		if active[key] == nil {
			active[key], initial[key] = there, curve[0]["test_loss"]
		}
		if !slices.Equal(active[key], there) || initial[key] != curve[0]["test_loss"] {
			t.Errorf("%s: active %v from loss %s, want the others' %v from %s",
				path, there, curve[0]["test_loss"], active[key], initial[key])
		}
	}
	again := pass(t, args...)
	if again.stdout != first.stdout || strings.Count(again.stderr, "2 finished runs kept") != 8 {
		t.Errorf("second time:\n%s%s\nwant the same table from kept runs:\n%s",
			again.stdout, again.stderr, first.stdout)
	}
	only := pass(t, sweepOf(t.TempDir(), "--methods", "fedar", "--eval-train=false")...)
	if !strings.Contains(only.stdout, "test_acc") || strings.Contains(only.stdout, "train_acc") {
		t.Errorf("--eval-train=false: %q, want test accuracies alone", only.stdout)
	}
	for _, want := range []string{"markov", "uniform", "fedawe ", "ca-fed ", "fedar ", "scaffold "} {
		if !strings.Contains(first.stdout, want) {
			t.Errorf("stdout, want %q in it:\n%s", want, first.stdout)
		}
	}
}

// FedAR, section 6.1, in the runs of its methods, and none of it in the names of others' runs.
func TestFedARDefaults(t *testing.T) {
	for _, method := range []string{"fedar", "fedavg-is", "fedavg-s", "scaffold"} {
		s := must.Get(settings.Defaults(method, "paper", "cifar10"))(t)
		values := s.Values()
		for flag, want := range map[string]string{
			"split": "two-class", "batch": "64", "local-steps": "5", "weight-decay": "0.001", "lr": "0.1",
			"server-lr": "1", "augment": "none", "clip": "none", "fedar-rho": "0.1", "fedar-t0": "50", "fedar-b": "4",
			"fedavg-s-limit": "none", "p-min": "0.1",
		} {
			if values[flag] != want {
				t.Errorf("%s: --%s is %s by default, want %s", method, flag, values[flag], want)
			}
		}
	}
	s := must.Get(settings.Defaults("fedar", "paper", "cifar10"))(t)
	same, other := s, s
	for name, value := range map[string]string{"fedar-t0": "50.0", "fedavg-s-limit": "none"} {
		must.OK(t, same.Set(name, value))
	}
	must.OK(t, other.Set("fedar-t0", "none"))
	if results.Hash(s) != results.Hash(same) || results.Hash(s) == results.Hash(other) {
		t.Error("the name of a run depends on how t_0 is written, or not on what it is")
	}
	if got := other.MethodOptions().Values["fedar-t0"]; got != "none" || s.MethodOptions().Values["fedar-t0"] != "50" {
		t.Errorf("--fedar-t0 none: %s, and 50 without it", got)
	}
}

// A run on the two-class split writes what its last model is worth to each client, on test samples of the client's
// classes alone.
func TestClientsFile(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--method", "fedar", "--availability", "uniform", "--clients", "5", "--rounds", "3")...)
	rows, err := results.ReadClients(only(t, out, "run/*/seed-*/"+results.ClientsFile))
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d clients, %v, want 5", len(rows), err)
	}
	_, curve := table(t, contents(t, only(t, out, curvePath)))
	sum, n := 0.0, 0
	for i, r := range rows {
		if r.Round != 3 || r.N != rows[0].N || r.N == 0 || r.Pi < 0.1 || r.Pi > 1 {
			t.Errorf("client %d: %+v, want round 3, as many samples as the others, p from 0.1 to 1", i, r)
		}
		sum, n = sum+r.Accuracy*float64(r.N), n+r.N
	}
	// Ten classes of ten test pictures, two to a client: all pictures, so the same accuracy as the whole test set's.
	if want := number(t, curve[len(curve)-1]["test_acc"]); n != 100 ||
		fmt.Sprintf("%.6f", sum/float64(n)) != fmt.Sprintf("%.6f", want) {
		t.Errorf("%d pictures with accuracy %g, want 100 with the curve's %g", n, sum/float64(n), want)
	}
	out = t.TempDir()
	pass(t, small(out)...)
	if found, _ := filepath.Glob(filepath.Join(out, "run/*/seed-*/"+results.ClientsFile)); len(found) > 0 {
		t.Errorf("left %q, want no file of clients whose classes are not two", found)
	}
}

// A table is printed as it is on disk when the command ends: a run that somebody has changed since it was done is no
// part of it.
func TestSweepOnDisk(t *testing.T) {
	out := t.TempDir()
	line := shareSweep(out, "--methods", "mifa,fedawe", "--seeds", "3,4")
	pass(t, line...)
	must.OK(t, os.RemoveAll(filepath.Dir(filepath.Dir(only(t, out, "sweep/fedawe_*/seed-3/run.json")))))
	var stdout bytes.Buffer
	stderr := &trigger{text: "fedawe leaf stationary seed 3: round 0/", do: func() { // mifa is done
		must.OK(t, os.Remove(only(t, out, "sweep/mifa_*/seed-4/run.json")))
	}}
	status := cli.Run(t.Context(), line, &stdout, stderr)
	if status != statusFailure || !strings.Contains(stderr.String(), "seed-4: unfinished, and was finished before") ||
		!strings.Contains(stderr.String(), "table sweep: 1 of 2 cells failed") ||
		!strings.Contains(stdout.String(), "was finished before") {
		t.Errorf("status %d, want 1 and what has changed:\n%s\n%s", status, stderr, stdout.String())
	}
	if o := pass(t, line...); len(begun(o.stderr)) != 1 {
		t.Errorf("begun %q, want the one that has changed:\n%s", begun(o.stderr), o.stderr)
	}
}
