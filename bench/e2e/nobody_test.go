package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// A run in which no client trains is no result: it ends with status 1 and says why, whatever the command.
func TestNobodyTrains(t *testing.T) {
	dir := t.TempDir()
	trace := func(name string, rows ...string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, []byte("client,start,end\n"+strings.Join(rows, "\n")+"\n"), 0o666))
		return path
	}
	const nobody = "no client trained: nobody is available in 4 rounds under "
	byTrace := func(path string) []string { return []string{"--availability", "trace", "--trace", path} }
	for name, c := range map[string]struct {
		flags []string
		want  string
	}{
		"p of 0":        {[]string{"--p", "0"}, nobody + "stationary with --p 0"},
		"p above 0":     {[]string{"--p", "1e-300"}, nobody + "stationary with --p 1e-300"},
		"cut off":       {[]string{"--availability", "interleaved-sine", "--cutoff", "1"}, nobody + "interleaved-sine"},
		"staircase":     {[]string{"--availability", "staircase", "--p", "1e-12"}, nobody + "staircase with --p 1e-12"},
		"all reserved":  {[]string{"--validation", "0.9999999"}, "4 of 4 clients have no sample to train on (--valid"},
		"all held out":  {[]string{"--hold-out", "0.9999999"}, "4 of 4 clients have no sample to train on (--hold-out"},
		"few and away":  {[]string{"--hold-out", "0.99", "--p", "1e-9"}, nobody + "stationary with --p 1e-09"},
		"Unix seconds":  {byTrace(trace("s.csv", "0,1609459200,1609459260")), "Unix time in s, of 2021-01-01"},
		"Unix in parts": {byTrace(trace("f.csv", "1,1700000000.5,1700000060")), "Unix time in s, of 2023-11-14"},
		"Unix ms":       {byTrace(trace("ms.csv", "0,1609459200000,1609459260000")), "Unix time in ms, of 2021-01-01"},
		"Unix ns":       {byTrace(trace("ns.csv", "0,1609459200000000000,1609459200000000001")), "Unix time in ns"},
		"minutes": {
			append(byTrace(trace("m.csv", "0,600,660")), "--round-seconds", "60"),
			"the first is available after round 10, want one up to round 4",
		},
		"repeated": {
			append(byTrace(trace("r.csv", "0,1609459200,1609459260")), "--trace-end", "repeat"), "is a Unix time",
		},
		"late": {byTrace(trace("late.csv", "0,9,12")), "the first is available after round 9, want one up to round 4"},
		"between": {
			append(byTrace(trace("b.csv", "0,0.1,0.9")), "--trace-end", "empty"), "none holds a round",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range [][]string{
				smallRun(t.TempDir(), c.flags...),
				smallSweep(t.TempDir(), append(c.flags, "--methods", "mifa,ca-fed", "--seeds", "2")...),
			} {
				o := rollcall(t, line...)
				if o.status != statusFailure || !strings.Contains(o.stderr, c.want) {
					t.Errorf("%s: status %d, %q, want 1 and %q", line[0], o.status, o.stderr, c.want)
				}
				if strings.Contains(o.stdout, "complete") || strings.Contains(o.stdout, "ok") {
					t.Errorf("%s: %q, want no result", line[0], o.stdout)
				}
			}
		})
	}
}

// Seeds in which nobody is available fail and are kept as failed, so that every later command knows of them. A repeated
// command tries them again, and leaves the finished seeds as they are.
func TestSeedsNobodyTrains(t *testing.T) {
	out := t.TempDir()
	line := func(p string) []string {
		return smallSweep(out, "--methods", "fedavg-active,mifa", "--clients", "2", "--rounds", "2", "--p", p,
			"--seeds", "1-6")
	}
	const why = "seeds 1, 2, 3: no client trained: nobody is available in 2 rounds under stationary with --p 0.2"
	summary := filepath.Join(out, "sweep", "summary.csv")
	finished := map[string]string{}
	for range 2 {
		if o := rollcall(t, line("0.2")...); o.status != statusFailure || !strings.Contains(o.stdout, "failed: "+why) {
			t.Fatalf("status %d, %s, want 1 and %s", o.status, o.stdout, why)
		}
		failed := 0
		for _, path := range must.Get(filepath.Glob(filepath.Join(out, "sweep", "*", "seed-*", "run.json")))(t) {
			info := must.Get(results.ReadRunInfo(path))(t)
			want := results.RunComplete
			if info.Seed < 4 {
				want = results.RunFailed
				failed++
			}
			if info.Status != want || info.Status == results.RunFailed && info.Rounds != 0 {
				t.Errorf("%s: %s after %d rounds, want %s", path, info.Status, info.Rounds, want)
			}
			if want == results.RunComplete {
				text := contents(t, path)
				if was := finished[path]; was != "" && was != text {
					t.Errorf("%s is another one after the command once more", path)
				}
				finished[path] = text
			}
		}
		if failed != 6 || len(finished) != 6 {
			t.Errorf("%d failed, %d complete, want 6 and 6", failed, len(finished))
		}
	}
	before := contents(t, summary)
	pass(t, "results", "summarise", "sweep", filepath.Join(out, "sweep"))
	if after := contents(t, summary); after != before || strings.Count(after, "failed,\""+why+"\"") != 4 {
		t.Errorf("summary.csv is %s, and was %s, want 4 rows failed: %s", after, before, why)
	}
	if o := pass(t, "results", "list", "--failed", out); strings.Count(o.stdout, "no client trained") != 6 {
		t.Errorf("results list --failed: %s, want 6 seeds", o.stdout)
	}
	if o := pass(t, "results", "verify", out); !strings.Contains(o.stdout, "12 runs: 6 complete, 6 failed") {
		t.Errorf("results verify: %s, want 6 complete, 6 failed", o.stdout)
	}
	pass(t, "report", out)
	// Other settings are other runs, in the way of which is nothing.
	pass(t, append(line("1"), "--name", "all")...)
	if o := pass(t, "results", "list", out); !strings.Contains(o.stdout, "3 complete, 3 failed") {
		t.Errorf("results list: %s, want the failed seeds beside the mended ones", o.stdout)
	}
}

