package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
)

// A run has the activity that the availability command prints for its seed, also with the released code's draws, which
// make another one.
func TestAvailabilityIsThatOfRun(t *testing.T) {
	seen := map[string]bool{}
	for _, draws := range []string{"--draws=philox", "--draws=numpy"} {
		common := []string{"--clients", "6", "--rounds", "6", "--train-size", "300", "--seed", "9", draws}
		trace := activeClients(t, append(common, "--kind", "sine")...)
		seen[fmt.Sprint(trace)] = true
		out := t.TempDir()
		pass(t, small(out, append(common, "--method", "mifa", "--availability", "sine", "--local-steps", "1")...)...)
		for i, row := range curveRows(t, out)[1:] {
			if got, want := int(number(t, row["active"])), len(trace[i]); got != want {
				t.Errorf("%s: round %s: %d active in the run, %d in the trace", draws, row["round"], got, want)
			}
		}
	}
	if len(seen) != 2 {
		t.Error("the same activity with NumPy's draws and without")
	}
}

// activeClients returns who is there in each round, by the availability command.
func activeClients(t *testing.T, args ...string) [][]int32 {
	t.Helper()
	_, rows := table(t, pass(t, append([]string{"availability"}, args...)...).stdout)
	var rounds [][]int32
	for _, row := range rows {
		round, client := number(t, row["round"]), number(t, row["client"])
		for len(rounds) <= int(round) {
			rounds = append(rounds, nil)
		}
		if row["active"] == "1" {
			rounds[int(round)] = append(rounds[int(round)], int32(client))
		}
	}
	return rounds
}

// shortTrace writes a trace of three rounds: client 0 is there in rounds 0 and 1, client 1 in rounds 1 and 2.
func shortTrace(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "trace.csv")
	must.OK(t, os.WriteFile(path, []byte("client,start,end\n0,0,2\n1,1,3\n"), 0o666))
	return path
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
		if !strings.Contains(o.stderr, "trace, seed 3: 4 of 6 clients never available, left out") {
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

// availabilities are the flags of every availability model, and of what a model may have besides. Files are in dir.
func availabilities(t *testing.T, dir string) (all [][]string) {
	t.Helper()
	trace, chain := filepath.Join(dir, "trace.csv"), filepath.Join(dir, "chain.csv")
	must.OK(t, os.WriteFile(trace, []byte("client,start,end\nb,0,5\na,2,9\nc,1,3\nd,4,9\n"), 0o666))
	must.OK(t, os.WriteFile(chain, []byte("client,pi,lambda\n0,0.5,0.5\n1,1,0\n2,0.3,-0.2\n"), 0o666))
	more := map[string][]string{
		"clusters": {"--clusters", "2"}, "periodic": {"--groups", "2", "--on", "2"}, "markov-q": {"--q", "0.4"},
		"chain": {"--chain", chain, "--chain-sample", "4"}, "trace": {"--trace", trace, "--trace-sample", "4"},
	}
	for _, model := range availability.Names() {
		all = append(all, append([]string{"--availability", model}, more[model]...))
	}
	return append(all,
		[]string{"--availability", "sine", "--min-separation", "2"},
		[]string{"--availability", "uniform", "--outages", "0.3:0.5:2"},
		[]string{"--availability", "markov-q", "--population", "arrival:0:0.5"},
		[]string{"--availability", "trace", "--trace", trace, "--population", "window:3:1:2"},
	)
}

// Under every model a run has the activity that the availability command prints. Its output is a trace of the same
// activity, and of the same p, π and λ.
func TestEveryAvailability(t *testing.T) {
	dir := t.TempDir()
	size := []string{"--data", "leaf", "--clients", "4", "--rounds", "8", "--seed", "5"}
	for _, flags := range availabilities(t, dir) {
		flags := append(slices.Clone(size), flags...)
		out, printed := t.TempDir(), filepath.Join(dir, "printed.csv")
		pass(t, append([]string{"availability", "--csv", printed}, flags...)...)
		_, rows := table(t, string(must.Get(os.ReadFile(printed))(t)))
		active := make([]int, 8)
		for _, row := range rows {
			if row["active"] == "1" {
				active[int(number(t, row["round"]))]++
				if number(t, row["probability"]) == 0 {
					t.Errorf("%v: %v, want a probability above 0", flags, row)
				}
			}
		}
		pass(t, append([]string{
			"run", "--method", "fedavg-active", "--local-steps", "1", "--batch", "4", "--eval-every", "1",
			"--device", "cpu", "--out", out,
		}, flags...)...)
		for i, row := range curveRows(t, out)[1:] {
			if got := int(number(t, row["active"])); got != active[i] {
				t.Errorf("%v: round %d: %d active in the run, %d printed", flags, i, got, active[i])
			}
		}
		_, again := table(t, pass(t, append([]string{"availability", "--availability", "trace", "--trace", printed},
			size...)...).stdout)
		for k, row := range rows {
			row["p"] = row["pi"] // a trace has no p_i of its own
			if !maps.Equal(row, again[k]) {
				t.Errorf("%v: %v, and read as a trace %v", flags, row, again[k])
			}
		}
	}
}
