package gpu

import (
	"slices"
	"testing"
	"unsafe"

	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
)

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
