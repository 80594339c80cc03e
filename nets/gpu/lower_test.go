package gpu

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/internal/must"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
	"rollcall/nets/ops"
)

// Every net is lowered in every precision; buffers that are in use at the same time do not overlap, whatever the room.
func TestLower(t *testing.T) {
	for _, name := range models.Names() {
		m := must.Get(models.New(name))(t)
		for _, precision := range []Precision{FP32, TF32, BF16} {
			for _, train := range []bool{true, false} {
				p, err := lower(m, newLayout(m), precision, 5, train, train)
				if err != nil {
					t.Errorf("%s %s: %v", name, precision, err)
					continue
				}
				for _, room := range []int{1, 8, 48} {
					checkArena(t, p, arrange(p.buffers, room, p.share), room)
				}
			}
		}
	}
}

func checkArena(t *testing.T, p *program, total int64, room int) {
	t.Helper()
	var all int64
	for i, a := range p.buffers {
		all += a.bytes(room)
		if len(a.uses) == 0 || !slices.Contains(p.launches[a.uses[0]].access.writes, a) {
			t.Errorf("%s: launches %v use it, want that the first one writes it", a.name, a.uses)
		}
		if a.offset < 0 || a.offset%bufferAlign != 0 || a.offset+a.bytes(room) > total {
			t.Errorf("%s: %d bytes at %d in an arena of %d", a.name, a.bytes(room), a.offset, total)
		}
		for _, b := range p.buffers[:i] {
			overlap := a.offset < b.offset+b.bytes(room) && b.offset < a.offset+a.bytes(room)
			if overlap && !taken(p, a, b) {
				t.Errorf("%s (launches %v, bytes %d…%d) lies over %s (%v, %d…%d): some of these may run at once",
					a.name, a.uses, a.offset, a.offset+a.bytes(room), b.name, b.uses, b.offset, b.offset+b.bytes(room))
			}
		}
	}
	if total > all {
		t.Errorf("an arena of %d bytes for buffers of %d", total, all)
	}
}

// taken reports whether the launches that use a and those that use b, in two steps in turn, wait for each other: each
// of a step's for all the others' that come before it in the list.
func taken(p *program, a, b *buffer) bool {
	steps := len(p.order.ended) / len(p.launches)
	for _, pair := range [][2]*buffer{{a, b}, {b, a}} {
		for i := range steps * len(pair[0].uses) {
			u := pair[0].uses[i%len(pair[0].uses)] + i/len(pair[0].uses)*len(p.launches)
			for j := range steps * len(pair[1].uses) {
				v := pair[1].uses[j%len(pair[1].uses)] + j/len(pair[1].uses)*len(p.launches)
				if u == v || v < u && !p.order.followsAll(u, []int{v}) {
					return false
				}
			}
		}
	}
	return true
}

// A batch of more elements than the kernels count is an error of one line, in training and in evaluation.
func TestTooManyElements(t *testing.T) {
	for _, name := range []string{"cnn-cifar10", "resnet20"} {
		m := must.Get(models.New(name))(t)
		for _, train := range []bool{true, false} {
			_, err := lower(m, newLayout(m), TF32, 2_000_000, train, false)
			if err == nil || !strings.HasPrefix(err.Error(), "gpu: "+name+": node ") ||
				!strings.Contains(err.Error(), "count") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with a batch of 2,000,000, train=%t: error %v, want one line about what a kernel counts",
					name, train, err)
			}
		}
	}
}

// A node whose op has no kernel is an error that names the op.
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
	grads := must.Get(G.Grad(cost, x))(t)
	for name, n := range map[string]*G.Node{"forward": sum, "gradient": grads[0]} {
		l := &lowerer{precision: FP32, program: &program{}, graph: &models.Graph{B: 2}}
		in := []value{
			{kind: activations, buf: &buffer{name: "a", n: 6}},
			{kind: activations, buf: &buffer{name: "b", n: 6}},
		}
		v, err := l.op(n, in)
		if err != nil || v.kind != activations || v.buf != in[0].buf || v.plus != in[1].buf {
			t.Errorf("%s: %s: lowered to %+v, error %v, want the sum of a and b", name, n.Op(), v, err)
		}
		if v = l.add(v.buf, v.plus); v.plus != nil || v.buf.n != 6 || l.program.launches[0].kernel != "add_fp32" {
			t.Errorf("%s: %s: added up to %+v, want add_fp32 of 6 elements", name, n.Op(), v)
		}
		in[1].buf.n = 5
		if _, err := l.op(n, in); err == nil {
			t.Errorf("%s: %s of 6 and 5 elements: no error", name, n.Op())
		}
	}
}

