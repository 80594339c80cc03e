package e2e

import (
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
