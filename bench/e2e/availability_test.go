package e2e

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// The CSV has a row for every client of every round, with p_i^t as papers/algorithms' table has it, from the p_i that is
// printed beside it.
func TestAvailabilityCSV(t *testing.T) {
	const N, T, period, gamma = 6, 25, 8, 0.4
	path := filepath.Join(t.TempDir(), "new", "trace.csv")
	o := pass(t, "availability", "--kind", "sine", "--period", "8", "--gamma", "0.4", "--clients", "6", "--rounds", "25",
		"--train-size", "300", "--seed", "7", "--csv", path)
	if !strings.HasPrefix(o.stdout, path+": ") {
		t.Errorf("stdout %q, want the file named", o.stdout)
	}
	header, rows := table(t, contents(t, path))
	if strings.Join(header, ",") != "round,client,p,pi,lambda,probability,active" || len(rows) != N*T {
		t.Fatalf("columns %v, %d rows, want %d", header, len(rows), N*T)
	}
	for n, row := range rows {
		round, client := n/N, n%N
		want := number(t, row["p"]) * (gamma*math.Sin(2*math.Pi*float64(round)/period) + 1 - gamma)
		// Both are the same few float64 operations, in perhaps another order: 1e-15.
		if int(number(t, row["round"])) != round || int(number(t, row["client"])) != client ||
			math.Abs(number(t, row["probability"])-want) > 1e-15 {
			t.Errorf("round %d client %d: %v, want p %g", round, client, row, want)
		}
	}
}

// The trace is the one a run with the same seed sees.
func TestAvailabilityIsThatOfRun(t *testing.T) {
	out := t.TempDir()
	pass(t, small(out, "--availability", "sine", "--rounds", "6", "--seed", "9", "--local-steps", "1")...)
	trace := activeClients(t, "--kind", "sine", "--clients", "6", "--rounds", "6", "--train-size", "300", "--seed", "9")
	rows := curveRows(t, out)
	for _, row := range rows[1:] {
		round := int(number(t, row["round"]))
		if got, want := int(number(t, row["active"])), len(trace[round-1]); got != want {
			t.Errorf("round %d: %d active in the run, %d in the trace", round, got, want)
		}
	}
}

// With the released code's draws a run has the activity the availability command prints for them, and another one than
// without.
func TestNumPyDraws(t *testing.T) {
	active := func(args ...string) (perRound [3]float64) {
		_, rows := table(t, pass(t, append([]string{
			"availability", "--kind", "sine", "--clients", "6", "--rounds", "3", "--train-size", "300", "--seed", "5",
		}, args...)...).stdout)
		for _, r := range rows {
			perRound[int(number(t, r["round"]))] += number(t, r["active"])
		}
		return perRound
	}
	want := active("--draws", "numpy")
	if want == active() {
		t.Errorf("activity %v with NumPy's draws and without", want)
	}
	out := t.TempDir()
	pass(t, small(out, "--method", "mifa", "--availability", "sine", "--rounds", "3", "--seed", "5",
		"--draws", "numpy")...)
	rows := curveRows(t, out)
	for i, r := range rows[1:] {
		if number(t, r["active"]) != want[i] {
			t.Errorf("round %d: %s active, want %g", i+1, r["active"], want[i])
		}
	}
	oneLineError(t, rollcall(t, small(out, "--draws", "numpy", "--availability", "markov")...), statusUsage,
		"--draws numpy", "markov")
	oneLineError(t, rollcall(t, small(out, "--draws", "nunpy")...), statusUsage, `"nunpy"`, "did you mean numpy")
}

// CA-Fed's methods run under every process, with known and with estimated availability.
func TestCorrelatedMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	for _, method := range []string{"unbiased", "more-available", "adafed", "ca-fed", "f3ast"} {
		for _, more := range [][]string{{"--availability", "markov"}, {
			"--availability", "clusters", "--clusters", "3", "--prior", "20", "--preset", "paper",
		}} {
			o := pass(t, small(t.TempDir(), append([]string{"--method", method, "--rounds", "3"}, more...)...)...)
			if !strings.Contains(o.stdout, method+" on synthetic") || !strings.Contains(o.stdout, "round 3") {
				t.Errorf("%s %v: stdout %q, want its last round", method, more, o.stdout)
			}
		}
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
