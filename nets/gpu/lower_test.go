package gpu

import (
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets"
	"rollcall/nets/ops"
)

// Every net is lowered in every precision; buffers that are in use at the same time do not overlap, whatever the room.
func TestLower(t *testing.T) {
	for _, name := range nets.ModelNames() {
		m, err := nets.NewModel(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, precision := range []Precision{FP32, TF32, BF16} {
			for _, train := range []bool{true, false} {
				p, err := lower(m, newLayout(m), precision, 5, train, train)
				if err != nil {
					t.Errorf("%s %s: %v", name, precision, err)
					continue
				}
				for _, room := range []int{1, 8, 48} {
					checkArena(t, p.buffers, arrange(p.buffers, room), room)
				}
			}
		}
	}
}

func checkArena(t *testing.T, buffers []*buffer, total int64, room int) {
	t.Helper()
	var all int64
	for i, a := range buffers {
		all += a.bytes(room)
		if a.first < 0 || a.last < a.first {
			t.Errorf("%s: in use from launch %d to %d", a.name, a.first, a.last)
		}
		if a.offset < 0 || a.offset%bufferAlign != 0 || a.offset+a.bytes(room) > total {
			t.Errorf("%s: %d bytes at %d in an arena of %d", a.name, a.bytes(room), a.offset, total)
		}
		for _, b := range buffers[:i] {
			together := a.first <= b.last && b.first <= a.last
			overlap := a.offset < b.offset+b.bytes(room) && b.offset < a.offset+a.bytes(room)
			if together && overlap {
				t.Errorf("%s (launches %d…%d, bytes %d…%d) lies over %s (%d…%d, %d…%d)", a.name, a.first, a.last, a.offset, a.offset+a.bytes(room), b.name, b.first, b.last, b.offset, b.offset+b.bytes(room))
			}
		}
	}
	if total > all {
		t.Errorf("an arena of %d bytes for buffers of %d", total, all)
	}
}

// A node of an op that has no kernel is an error that names it.
func TestForeignOp(t *testing.T) {
	g := G.NewGraph()
	x := G.NewTensor(g, tensor.Float32, 3, G.WithShape(1, 2, 3), G.WithName("x"))
	y := G.Must(G.Tanh(x))
	l := &lowerer{}
	_, err := l.op(y, []value{{kind: activations, buf: &buffer{n: 6}}})
	if err == nil || !strings.Contains(err.Error(), "tanh") || !strings.Contains(err.Error(), "has no kernel") {
		t.Errorf("error %v, want one that names tanh", err)
	}
}

// Where a value is used twice, Gorgonia adds up the gradients with an op of its own, which is known by its name.
func TestStockAdd(t *testing.T) {
	g := G.NewGraph()
	x := G.NewTensor(g, tensor.Float32, 3, G.WithShape(1, 2, 3), G.WithName("x"))
	draw := G.NewTensor(g, tensor.Int32, 2, G.WithShape(1, ops.DrawWords), G.WithName("draw"))
	labels := G.NewTensor(g, tensor.Int32, 2, G.WithShape(1, 2), G.WithName("labels"))
	a := G.Must(ops.NewDropout[float32](nil, x, draw, 0, 0.5))
	b := G.Must(ops.NewDropout[float32](nil, x, draw, 1, 0.5))
	sum := G.Must(G.Add(a, b))
	cost := G.Must(ops.NewSumClients[float32](G.Must(ops.NewCrossEntropy[float32](nil, sum, labels))))
	grads, err := G.Grad(cost, x)
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]*G.Node{"forward": sum, "gradient": grads[0]} {
		l := &lowerer{precision: FP32, program: &program{}, graph: &nets.Graph{B: 2}}
		in := []value{{kind: activations, buf: &buffer{name: "a", n: 6}}, {kind: activations, buf: &buffer{name: "b", n: 6}}}
		v, err := l.op(n, in)
		if err != nil || v.kind != activations || v.buf.n != 6 || l.program.launches[0].kernel != "add_fp32" {
			t.Errorf("%s: %s: lowered to %+v, error %v, want add_fp32 of 6 elements", name, n.Op(), v, err)
		}
		in[1].buf.n = 5
		if _, err := l.op(n, in); err == nil {
			t.Errorf("%s: %s of 6 and 5 elements: no error", name, n.Op())
		}
	}
}
