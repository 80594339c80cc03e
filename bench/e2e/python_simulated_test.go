package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// simulatedRun is a run whose end is compared with a simulation.
type simulatedRun struct {
	method, training string // the example, and its settings
	same             string // what the simulation is told beside them
	other            string // a fault of the simulation, which must be seen
}

// federation says whose data it is that the simulated runs train on. No client holds 600 samples: every batch has all.
const (
	federation     = "--data leaf --clients 8 --seed 8 "
	wholeBatch     = "--batch 600 --clip none --device cpu "
	simulateRounds = 15
)

// TestPythonSimulated compares examples that no method in Go stands beside with a simulation in NumPy, in float64,
// which was written from the papers. Nothing is drawn but who is available.
//
// Tolerance: weights are about 1, and float32 rounds them by 6e-8. A run has up to 15·5 local steps, each of which
// rounds the gradient and the weights once: 75 · 6e-8 · 2 = 1e-5 if all rounded to the same side.
func TestPythonSimulated(t *testing.T) {
	ofProcesses(t)
	interpreter := needsPython(t)
	const tolerance = 1e-5
	dump := filepath.Join(t.TempDir(), "dump")
	passAlone(t, strings.Fields("run --method fedavg-active --p 1 --rounds 1 --local-steps 1 "+federation+wholeBatch+
		"--out "+t.TempDir()+" --dump "+dump)...)
	const training = "--local-steps 5 --lr 0.1 --server-lr 0.7 "
	for _, c := range []simulatedRun{
		{"fedprox", training, "mu 0.3", "mu 0.6"},
		{"fednova", training, "", "no-normalise"},
		{"fedadam", "--local-steps 5 --lr 0.1 --server-lr 0.02 ", "beta1 0.8", "beta2 0.9"},
	} {
		for _, availability := range []string{"stationary --p 1", "sine"} {
			t.Run(c.method+" "+availability, func(t *testing.T) {
				out := t.TempDir()
				trace := filepath.Join(out, "trace.csv")
				passAlone(t, strings.Fields(fmt.Sprintf("availability --kind %s --rounds %d --csv %s %s", availability,
					simulateRounds, trace, federation))...)
				line := fmt.Sprintf("run --method %s --availability %s --rounds %d --eval-every 5 --lr-schedule decay "+
					"--save-model --out %s ", example(c.method), availability, simulateRounds, out)
				line += federation + wholeBatch + c.training
				if c.same != "" {
					line += "--" + c.method + "-" + c.same
				} else {
					line += "--weights size"
				}
				passAlone(t, strings.Fields(line)...)
				simulated := func(flags ...string) (d struct{ Difference, Moved float64 }) {
					t.Helper()
					told := strings.Fields(c.training)
					for _, flag := range flags {
						if flag != "" {
							told = append(told, strings.Fields("--"+flag)...)
						}
					}
					cmd := exec.CommandContext(t.Context(), interpreter, append([]string{
						"testdata/simulate.py", "--method", c.method, "--dump", dump, "--availability", trace,
						"--model", only(t, out, "run/*/seed-*/"+results.ModelFile),
					}, told...)...)
					cmd.Stderr = os.Stderr
					must.OK(t, json.Unmarshal(must.Get(cmd.Output())(t), &d))
					return d
				}
				same, other := simulated(c.same), simulated(c.same, c.other)
				t.Logf("moved by up to %.3g, difference %.2g, with --%s in the simulation %.2g", same.Moved,
					same.Difference, c.other, other.Difference)
				if !(same.Difference <= tolerance) || !(same.Moved > 0.1) {
					t.Errorf("%s\ndifference %g of a weight, which moved by up to %g, want at most %g, more than 0.1",
						line, same.Difference, same.Moved, tolerance)
				}
				if !(other.Difference > 10*tolerance) {
					t.Errorf("%s\ndifference %g with --%s in the simulation, want more than %g: the test sees nothing",
						line, other.Difference, c.other, 10*tolerance)
				}
			})
		}
	}
}
