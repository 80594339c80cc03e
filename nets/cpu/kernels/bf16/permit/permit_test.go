//go:build amd64

package permit

import (
	"errors"
	"testing"
)

// TestDecide decides for machines that are not at hand.
func TestDecide(t *testing.T) {
	yes := func() error { return nil }
	no := func() error { return errors.New("arch_prctl: operation not permitted") }
	never := func() error { t.Error("the operating system was asked"); return nil }
	reg := func(v uint64) func() uint64 { return func() uint64 { return v } }
	unread := func() uint64 { t.Error("XCR0 was read"); return 0 }
	const unsaved = "AMX: the operating system does not save its tiles (XCR0)"
	for _, c := range []struct {
		name string
		m    machine
		ok   bool
		lost string
	}{
		{"usable", machine{true, true, reg(0x602e7), yes}, true, ""},
		{"no AMX", machine{false, true, unread, never}, false, ""},
		{
			"no AVX512_BF16",
			machine{true, false, unread, never},
			false,
			"AMX: no AVX-512 with AVX512_BF16, which it needs here",
		},
		{"no tile state", machine{true, true, reg(0xe7), never}, false, unsaved},
		{"configuration without data", machine{true, true, reg(0x200e7), never}, false, unsaved},
		{"data without configuration", machine{true, true, reg(0x400e7), never}, false, unsaved},
		{"refused", machine{true, true, reg(0x602e7), no}, false, "AMX: arch_prctl: operation not permitted"},
	} {
		if ok, lost := decide(c.m); ok != c.ok || lost != c.lost {
			t.Errorf("%s: got %t, %q, want %t, %q", c.name, ok, lost, c.ok, c.lost)
		}
	}
}
