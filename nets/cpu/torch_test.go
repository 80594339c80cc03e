package cpu

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models/modelstest"
)

// One step of random nets is as in PyTorch, which gets them from the code in docs/nets.md: parameters of the same names
// and shapes in the same order, and after a step weights that differ by at most 2e-5 of the largest change, running
// statistics among them. Dropout draws other numbers there.
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
	var in []sent
	for seed := 1000; len(cases) < 40; seed++ {
		c := modelstest.Draw(uint64(seed))
		if len(c.Model.Drops) > 0 {
			continue
		}
		m := c.Model
		s := sent{c.Text, [4]int{modelstest.Batch, m.H, m.W, m.C}, m.Classes, c.Samples.Features, c.Weights, nil}
		for _, label := range c.Samples.Labels {
			s.Labels = append(s.Labels, int(label))
		}
		cases, in = append(cases, c), append(in, s)
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
