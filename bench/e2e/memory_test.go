package e2e

import (
	"strings"
	"testing"
)

// 4 GB of addresses for rows of 45 GB: refused, or with --memory-limit off a crash, and never a usage error.
func TestMemoryIsNoUsageError(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	args := strings.Fields("run --net resnet18 --clients 1000 --method mifa --data synthetic --train-size 1000 " +
		"--test-size 10 --batch 1 --device cpu --threads 1 --out out")
	status, stderr := crashed(t, "4000000", "", args...)
	if status != statusFailure || !strings.Contains(stderr, "1001 rows") || !strings.Contains(stderr, "ulimit -v") {
		t.Errorf("status %d, want %d, and the rows and ulimit -v in\n%s", status, statusFailure, stderr)
	}
	status, stderr = crashed(t, "4000000", "", append(args, "--memory-limit", "off")...)
	none := strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "for -race mode") // its words
	if status != statusCrash || !none {
		t.Errorf("without a limit: status %d, want %d, and no memory in\n%s", status, statusCrash, stderr)
	}
}
