package gpu

import (
	"slices"
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
