package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
)

// shortTrace writes a trace of three rounds: client 0 is there in rounds 0 and 1, client 1 in rounds 1 and 2.
func shortTrace(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "trace.csv")
	must.OK(t, os.WriteFile(path, []byte("client,start,end\n0,0,2\n1,1,3\n"), 0o666))
	return path
}

// A run that is longer than its trace is what --trace-end says, and run.json, its hash and the curve say the same.
func TestTraceEnd(t *testing.T) {
	path, out := shortTrace(t), t.TempDir()
	args := func(more ...string) []string {
		return small(out, append([]string{
			"--method", "fedavg-active", "--availability", "trace", "--trace", path, "--rounds", "5",
		}, more...)...)
	}
	folders := map[string]bool{}
	for end, want := range map[string]struct{ active, said string }{
		"repeat": {"12112", ""},
		"empty":  {"12100", ""},
		"stop": {"121", "trace: " + path +
			" ends after round 3, and so does the run, not after --rounds 5 (--trace-end stop)\n"},
	} {
		t.Run(end, func(t *testing.T) {
			o := pass(t, args("--trace-end", end)...)
			_, file, _ := strings.Cut(o.stdout, "\n")
			file, _, _ = strings.Cut(file, ": ")
			_, rows := table(t, contents(t, file))
			got := ""
			for _, r := range rows[1:] {
				got += r["active"]
			}
			if got != want.active {
				t.Errorf("active %s, want %s", got, want.active)
			}
			if said := strings.Contains(o.stderr, "and so does the run"); said != (want.said != "") ||
				!strings.Contains(o.stderr, want.said) {
				t.Errorf("stderr %q, want %q in it", o.stderr, want.said)
			}
			info := must.Get(results.ReadRunInfo(filepath.Join(filepath.Dir(file), results.RunFile)))(t)
			of := info.Settings.(map[string]any)
			if of["trace-end"] != end || of["rounds"] != json.Number(rows[len(rows)-1]["round"]) ||
				info.Rounds != len(want.active) {
				t.Errorf("run.json: trace-end %v, rounds %v, %d done, want %s and %d",
					of["trace-end"], of["rounds"], info.Rounds, end, len(want.active))
			}
			folders[filepath.Dir(filepath.Dir(file))] = true
			if o := pass(t, args("--trace-end", end)...); !strings.Contains(o.stdout, "kept") {
				t.Errorf("second time: %q, want the run kept", o.stdout)
			}
		})
	}
	if len(folders) != 3 {
		t.Errorf("runs in %v, want three folders", folders)
	}
	pass(t, args("--rounds", "3")...) // as long as the trace: nothing to say
}

// Without --trace-end a run that is longer than its trace is refused, with the way out.
func TestTraceEndsBeforeRun(t *testing.T) {
	path := shortTrace(t)
	trace := []string{"--trace", path}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"run": {
			small(t.TempDir(), "--availability", "trace", "--rounds", "4"),
			"ends after round 3, before --rounds 4: want at most 3 rounds",
		},
		"sweep": {
			sweepOf(t.TempDir(), "--methods", "mifa", "--availability", "sine,trace", "--rounds", "4"),
			"ends after round 3, before --rounds 4",
		},
		"availability": {
			[]string{"availability", "--kind", "trace", "--clients", "2"},
			"ends after round 3, before --rounds 100",
		},
		// Rounds of two seconds begin at 0 and 2: the last one that begins before second 3 is the second.
		"round-seconds": {
			small(t.TempDir(), "--availability", "trace", "--round-seconds", "2", "--rounds", "3"),
			"ends after round 2, before --rounds 3: want at most 2 rounds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			oneLineError(t, rollcall(t, append(c.args, trace...)...), statusUsage, "--trace "+path,
				c.want, "or --trace-end repeat, stop or empty")
		})
	}
	oneLineError(t, rollcall(t, small(t.TempDir(), "--trace-end", "repeat")...), statusUsage,
		"--trace-end repeat", "want it with --availability trace")
	pass(t, append(small(t.TempDir(), "--availability", "trace", "--round-seconds", "2", "--rounds", "2"), trace...)...)
}

// A sweep stops at the end of a trace under the trace alone, and its rows say so.
func TestSweepStopsWithTrace(t *testing.T) {
	out, path := t.TempDir(), shortTrace(t)
	o := pass(t, sweepOf(out, "--methods", "mifa,fedavg-all", "--availability", "sine,trace", "--rounds", "4",
		"--trace", path, "--trace-end", "stop")...)
	if strings.Count(o.stderr, "and so does the run") != 1 || strings.Count(o.stdout, "mifa rounds=3") != 2 {
		t.Errorf("stdout %q, stderr %q, want the line once, and rounds=3 in the rows of the trace, of two metrics",
			o.stdout, o.stderr)
	}
	curves, err := filepath.Glob(filepath.Join(out, "sweep", "*", "seed-3", results.CurveFile))
	if err != nil || len(curves) != 4 {
		t.Fatalf("%q, %v, want four curves", curves, err)
	}
	for _, curve := range curves {
		_, rows := table(t, contents(t, curve))
		last := rows[len(rows)-1]
		if want := map[string]string{"sine": "4", "trace": "3"}[last["availability"]]; last["round"] != want {
			t.Errorf("%s: ends after round %s, want %s", curve, last["round"], want)
		}
	}
}

