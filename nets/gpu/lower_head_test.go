package gpu

import (
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/models"
)

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

// The launch of the head names all that it reads and writes: the batch's labels and features, both layers, the gradient
// of the features, and either the weights of both layers or, with clipping, their gradients, which sgd reads.
func TestHeadAccess(t *testing.T) {
	m := must.Get(models.New("cnn-cifar10"))(t)
	names := func(all buffers) (names []string) {
		for _, b := range all {
			names = append(names, b.name)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	for _, clip := range []bool{false, true} {
		p := must.Get(lower(m, newLayout(m), FP32, 8, true, clip))(t)
		use := p.launches[slices.IndexFunc(p.launches, func(l launch) bool { return l.kernel == "head_fp32" })].access
		reads := []string{"fc1.weight y", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight", "labels"}
		if got := names(use.reads); !slices.Equal(got, reads) {
			t.Errorf("clip=%t: reads %q, want %q", clip, got, reads)
		}
		writes := []string{"fc2.bias", "fc2.weight", "fc2.weight dx", "fc3.bias", "fc3.weight"}
		if clip {
			writes = []string{
				"fc2.bias gradient", "fc2.weight dx", "fc2.weight gradient", "fc3.bias gradient", "fc3.weight gradient",
			}
		}
		if got := names(use.writes); !slices.Equal(got, writes) {
			t.Errorf("clip=%t: writes %q, want %q", clip, got, writes)
		}
		if sgd := names(p.launches[len(p.launches)-1].access.reads); clip {
			for _, name := range writes {
				if strings.HasSuffix(name, "gradient") && !slices.Contains(sgd, name) {
					t.Errorf("sgd does not read %s", name)
				}
			}
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
