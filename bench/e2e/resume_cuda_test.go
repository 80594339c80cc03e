//go:build gpu && linux && cgo

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// On a card runs that were interrupted go on to the same bytes, and a run of the CPU's numbers does not go on there.
func TestResumeOnCUDA(t *testing.T) {
	if !onCard(t) {
		return
	}
	for name, more := range map[string][]string{
		"linear": {"--method", "fedawe", "--momentum", "0.5", "--data", "leaf"},
		"lenet5": {
			"--method", "scaffold", "--net", "lenet5", "--data", "synthetic", "--train-size", "40", "--test-size", "10",
			"--precision", "fp32",
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := func(out, device string) []string {
				return append([]string{
					"run", "--clients", "4", "--rounds", "4", "--local-steps", "1", "--batch", "4", "--eval-every", "1",
					"--save-model", "--device", device, "--out", out,
				}, more...)
			}
			whole, out := t.TempDir(), t.TempDir()
			pass(t, args(whole, "cuda")...)
			if o := interrupted(t, "round 1/4", args(out, "cpu")...); o.status != statusInterrupted {
				t.Fatalf("status %d, want 130\n%s", o.status, o.stderr)
			}
			o := rollcall(t, args(out, "cuda")...)
			if o.status != statusFailure || !strings.Contains(o.stderr, "refused: numerics cpu-fp32, want cuda") {
				t.Errorf("status %d, %q, want it refused, since the numbers are the CPU's", o.status, o.stderr)
			}
			o = interrupted(t, "round 2/4", append(args(out, "cuda"), "--replace")...)
			if o.status != statusInterrupted {
				t.Fatalf("status %d, want 130\n%s", o.status, o.stderr)
			}
			if o = pass(t, args(out, "cuda")...); !strings.Contains(o.stderr, "resumes from round 2") {
				t.Errorf("%q, want it to go on from round 2", o.stderr)
			}
			must.OK(t, os.RemoveAll(filepath.Join(filepath.Dir(only(t, out, curvePath)), ".old"))) // the CPU's
			sameTree(t, name, timelessTree(t, out), timelessTree(t, whole))
		})
	}
}
