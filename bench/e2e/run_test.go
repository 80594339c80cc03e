package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/bench/cli"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/events"
)

// Same arguments, other threads, another limit of memory that is enough: the same bytes but for elapsed_s.
func TestRunDoesNotDependOnMachine(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "off") // the limit is not for the other tests
	for _, more := range [][]string{
		{"--method", "fedawe", "--availability", "sine"},
		{"--method", "fedvarp", "--preset", "paper", "--momentum", "0.5"},
		{"--method", "f3ast", "--net", "cnn-cinic10", "--f3ast-limit", "2", "--augment", "sample", "--weights", "size"},
	} {
		t.Run(more[1], func(t *testing.T) {
			var first string
			for _, of := range []string{"--threads 1 --memory-limit off", "--threads 3 --memory-limit 2GB"} {
				out := t.TempDir()
				pass(t, small(out, append(more, strings.Fields(of)...)...)...)
				if now := timeless(t, out); first == "" {
					first = now
				} else if now != first {
					t.Errorf("%s: curve\n%s\nwant that of one thread\n%s", of, now, first)
				}
			}
		})
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
	if rows := curveRows(t, out); len(rows) != 1 {
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
	if rows := curveRows(t, out); len(rows) != 1 {
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
	again = rollcall(t, small(out, "--method", "fedavg-active", "--lr", "1e30", "--again")...)
	if again.status != statusFailure || !strings.HasSuffix(again.stdout, ": diverged\n") {
		t.Errorf("status %d, %q, want it run anew", again.status, again.stdout)
	}
}

// planJSON is what --plan --format json prints.
type planJSON struct {
	Hardware string
	Runs     []struct {
		ID, Status    string
		Command       []string
		Round, Rounds int
		Seconds       float64
		Bytes         int64
	}
}

// planOf returns the plan of a command.
func planOf(t *testing.T, args ...string) (p planJSON) {
	t.Helper()
	must.OK(t, json.Unmarshal([]byte(pass(t, append(args, "--plan", "--format", "json")...).stdout), &p))
	return p
}

// Every run of a sweep and of a figure, made by its command from the plan, is what one process makes: the sweep then
// trains nothing.
func TestRunsByID(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{
			"sweep", "sweep --methods mifa,fedavg-known,f3ast --availability sine,markov --seeds 3,4 --data leaf " +
				"--clients 4 --rounds 3 --eval-every 3 --local-steps 2 --f3ast-beta 0.02 --device cpu --threads 1",
		},
		{"crossed", "sweep --methods mifa --data leaf --clients 8 --rounds 2 --crossed 5 --seed-split 3 " +
			"--seed-phi 4 --seed-init 5 --device cpu"},
		{"figure", "figure cafed-i2 --rounds 3 --clients 6 --seeds 3,4 --device cpu"},
		{"table", "table cafed-1 --rounds 4 --clients 6 --seeds 3,4 --data binary --device cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone, out := t.TempDir(), t.TempDir()
			line := func(out string) []string { return append(strings.Fields(c.line), "--out", out) }
			pass(t, line(alone)...)
			plan := planOf(t, line(out)...)
			if len(plan.Runs) != len(seedFolders(t, alone)) || plan.Hardware == "" {
				t.Errorf("%d runs on %q, want %d on this machine", len(plan.Runs), plan.Hardware,
					len(seedFolders(t, alone)))
			}
			for i, r := range plan.Runs {
				if r.Status != "left" || r.Round != 0 || r.Seconds < 0 || r.Bytes <= 0 || r.Rounds < 1 {
					t.Errorf("%+v, want a run that is left", r)
				}
				if r.Command[0] != "rollcall" {
					t.Fatalf("%q, want a command of rollcall", r.Command)
				}
				pass(t, r.Command[1:]...)
				if i == 0 {
					if again := planOf(t, line(out)...).Runs[0]; again.Status != "finished" || again.Seconds != 0 {
						t.Errorf("%+v, want it finished", again)
					}
				}
			}
			o := pass(t, line(out)...)
			if len(begun(o.stderr)) > 0 {
				t.Errorf("begun: %q, want all runs kept", begun(o.stderr))
			}
			sameTree(t, "by their commands", timelessTree(t, out), timelessTree(t, alone))
		})
	}
}

