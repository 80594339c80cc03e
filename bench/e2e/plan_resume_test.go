package e2e

import (
	"strings"
	"testing"
)

// A plan counts runs that go on from a checkpoint, unless all are to be made anew.
func TestPlanGoesOn(t *testing.T) {
	out := t.TempDir()
	args := sweepOf(out, "--methods", "fedavg-active", "--seeds", "3", "--rounds", "500")
	if o := interrupted(t, "round 2/", args...); o.status != statusInterrupted {
		t.Fatalf("status %d, want %d\n%s", o.status, statusInterrupted, o.stderr)
	}
	only(t, out, "*/*/seed-3/checkpoint-*.safetensors")
	for flag, want := range map[string]string{
		"--mixed": "1 run: 0 kept, 1 to resume, 0 to train\n",
		"--again": "1 run: 0 kept, 0 to resume, 1 to train\n",
	} {
		if o := pass(t, append(args, "--plan", flag)...); !strings.Contains(o.stdout, want) {
			t.Errorf("%s: stdout %q, want %q in it", flag, o.stdout, want)
		}
	}
}
