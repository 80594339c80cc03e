package bf16

import (
	"os"
	"testing"

	"rollcall/nets/cpu/kernels/bf16/tiles"
)

// childErrno is the environment variable that makes the test binary a child of TestLost: the number of the error that
// it gets from the operating system.
const childErrno = "ROLLCALL_BF16_TEST_ERRNO"

// noAMX says why the tests do without the variant amx; empty if they have it.
var noAMX string

// TestMain adds the variant amx, emulated where the processor does not have it.
func TestMain(m *testing.M) {
	if os.Getenv(childErrno) == "" {
		if ok, why := tiles.Install(); !ok {
			noAMX = why
		}
	}
	os.Exit(m.Run())
}

// TestHasAMX fails if the other tests test no variant amx without need.
func TestHasAMX(t *testing.T) {
	if noAMX != "" {
		t.Skipf("the variant amx is not tested: %s", noAMX)
	}
	modes(t, func(t *testing.T, split bool) {
		have := Variants(split)
		if last := have[len(have)-1]; last.Name() != "amx" {
			t.Errorf("the fastest variant is %s, want amx", last.Name())
		}
		_, isUnpooler := have[len(have)-1].(Unpooler[float32])
		if !isUnpooler {
			t.Error("amx is no Unpooler")
		}
	})
	if lost := Lost(); lost != "" {
		t.Errorf("lost %q, want nothing", lost)
	}
}