// In a row every parameter begins at a line of memory of its own; batch normalisations lie behind all other weights,
// and running statistics behind all weights. spread and gather are the inverse of each other.
func TestLayout(t *testing.T) {
	for _, name := range models.Names() {
		m := must.Get(models.New(name))(t)
		l := newLayout(m)
		seen, buffers := make([]bool, l.P), false
		for i, p := range m.Params {
			buffers = buffers || p.Buffer
			at := l.offset[i]
			norm := strings.Contains(p.Name, "bn") || strings.Contains(p.Name, "downsample.1")
			if at%rowAlign != 0 || at+p.Size > l.P || p.Buffer != (at >= l.trained) || norm != (at >= l.norms) {
				t.Errorf("%s: %s (running statistics: %t) of %d elements at %d, "+
					"batch normalisations begin at %d, running statistics at %d, all ends at %d",
					name, p.Name, p.Buffer, p.Size, at, l.norms, l.trained, l.P)
				continue
			}
			for j := at; j < at+p.Size; j++ {
				if seen[j] {
					t.Fatalf("%s: %s: element %d is another's already", name, p.Name, j)
				}
				seen[j] = true
			}
		}
		if !buffers && (l.trained != l.P || l.norms != l.P) {
			t.Errorf("%s: %d of %d weights in a row of %d, want all: there are no batch normalisations",
				name, l.norms, l.trained, l.P)
		}
		want, row, got := make([]float32, m.P), make([]float32, l.P), make([]float32, m.P)
		for i := range want {
			want[i] = float32(i + 1)
		}
		l.spread(row, want)
		l.gather(got, row)
		if !slices.Equal(got, want) {
			t.Errorf("%s: a row that was spread and gathered differs", name)
		}
	}
}

// In a residual net the gradient of a block's input comes from two sides. The batch normalisation in front adds them up
// itself, so that no sum costs a pass of its own; running statistics are tracked once a step.
func TestLowerResidual(t *testing.T) {
	for name, sums := range map[string]int{"resnet18": 8, "resnet20": 9} { // one for each block
		m := must.Get(models.New(name))(t)
		p := must.Get(lower(m, newLayout(m), FP32, 2, true, true))(t)
		count := map[string]int{}
		for _, l := range p.launches {
			count[l.kernel]++
			if l.kernel != "norm_sums_fp32" {
				continue
			}
			f := &frame{buffers: map[*buffer]uint64{}}
			for i, b := range p.buffers {
				f.buffers[b] = uint64(i + 1)
			}
			if a := (*kernels.NormArgs)(unsafe.Pointer(&l.args(f)[0])); a.GY2 != 0 {
				count["sum"]++
				if a.D == 0 || a.GY2 == a.GY {
					t.Errorf("%s: two gradients %d, %d are added up in %d", name, a.GY, a.GY2, a.D)
				}
			}
		}
		norms := 0
		for _, p := range m.Params {
			if p.Buffer {
				norms++
			}
		}
		norms /= 2
		for kernel, want := range map[string]int{
			"sum": sums, "add_fp32": 0, "norm_apply_fp32": norms,
			"norm_sums_fp32": norms, "norm_solve": norms, "track": 1, "sgd": 1,
		} {
			if count[kernel] != want {
				t.Errorf("%s: %d × %s, want %d", name, count[kernel], kernel, want)
			}
		}
	}
}

