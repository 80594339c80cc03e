//go:build gpu && linux && cgo

package kernels

import (
	"slices"
	"testing"

	"rollcall/nets/gpu/driver"
)

// Every module that is cut to a precision can be loaded, and has the kernels of that precision and no others.
func TestOnlyLoads(t *testing.T) {
	r := newRig(t)
	for _, p := range []Precision{FP32, TF32, BF16} {
		var sources []driver.Source
		for _, m := range modules() {
			sources = append(sources, driver.Source{Name: m.Name, PTX: m.Only(p).PTX})
		}
		r.do(func() error {
			loaded, err := r.card.device.LoadModules(sources)
			if err != nil {
				return err
			}
			for i, m := range modules() {
				for _, k := range m.Kernels {
					if _, err := loaded[i].Function(k); (err == nil) != slices.Contains(m.Only(p).Kernels, k) {
						t.Errorf("%s in %s: kernel %s: %v", m.Name, p, k, err)
					}
				}
				if err := loaded[i].Unload(); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// Go's signals work beside the emulator, with AddressSanitizer's runtime too: a nil dereference is a panic.
func TestNilDereference(t *testing.T) {
	newRig(t)
	defer func() {
		if recover() == nil {
			t.Error("a nil dereference is no panic")
		}
	}()
	var nothing *int
	*nothing = 1
}