// No rates are chosen where nothing tells them apart, or where all of them diverge.
func TestTuneRefusesTies(t *testing.T) {
	for name, c := range map[string]struct{ flags, want string }{
		"p of 0":      {"--p 0 --lrs 0.1,0.2", "no client trained"},
		"no movement": {"--lrs 1e-300,1e-200", "there is nothing to choose by"},
		"huge losses": {"--lrs 1e30,1e35", "every pair of rates diverged"},
		"one seed of two": {
			"--lrs 0.1,0.2 --p 0.01 --seeds 1001,1003,1004,1005", "no client trained: nobody is available in 4 rounds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := "tune --methods fedar --data leaf --clients 4 --rounds 4 --server-lrs 1 --device cpu --out " + out
			o := rollcall(t, strings.Fields(line+" "+c.flags)...)
			if o.status != statusFailure || !strings.Contains(o.stderr, c.want) || o.stdout != "" {
				t.Errorf("status %d, stdout %q, stderr %q, want 1 and %q", o.status, o.stdout, o.stderr, c.want)
			}
			if _, err := os.Stat(filepath.Join(out, "tune", "rates.csv")); err == nil {
				t.Error("rates.csv is there, want none")
			}
		})
	}
}

// A client without a sample is never available, under any model, and how many there are is said and kept.
func TestClientsWithoutSamples(t *testing.T) {
	always := filepath.Join(t.TempDir(), "always.csv")
	must.OK(t, os.WriteFile(always, []byte("client,start,end\n0,0,9\n1,0,9\n2,0,9\n3,0,9\n"), 0o666))
	one := strings.Fields("run --method fedavg-active --data synthetic --net lenet5 --train-size 1 --test-size 20 " +
		"--local-steps 1 --batch 1 --rounds 1 --augment none --device cpu")
	alone := t.TempDir()
	pass(t, append(one, "--clients", "1", "--p", "1", "--out", alone)...)
	want := curveRows(t, alone)
	for name, flags := range map[string]string{
		"stationary": "--p 1", "sine": "--availability sine --p 1 --gamma 0",
		"staircase": "--availability staircase --p 1", "uniform": "--availability uniform --p-min 1",
		"trace": "--availability trace --trace " + always,
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := append(append(one, "--clients", "4", "--out", out), strings.Fields(flags)...)
			o := pass(t, line...)
			if want := "split: seed 3: 3 of 4 clients without samples to train on, never available"; !strings.Contains(
				o.stderr, want) {
				t.Errorf("%q, want %q", o.stderr, want)
			}
			// The step is that of the one client who has the sample, and not a quarter of it.
			for round, row := range curveRows(t, out) {
				if row["active"] != want[round]["active"] || row["test_loss"] != want[round]["test_loss"] {
					t.Errorf("round %d: %s active, loss %s, want %s and %s", round, row["active"], row["test_loss"],
						want[round]["active"], want[round]["test_loss"])
				}
			}
			info := must.Get(results.ReadRunInfo(only(t, out, runPath)))(t)
			if n := info.WithoutSamples; n == nil || *n != 3 {
				t.Errorf("clients_without_samples %v, want 3", n)
			}
		})
	}
}