// A run of a paper's table is made by its ID alone.
func TestRunByIDAlone(t *testing.T) {
	out := t.TempDir()
	plan := planOf(t, "table", "cafed-1", "--data", "binary", "--seeds", "3", "--device", "cpu", "--out", out)
	r := plan.Runs[0]
	pass(t, "run", "--id", r.ID, "--device", "cpu", "--out", out)
	again := planOf(t, "table", "cafed-1", "--data", "binary", "--seeds", "3", "--device", "cpu", "--out", out)
	if got := again.Runs[0]; got.ID != r.ID || got.Status != "finished" || got.Round != got.Rounds {
		t.Errorf("%+v, want %s finished", got, r.ID)
	}
}

// A saved model goes along with a merge, and another run starts from it. Packages run and results hold it to its
// checksum.
func TestSaveModel(t *testing.T) {
	out, into, second := t.TempDir(), filepath.Join(t.TempDir(), "all"), t.TempDir()
	pass(t, small(out, "--save-model")...)
	if o := pass(t, small(out, "--save-model=all")...); strings.Contains(o.stdout, "kept") {
		t.Errorf("with the clients' models: %q, want the run made again", o.stdout)
	}
	only(t, out, "run/*/seed-3/model-client-0.safetensors")
	pass(t, "results", "verify", out)
	pass(t, "results", "merge", out, "--out", into)
	pass(t, "results", "verify", into)
	saved := only(t, into, "run/*/seed-3/"+results.ModelFile)
	pass(t, small(second, "--init-from", saved)...)
	first := curveRows(t, out)
	if got, want := curveRows(t, second)[0]["test_loss"], first[len(first)-1]["test_loss"]; got != want {
		t.Errorf("round 0 of the run from %s: test loss %s, want %s", saved, got, want)
	}
	must.OK(t, os.Truncate(saved, 1000))
	oneLineError(t, rollcall(t, small(second, "--init-from", saved)...), statusFailure, saved, "want")
}

// What a run writes on its way, and what --events and results events make of a finished one, is the same file.
func TestEvents(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--events")...)
	path := only(t, out, "run/*/seed-*/"+events.File)
	first := []byte(contents(t, path))
	must.OK(t, os.Remove(path))
	pass(t, small(out)...)
	if _, err := os.Stat(path); err == nil {
		t.Error("without --events there is an event file, want none")
	}
	pass(t, small(out, "--events")...)
	if again := []byte(contents(t, path)); !bytes.Equal(first, again) || len(first) < 300 {
		t.Errorf("%d bytes on the way, %d afterwards, want the same", len(first), len(again))
	}
	must.OK(t, os.Remove(path))
	if o := pass(t, "results", "events", out); o.stdout != "1 event file written\n" {
		t.Errorf("results events: %q, want 1 event file written", o.stdout)
	}
	if again := []byte(contents(t, path)); !bytes.Equal(first, again) {
		t.Errorf("%d bytes on the way, %d of results events, want the same", len(first), len(again))
	}
	pass(t, small(out, "--again")...)
	if _, err := os.Stat(path); err == nil {
		t.Error("an event file of an earlier run is left, want none")
	}
}

// Runs that diverge have the same file on the way and afterwards too; damaged runs have none, and are named.
func TestEventsOfBadRuns(t *testing.T) {
	out := t.TempDir()
	if o := rollcall(t, smallRun(out, "--lr", "1e9", "--events")...); o.status != statusFailure {
		t.Fatalf("status %d, want a run that diverges:\n%s", o.status, o.stderr)
	}
	path := only(t, out, "run/*/seed-*/"+events.File)
	live := contents(t, path)
	pass(t, "results", "events", out)
	if again := contents(t, path); again != live {
		t.Errorf("%d bytes on the way, %d of results events, want the same", len(live), len(again))
	}
	must.OK(t, os.Remove(path))
	curve := filepath.Join(filepath.Dir(path), results.CurveFile)
	must.OK(t, os.WriteFile(curve, []byte(contents(t, curve)+"x\n"), 0o666))
	o := rollcall(t, "results", "events", out)
	if o.status != statusFailure || o.stdout != "0 event files written\n" || !strings.Contains(o.stderr, curve) {
		t.Errorf("status %d, %q, want 1, no file and the damaged one named:\n%s", o.status, o.stdout, o.stderr)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a damaged run has an event file, want none")
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
	curve := curveRows(t, out)
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