// Under a trace the methods know the share of rounds in which a client is there: of the rounds that both the run and
// the trace have, and of one repetition.
func TestTraceShares(t *testing.T) {
	path := shortTrace(t)
	for _, c := range []struct {
		rounds, end string
		pi          [2]float64 // of clients 0 and 1
	}{
		{"2", "error", [2]float64{1, 0.5}},
		{"3", "error", [2]float64{2. / 3, 2. / 3}},
		{"5", "empty", [2]float64{2. / 3, 2. / 3}},
		{"5", "stop", [2]float64{2. / 3, 2. / 3}},
		{"5", "repeat", [2]float64{2. / 3, 2. / 3}},
	} {
		trace := []string{"--trace", path, "--trace-end", c.end, "--rounds", c.rounds}
		out := t.TempDir()
		o := pass(t, small(out, append([]string{
			"--method", "unbiased", "--availability", "trace", "--decisions", "--weights", "equal",
			"--local-steps", "1",
		}, trace...)...)...)
		rows := must.Get(results.ReadDecisions(only(t, out, "run/*/seed-3/"+results.DecisionsFile)))(t)
		_, printed := table(t, pass(t, append([]string{
			"availability", "--kind", "trace", "--clients", "6", "--train-size", "300",
		}, trace...)...).stdout)
		for i, r := range rows {
			pi, alpha := 0.0, 0.0 // of clients 2 … 5, who are never there
			if r.Client < 2 {
				pi, alpha = c.pi[r.Client], 0.5
			}
			if r.Pi != pi || r.Target != alpha || number(t, printed[i]["pi"]) != pi ||
				number(t, printed[i]["probability"]) != pi {
				t.Errorf("%s rounds, %s: %+v, printed %v, want π and p %g, α %g",
					c.rounds, c.end, r, printed[i], pi, alpha)
			}
			if r.Active == 1 && r.Weight != alpha/pi {
				t.Errorf("%s rounds, %s: weight %g, want α/π = %g", c.rounds, c.end, r.Weight, alpha/pi)
			}
		}
		if !strings.Contains(o.stderr, "trace, seed 3: 4 of 6 clients never there, left out") {
			t.Errorf("stderr %q, want the four clients without rounds", o.stderr)
		}
	}
}

// A trace that changes while a command runs does not make a run under the name of what it was.
func TestTraceChanges(t *testing.T) {
	path := shortTrace(t)
	s := must.Get(settings.Defaults("mifa", "code", "leaf"))(t)
	s.Availability, s.Trace, s.Rounds = "trace", path, 3
	must.OK(t, s.FitTrace())
	must.OK(t, os.WriteFile(path, []byte("client,start,end\n0,0,3\n"), 0o666))
	if _, err := s.ReadTrace(); err == nil ||
		!strings.Contains(err.Error(), path+": changed since this command began") {
		t.Errorf("got %v, want an error that the trace has changed", err)
	}
}

// The clients of a trace are active when it says so, and a run names the file's content, not only its name.
func TestTraceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace.csv")
	write := func(text string) {
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	write("client,start,end\n0,0,2\n1,1,2\n")
	_, rows := table(t, pass(t, "availability", "--kind", "trace", "--trace", path, "--clients", "2", "--rounds", "3",
		"--train-size", "100", "--trace-end", "empty").stdout)
	got := ""
	for _, r := range rows {
		got += r["active"]
	}
	if got != "101100" {
		t.Errorf("activity %q, want 101100: client 0 in rounds 0 and 1, client 1 in round 1", got)
	}
	run := small(filepath.Join(dir, "out"), "--method", "fedavg-active", "--availability", "trace", "--trace", path)
	pass(t, run...)
	if o := pass(t, run...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want the finished run kept", o.stdout)
	}
	write("client,start,end\n0,0,2\n")
	if o := pass(t, run...); strings.Contains(o.stdout, "kept") {
		t.Errorf("stdout %q, want another run: the trace has changed", o.stdout)
	}
	write("client,start,end\n0,2,1\n")
	oneLineError(t, rollcall(t, run...), statusFailure, path, "line 2")
	oneLineError(t, rollcall(t, small(dir, "--availability", "trace", "--trace", filepath.Join(dir, "none.csv"))...),
		statusFailure, "none.csv")
}
