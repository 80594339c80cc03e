package e2e

import (
	"strings"
	"testing"
)

// On an engine that does not know its kernels --profile prints phases and evaluation alone.
func TestBenchProfile(t *testing.T) {
	out := pass(t, "bench", "--data", "leaf", "--clients", "4", "--rounds", "2", "--warmup", "0", "--device", "cpu",
		"--profile", "--out", t.TempDir()).stdout
	for _, want := range []string{
		"phase  ms per round", "train ", "combine ", "plans ", "ms per evaluation",
		"evaluate ", "write curve.csv of 200 rows ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("bench --profile: want %q in\n%s", want, out)
		}
	}
	for _, never := range []string{"upload", "TFLOP/s"} {
		if strings.Contains(out, never) {
			t.Errorf("bench --profile on the CPU: %q in\n%s", never, out)
		}
	}
}
