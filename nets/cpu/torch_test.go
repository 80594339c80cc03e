package cpu

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
	"rollcall/nets/models/modelstest"
	"rollcall/nets/ops"
)

// wide are nets with convolutions by Winograd's algorithm, which random nets have too few channels for.
var wide = []struct {
	text     string
	shape    plan.Shape
	winograd int // convolutions by Winograd's algorithm
}{
	{"conv 64 3x3 pad 1 norm relu, block 64, block 96 stride 2, average", plan.Shape{H: 8, W: 8, C: 3, Classes: 10}, 3},
	{"conv 64 3x3 pad 1 norm relu, block 80, average", plan.Shape{H: 16, W: 12, C: 3, Classes: 4}, 2},
	{
		"conv 65 3x3 pad 1, conv 70 3x3 pad 1, conv 64 3x3 pool, linear 9",
		plan.Shape{H: 11, W: 7, C: 2, Classes: 5},
		2,
	},
	{"conv 64 5x5 pad 2 norm, conv 67 3x3, conv 64 3x3 norm relu", plan.Shape{H: 13, W: 15, C: 1, Classes: 3}, 2},
}

// wideCase draws weights and samples for a net.
func wideCase(t *testing.T, text string, shape plan.Shape, winograd int) *modelstest.Case {
	t.Helper()
	m := must.Get(models.Describe(text, shape))(t)
	found := 0
	for _, n := range must.Get(must.Get(m.Graph(nil, 1, 1, false))(t).Nodes())(t) {
		if conv, ok := n.Op().(*ops.Conv2D[float32]); ok && conv.Shape.Winograd() {
			found++
		}
	}
	if found != winograd {
		t.Fatalf("%s: %d convolutions by Winograd's algorithm, want %d", text, found, winograd)
	}
	c := modelstest.Fill(m, 1, rand.New(rand.NewPCG(1, 52)))
	if c == nil {
		t.Fatalf("%s: a number is near to where a gradient jumps: take another seed", text)
	}
	return c
}

// One step of random nets, and of wide ones, is as in PyTorch, which gets them from the code in docs/nets.md:
// parameters of the same names and shapes in the same order, and after a step weights that differ by at most 2e-5 of
// the largest change, running statistics among them. Dropout draws other numbers there.
func TestRandomNetsInPyTorch(t *testing.T) {
	python := cmp.Or(os.Getenv("ROLLCALL_PYTHON"), "python3")
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("%s has no PyTorch: %v %s", python, err, out)
	}
	_, code, _ := strings.Cut(string(must.Get(os.ReadFile("../../docs/nets.md"))(t)), "```python\n")
	code, _, found := strings.Cut(code, "```\n")
	if !found {
		t.Fatal("no code in docs/nets.md")
	}
	script := filepath.Join(t.TempDir(), "net.py")
	must.OK(t, os.WriteFile(script, []byte(code), 0o600))

	type sent struct {
		Text    string
		Shape   [4]int
		Classes int
		X, W    []float32
		Labels  []int
	}
	var cases []*modelstest.Case
	for seed := 1000; len(cases) < 40; seed++ {
		if c := modelstest.Draw(uint64(seed)); len(c.Model.Drops) == 0 {
			cases = append(cases, c)
		}
	}
	for _, w := range wide {
		cases = append(cases, wideCase(t, w.text, w.shape, w.winograd))
	}
	var in []sent
	for _, c := range cases {
		m := c.Model
		s := sent{c.Text, [4]int{modelstest.Batch, m.H, m.W, m.C}, m.Classes, c.Samples.Features, c.Weights, nil}
		for _, label := range c.Samples.Labels {
			s.Labels = append(s.Labels, int(label))
		}
		in = append(in, s)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/torch_step.py", script)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(must.Get(json.Marshal(in))(t)), os.Stderr
	var out []struct {
		Names [][2]any
		Loss  float64
		W     []float32
	}
	must.OK(t, json.Unmarshal(must.Get(cmd.Output())(t), &out))
	for i, c := range cases {
		t.Run(c.Text, func(t *testing.T) {
			m, want := c.Model, out[i]
			for j, p := range m.Params {
				if got := [2]any{p.Name, p.Shape}; fmt.Sprint(got) != fmt.Sprint(want.Names[j]) {
					t.Fatalf("parameter %d: %v, PyTorch has %v", j, got, want.Names[j])
				}
			}
			e := must.Get(Open(m, c.Samples, nil, Options{Threads: 2, Batch: modelstest.Batch}))(t)
			defer e.Close()
			bank := must.Get(e.NewBank(2))(t)
			must.OK(t, e.Load(rowOf(bank, 0), c.Weights))
			loss := must.Get(e.Train(t.Context(), nets.LocalWork{LR: 1, Clients: []nets.ClientWork{{
				Start: rowOf(bank, 0), End: rowOf(bank, 1), Plan: modelstest.Plan(),
			}}}))(t)
			if math.Abs(float64(loss[0])-want.Loss) > 1e-5 {
				t.Errorf("loss %g, PyTorch has %g", loss[0], want.Loss)
			}
			after := load(t, e, rowOf(bank, 1))
			change, far := 0.0, 0.0
			for j, w := range want.W {
				change = max(change, math.Abs(float64(w)-float64(c.Weights[j])))
				far = max(far, math.Abs(float64(w)-float64(after[j])))
			}
			if far > 2e-5*change {
				t.Errorf("weights differ by %.2g of the largest change, want at most 2e-5", far/change)
			}
		})
	}
}
