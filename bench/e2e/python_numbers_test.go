package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// trainedRun is what a run has left, without what tells two methods apart.
type trainedRun struct {
	curve    string            // every column but the names of the method and of its parameters, and the time
	active   []int             // clients in the evaluated rounds
	weights  string            // the bytes of model.safetensors behind its header, which has the method's name
	settings map[string]string // of run.json
}

// trained makes a run in a process of its own and reads it.
func trained(t *testing.T, line, method string) (r trainedRun) {
	t.Helper()
	out := t.TempDir()
	passAlone(t, append(strings.Fields(line), "--device", "cpu", "--save-model", "--method", method, "--out", out)...)
	header, rows := table(t, contents(t, only(t, out, curvePath)))
	for _, row := range rows {
		for _, column := range header {
			if !slices.Contains([]string{"method", "params", "elapsed_s", "version"}, column) {
				r.curve += row[column] + ","
			}
		}
		r.curve += "\n"
		r.active = append(r.active, int(number(t, row["active"])))
	}
	file := must.Get(os.ReadFile(only(t, out, "run/*/seed-*/"+results.ModelFile)))(t)
	r.weights = string(file[8+binary.LittleEndian.Uint64(file):])
	var info struct{ Settings map[string]any }
	must.OK(t, json.Unmarshal([]byte(contents(t, only(t, out, runPath))), &info))
	r.settings = map[string]string{}
	for name, value := range info.Settings {
		r.settings[name] = fmt.Sprint(value)
	}
	return r
}

// pythonPairs are the methods of this program that examples in Python make again.
var pythonPairs = []struct {
	file, method string
	own          map[string]string // settings of the file's method, by their names in the Go method
}{
	{"fedavg", "fedavg-active", nil},
	{"fedau_py", "fedau", map[string]string{"fedau-cutoff": "fedau-py-cutoff"}},
	{"scaffold_py", "scaffold", nil},
}

// allSettings sets what the papers of the methods do not agree in.
const allSettings = "run --preset code --availability sine --weight-decay 0.001 --clip none --lr 0.02 " +
	"--lr-schedule decay --server-lr 0.7 --batch 8 --momentum 0 --validation 0 --eval-last none " +
	"--eval-train=true "

// stepSettings are what most of them train in a round.
const stepSettings = "--local-epochs none --local-steps 2 "

// imageSettings are for nets that take images, beside allSettings.
const imageSettings = "--data synthetic --init torch --split clients --augment batch --test-size 10 --eval-every 1 " +
	stepSettings

// pythonRuns are the runs that give the same bytes in Go and in Python.
var pythonRuns = []struct {
	name, line string
	empty      bool // rounds without clients are among those that are evaluated
}{
	{"leaf", stepSettings + "--data leaf --clients 100 --rounds 100 --eval-every 25", false},
	{"leaf with momentum", stepSettings + "--data leaf --clients 5 --rounds 60 --eval-every 1 --momentum 0.9", true},
	{"leaf by epochs", "--data leaf --clients 8 --rounds 10 --eval-every 5 --local-epochs 1 --batch 32", false},
	{"cnn-cifar10", imageSettings + "--net cnn-cifar10 --train-size 80 --clients 6 --rounds 4 --batch 4", false},
	{"resnet20", imageSettings + "--net resnet20 --train-size 24 --clients 4 --rounds 3 --batch 2 --lr 0.005", false},
}

// A method in Python asks the engine for the same sums in the same order as the method in Go, so that the runs have the
// same bytes: there is no tolerance.
func TestPythonBytes(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	for _, run := range pythonRuns {
		for _, pair := range pythonPairs {
			t.Run(pair.method+" on "+run.name, func(t *testing.T) {
				line := allSettings + run.line
				got, want := trained(t, line, example(pair.file)), trained(t, line, pair.method)
				if asMethod := renamed(got.settings, want.settings, pair.own); !maps.Equal(asMethod, want.settings) {
					t.Fatalf("settings %v\nwant %v", asMethod, want.settings)
				}
				if got.curve != want.curve {
					t.Errorf("%s\ncurve\n%s\nwant the bytes of %s\n%s", line, got.curve, pair.method, want.curve)
				}
				if got.weights != want.weights {
					t.Errorf("%s\nthe weights differ, want the bytes of %s", line, pair.method)
				}
				if n := len(want.weights); n < 4*610 {
					t.Errorf("%d bytes of weights, want 4 for each of the 610 of the smallest net", n)
				}
				if slices.Max(want.active) < 2 || run.empty && slices.Min(want.active[1:]) > 0 {
					t.Errorf("clients in rounds: %d, want two at least in one, and in one of them nobody: %t: "+
						"the test is of nothing", want.active, run.empty)
				}
			})
		}
	}
}

// renamed returns settings of a method in Python as they would be if it was the method in Go: names the latter's name
// for a setting of its own.
func renamed(settings, of map[string]string, names map[string]string) map[string]string {
	same := maps.Clone(settings)
	delete(same, "method-sha256")
	same["method"] = of["method"]
	if _, uses := of["weights"]; !uses && same["weights"] == "equal" { // which every method in Python may read
		delete(same, "weights")
	}
	for there, here := range names {
		same[there] = same[here]
		delete(same, here)
	}
	return same
}

// The same sum in another order gives other bytes: the comparison of TestPythonBytes sees the last digit. Coefficients
// that differ in float64 alone, as server_lr · (1/K) and server_lr/K do, would not be seen: the engine adds in float32.
func TestPythonBytesDiffer(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	text := contents(t, example("fedavg"))
	const sum = "rc.mean(ends - self.w)"
	if !strings.Contains(text, sum) {
		t.Fatalf("%s lacks %s", example("fedavg"), sum)
	}
	other := script(t, t.TempDir(), "other", strings.Replace(text, sum, "rc.mean(ends[::-1] - self.w)", 1))
	line := allSettings + pythonRuns[0].line
	got, want := trained(t, line, other), trained(t, line, "fedavg-active")
	if got.weights == want.weights || got.curve == want.curve {
		t.Errorf("weights the same: %t, curve the same: %t, want both to differ after 100 rounds",
			got.weights == want.weights, got.curve == want.curve)
	}
	if len(got.weights) != len(want.weights) {
		t.Errorf("%d bytes of weights, want %d", len(got.weights), len(want.weights))
	}
}

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
