package e2e

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// The CSV has a row for every client of every round, with p_i^t as papers/algorithms' table has it, from the p_i that
// is printed beside it.
func TestAvailabilityCSV(t *testing.T) {
	const N, T, period, gamma = 6, 25, 8, 0.4
	path := filepath.Join(t.TempDir(), "new", "trace.csv")
	o := pass(t, strings.Fields("availability --kind sine --period 8 --gamma 0.4 --clients 6 --rounds 25 "+
		"--train-size 300 --seed 7 --csv "+path)...)
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
