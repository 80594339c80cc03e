// Package longtest says whether a test may take minutes.
//
// The everyday tests (`make test`) hold one small case of everything. What takes long and seldom fails alone is left to
// `make test-long`: large nets on the CUDA emulator, every attack, processes killed sixty times.
package longtest

import (
	"os"
	"testing"
)

// On reports whether tests may take minutes: whether ROLLCALL_TEST_LONG is set.
func On() bool { return os.Getenv("ROLLCALL_TEST_LONG") != "" }

// Only skips a test that takes minutes unless it may, and says what makes it long.
func Only(t *testing.T, why string) {
	t.Helper()
	if !On() {
		t.Skipf("left to make test-long: %s", why)
	}
}

// Numbers skips a test of numbers in -short mode, which is for the race detector (`make race`): plain Go takes ten
// times as long under it, and one goroutine has no races.
func Numbers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out: short, and numbers of one goroutine")
	}
}