// Runs of programs that averaged clients without samples are refused by name if they have such clients, and kept if
// they have none.
func TestClientsWithoutSamplesBefore(t *testing.T) {
	for name, c := range map[string]struct {
		samples string
		refused bool
	}{"some": {"2", true}, "none": {"40", false}} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := strings.Fields("run --method fedavg-active --data synthetic --net lenet5 --test-size 20 " +
				"--clients 4 --split even --p 1 --local-steps 1 --batch 1 --rounds 1 --device cpu --train-size " +
				c.samples + " --out " + out)
			pass(t, line...)
			path := only(t, out, runPath)
			info := must.Get(results.ReadRunInfo(path))(t)
			info.WithoutSamples = nil
			must.OK(t, results.WriteRunInfo(path, info, nil))
			o := rollcall(t, line...)
			const why = "revision of clients without samples 0, want 1: 2 of them took part"
			refused := o.status == statusFailure && strings.Contains(o.stderr, why)
			if refused != c.refused || !c.refused && o.status != statusOK {
				t.Errorf("status %d, %q, want it refused: %t", o.status, o.stderr, c.refused)
			}
		})
	}
}

// A method that trains nobody leaves no result, in one process or after an interruption, and no rates.
func TestMethodTrainsNobody(t *testing.T) {
	ofProcesses(t) // each registers the method for itself
	needsPython(t)
	dir := t.TempDir()
	never := script(t, dir, "never", `import time

import rollcall_fl as rc


class Never(rc.Method):
    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        time.sleep(0.1)  # so that the run can be interrupted
`)
	const want = "never: no client trained in 4 rounds, though some were available"
	line := append(strings.Fields("run --method "+never), strings.Fields(tinyPython+dir)...)
	child := startUntil(t, ": round 2/4", strings.Join(append(line, "--checkpoint-every", "1ns"), " "))
	must.OK(t, child.Process.Signal(os.Interrupt))
	<-child.ended
	for range 2 { // a run that failed is none that is kept
		if o := alone(t, line...); o.status != statusFailure || !strings.Contains(o.stderr, want) {
			t.Errorf("status %d, %q, want 1 and %q", o.status, o.stderr, want)
		}
	}
	if info := must.Get(results.ReadRunInfo(only(t, dir, runPath)))(t); info.Status != results.RunFailed {
		t.Errorf("run.json: %s, want failed", info.Status)
	}
	tune := strings.Fields("tune --methods " + never + " --lrs 1,2 --server-lrs 1 " + tinyPython + dir)
	o := alone(t, tune...)
	if o.status != statusFailure || !strings.Contains(o.stderr, want) {
		t.Errorf("tune: status %d, %q, want 1 and %q", o.status, o.stderr, want)
	}
}

// A run whose model is the initial one at its end is complete, and one line says that its curve is of no use.
func TestModelUnchanged(t *testing.T) {
	const same = "the model is the same as before round 1 after 4 rounds: no update has changed it"
	for name, c := range map[string]struct {
		flags string
		lines int
	}{
		"waits for all":       {"--method mifa-wait --p 0.3", 1},
		"tiny rate":           {"--p 1 --lr 1e-45", 1},
		"tiny rate of server": {"--method fedavg-active --p 1 --server-lr 1e-46", 1},
		"last round alone":    {"--method mifa-wait --p 0.3 --eval-every 4", 1},
		"trained":             {"--p 1", 0},
		"small rate":          {"--p 1 --lr 1e-6", 0},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := smallRun(out, strings.Fields(c.flags)...)
			o := pass(t, line...)
			if n := strings.Count(o.stderr, same); n != c.lines || !strings.Contains(o.stdout, ": complete\n") {
				t.Errorf("%s\n%s\n%d lines, want the run complete and %d lines", o.stdout, o.stderr, n, c.lines)
			}
			if info := must.Get(results.ReadRunInfo(only(t, out, runPath)))(t); info.Status != results.RunComplete {
				t.Errorf("run.json: %s, want complete", info.Status)
			}
			if o := pass(t, line...); strings.Contains(o.stderr, same) {
				t.Errorf("kept: %q, want no line: the run was not trained", o.stderr)
			}
		})
	}
	t.Run("own method resumed", func(t *testing.T) {
		ofProcesses(t) // each registers the method for itself
		needsPython(t)
		dir := t.TempDir()
		idle := script(t, dir, "idle", `import time

import rollcall_fl as rc


class Idle(rc.Method):
    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        time.sleep(0.1)  # so that the run can be interrupted
        r.train(start=self.w)
`)
		line := append(strings.Fields("run --method "+idle), strings.Fields(tinyPython+dir)...)
		child := startUntil(t, ": round 2/4", strings.Join(append(line, "--checkpoint-every", "1ns"), " "))
		must.OK(t, child.Process.Signal(os.Interrupt))
		<-child.ended
		o := alone(t, line...)
		if o.status != statusOK || strings.Count(o.stderr, same) != 1 || !strings.Contains(o.stderr, "resumes from") {
			t.Errorf("status %d, %q, want 0, a resumed run and the line once", o.status, o.stderr)
		}
	})
}
