//go:build gpu && linux && cgo

package kernels

import (
	"flag"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
)

// No launch of a kernel may follow: tests run in the order of their files.
func TestEveryKernelIsCompared(t *testing.T) {
	newRig(t)
	for _, f := range []string{"test.run", "test.skip"} {
		if flag.Lookup(f).Value.String() != "" {
			t.Skip("left out: not all tests run")
		}
	}
	switch {
	case gputest.Real():
		t.Skip("left out: a card runs the PTX itself")
	case flag.Lookup("test.shuffle").Value.String() != "off":
		t.Skip("left out: the tests run in another order")
	}
	c := must.Get(sharedCard())(t)
	for _, m := range modules() {
		for _, k := range m.Kernels {
			if !c.comparison.compared[k] {
				t.Errorf("%s: no launch of at most %d threads × instructions", k, mostWork)
			}
		}
	}
}
