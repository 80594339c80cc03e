package ops

import (
	"fmt"
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels"
)

// bench runs an op and its gradient rule on a tape machine, with the gradient of the output as a free input.
type bench struct {
	vm    G.VM
	in    [][]float64
	gy    []float64
	y     *G.Node
	grads G.Nodes
}

func newBench(t *testing.T, c opCase, exec *kernels.Exec[float64]) *bench {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	g := G.NewGraph()
	b := &bench{}
	var nodes []*G.Node
	for i, s := range c.shapes {
		n := G.NewTensor(g, tensor.Float64, len(s), G.WithShape(s...), G.WithName(fmt.Sprintf("in%d", i)))
		data := make([]float64, tensor.Shape(s).TotalSize())
		for j := range data {
			data[j] = r.NormFloat64()
		}
		if i == 0 && c.border > 0 {
			for j := range data {
				if inBorder(j, s, c.border) {
					data[j] = 0
				}
			}
		}
		b.in = append(b.in, data)
		must.OK(t, G.Let(n, tensor.New(tensor.WithShape(s...), tensor.WithBacking(data))))
		nodes = append(nodes, n)
	}
	for i, data := range c.ints {
		n := G.NewTensor(g, tensor.Int32, len(c.intsAt[i]), G.WithShape(c.intsAt[i]...),
			G.WithName(fmt.Sprintf("int%d", i)))
		must.OK(t, G.Let(n, tensor.New(tensor.WithShape(c.intsAt[i]...), tensor.WithBacking(data))))
		nodes = append(nodes, n)
	}
	var err error
	b.y, err = c.apply(exec, nodes)
	must.OK(t, err)
	var gy *G.Node
	if s := b.y.Shape(); s.IsScalar() && s.Dims() == 0 {
		gy = G.NewScalar(g, tensor.Float64, G.WithName("gy"))
		b.gy = []float64{1.7}
		must.OK(t, G.Let(gy, b.gy[0]))
	} else {
		gy = G.NewTensor(g, tensor.Float64, s.Dims(), G.WithShape(s...), G.WithName("gy"))
		b.gy = make([]float64, s.TotalSize())
		for j := range b.gy {
			b.gy[j] = r.NormFloat64()
		}
		must.OK(t, G.Let(gy, tensor.New(tensor.WithShape(s...), tensor.WithBacking(b.gy))))
	}
	b.grads, err = b.y.Op().(G.SDOp).SymDiff(nodes, b.y, gy)
	must.OK(t, err)
	b.vm = G.NewTapeMachine(g)
	return b
}

func inBorder(j int, s []int, border int) bool {
	row, col := j/(s[3]*s[4])%s[2], j/s[4]%s[3]
	return row < border || row >= s[2]-border || col < border || col >= s[3]-border
}

// run returns Σ gy·y.
func (b *bench) run(t *testing.T) float64 {
	t.Helper()
	b.vm.Reset()
	must.OK(t, b.vm.RunAll())
	sum := 0.0
	switch y := b.y.Value().Data().(type) {
	case float64:
		sum = y * b.gy[0]
	case []float64:
		for i, v := range y {
			sum += v * b.gy[i]
		}
	}
	return sum
}
