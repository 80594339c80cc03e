//go:build gpu && linux && cgo

package e2e

import (
	"os"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/nets/gpu/gputest"
)

// onCUDA are the arguments of a sweep of seconds on a card.
func onCUDA(out string, more ...string) []string {
	return append([]string{
		"sweep", "--data", "leaf", "--clients", "5", "--rounds", "3", "--local-steps", "2", "--batch", "4",
		"--eval-every", "1", "--methods", "fedavg-active,mifa,fedawe",
		"--availability", "stationary,sine", "--seeds", "3,4", "--device", "cuda", "--precision", "fp32", "--out", out,
	}, more...)
}

// Engines side by side on one card leave the same bytes as one after the other.
func TestPackOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	alone, out := t.TempDir(), t.TempDir()
	pass(t, onCUDA(alone)...)
	o := pass(t, onCUDA(out, "--pack", "3")...)
	sameTree(t, "--pack 3", timelessTree(t, out), timelessTree(t, alone))
	for _, what := range []string{"device: cuda-sm", "gpu: takes "} {
		if n := strings.Count(o.stderr, what); n != 1 {
			t.Errorf("%q %d times, want it once in\n%s", what, n, o.stderr)
		}
	}
}

// Where the card has no memory for one more engine beside others there are fewer of them, in the end one alone: the
// bytes are the same.
func TestPackShortOfMemoryOnCUDA(t *testing.T) {
	longtest.Only(t, "several engines on the emulator")
	const variable = "ROLLCALL_TEST_SHORT"
	if os.Getenv(variable) == "" {
		if testing.Short() {
			t.Skip("left out: short")
		}
		// An engine that holds the data set and nothing else takes 730 kB.
		out, err := gputest.Child(t, kernelsFolder, false, "^"+t.Name()+"$", variable+"=1",
			"ROLLCALL_EMULATOR_MEMORY=1000000").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	alone, out := t.TempDir(), t.TempDir()
	pass(t, onCUDA(alone)...)
	o := pass(t, onCUDA(out, "--pack", "4")...)
	sameTree(t, "--pack 4", timelessTree(t, out), timelessTree(t, alone))
	if want := "out of memory: 1 run at a time from now on\n"; strings.Count(o.stderr, want) != 1 {
		t.Errorf("want %q once in\n%s", want, o.stderr)
	}
	if n := strings.Count(o.stderr, "at most 4 clients at once (one of 4 engines)\n"); n != 1 {
		t.Errorf("%d times that waves are smaller, want it said once:\n%s", n, o.stderr)
	}
}