// One launch of cnn-cifar10 trains fc2 and fc3, and nothing is left of the launches that it stands for: only fc1 has
// launches of a layer, and no ReLU in front of it has one. Evaluation keeps its launches.
func TestLowerHead(t *testing.T) {
	m := must.Get(models.New("cnn-cifar10"))(t)
	fc := func(p *program) (names []string) {
		for _, l := range p.launches {
			if l.layer != "x" && l.layer != "weights" && l.layer != "conv1" && l.layer != "conv2" {
				names = append(names, trimPrecision(l.kernel, TF32)+" "+l.layer)
			}
		}
		return names
	}
	for _, c := range []struct {
		batch int
		train bool
		want  []string
	}{
		{128, true, []string{
			"linear_forward fc1", "linear_reduce fc1", "head fc2",
			"linear_backward_data fc1", "linear_backward_filter fc1",
		}},
		{128, false, []string{
			"linear_forward fc1", "linear_reduce fc1", "linear_forward fc2", "linear_forward fc3", "score loss",
		}},
		{129, true, []string{
			"linear_forward fc1", "linear_reduce fc1", "linear_forward fc2", "linear_forward fc3", "cross_entropy loss",
			"linear_backward_data fc3", "linear_backward_filter fc3", "relu_backward fc2", "linear_backward_data fc2",
			"linear_backward_filter fc2", "relu_backward fc1", "linear_backward_data fc1", "linear_backward_filter fc1",
		}},
	} {
		p := must.Get(lower(m, newLayout(m), TF32, c.batch, c.train, false))(t)
		if got := fc(p); !slices.Equal(got, c.want) {
			t.Errorf("batches of %d, train=%t: launches %q, want %q", c.batch, c.train, got, c.want)
		}
	}
}

// Nets whose last layers are others keep their launches: one layer behind convolutions, dropout in between, layers that
// are too wide, log-odds.
func TestNoHead(t *testing.T) {
	for _, name := range models.Names() {
		m := must.Get(models.New(name))(t)
		p := must.Get(lower(m, newLayout(m), BF16, 4, true, false))(t)
		heads := 0
		for _, l := range p.launches {
			if l.kernel == "head_bf16" {
				heads++
			}
		}
		if want := map[string]int{"cnn-cifar10": 1}[name]; heads != want {
			t.Errorf("%s: %d launches of head, want %d", name, heads, want)
		}
	}
}

// Training without clipping updates every parameter once in a step, when nothing of the step is left that reads it.
// Only batch normalisations go through rows of gradients and sgd; a net without any keeps none.
func TestUpdates(t *testing.T) {
	programs(t, 5, func(m *models.Model, precision Precision, key programKey, p *program) {
		if !key.train || key.clip {
			return
		}
		lay := newLayout(m)
		updated := map[string]int{} // by parameter: the launch that updates it
		for i, l := range p.launches {
			for _, b := range l.access.reads {
				if by, ok := updated[b.name]; ok {
					t.Errorf("%s %s: %s of %s reads %s after %s", m.Name, precision, l.kernel, l.layer, b.name,
						p.launches[by].kernel)
				}
			}
			for _, b := range l.access.writes {
				if slices.ContainsFunc(m.Params, func(q models.Param) bool { return q.Name == b.name }) {
					updated[b.name] = i
				}
			}
			if l.kernel != "sgd" {
				continue
			}
			a := (*kernels.SGDArgs)(unsafe.Pointer(&l.args(addressed(p))[0]))
			if int(a.First) != lay.norms || int(a.N) != lay.trained || lay.norms == lay.trained || a.Grad == 0 {
				t.Errorf("%s %s: sgd of elements %d … %d, want %d … %d: the batch normalisations",
					m.Name, precision, a.First, a.N, lay.norms, lay.trained)
			}
		}
		if len(updated) != len(m.Params) {
			t.Errorf("%s %s: %d parameters are updated, want %d", m.Name, precision, len(updated), len(m.Params))
		}
		if got, want := p.gradients.size(), lay.P-lay.norms; got != want {
			t.Errorf("%s %s: %d gradients are kept, want %d", m.Name, precision, got, want)
		}
	})
}
