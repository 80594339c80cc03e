//go:build gpu && linux && cgo

package kernels

import (
	"slices"
	"testing"
)

// Every kernel of a module that is cut to a precision can be loaded.
func TestOnlyLoads(t *testing.T) {
	r := newRig(t)
	for _, m := range modules() {
		for _, p := range []Precision{FP32, TF32, BF16} {
			only := m.Only(p)
			r.do(func() error {
				loaded, err := r.card.device.LoadModule(m.Name, only.PTX)
				if err != nil {
					return err
				}
				for _, k := range m.Kernels {
					if _, err := loaded.Function(k); (err == nil) != slices.Contains(only.Kernels, k) {
						t.Errorf("%s in %s: kernel %s: %v", m.Name, p, k, err)
					}
				}
				return loaded.Unload()
			})
		}
	}
}
