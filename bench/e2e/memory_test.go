package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever trains refuses what does not fit, before a data set is looked for, and leaves nothing behind.
func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{
			"run --method mifa --data cifar10",
			"mifa with 100 clients holds at least 101 rows of 551786 parameters 223 MB",
		},
		{"run --method fedawe --data cifar10 --seed 4", "fedawe with 100 clients holds at least 3 rows"},
		{"bench", "fedavg-active with 100 clients holds at least 1 row of"},
		{"sweep --methods fedar --rounds 3", "fedar with 100 clients holds at least 101 rows"},
		{
			"table fedawe-2 --methods mifa --data cifar10 --rounds 100 --seeds 3",
			"mifa with 100 clients holds at least 101 rows",
		},
		{"figure fedawe-f7 --data cifar10 --rounds 100 --seeds 3", "holds at least "},
		{"figure fedar-f1 --seeds 3", "holds at least "},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", "off") // the limit is not for the other tests
			t.Chdir(t.TempDir())
			args := append(strings.Fields(c.line), "--device", "cpu", "--threads", "2", "--memory-limit", "1MB",
				"--out", "a/b")
			o := rollcall(t, args...)
			if o.status != statusFailure || !strings.Contains(o.stderr, c.want) ||
				!strings.Contains(o.stderr, "want at most 1 MB (--memory-limit)") ||
				strings.Contains(o.stderr, "unavailable") {
				t.Errorf("status %d, want %d, and %q before any download in\n%s",
					o.status, statusFailure, c.want, o.stderr)
			}
			for _, f := range filesBelow(t, ".") {
				if filepath.Base(f) != "summary.csv" { // which says that its cells failed
					t.Errorf("%s is left over", f)
				}
			}
			if _, err := os.Stat("a"); err == nil && len(filesBelow(t, "a")) == 0 {
				t.Error("an empty folder is left over")
			}
		})
	}
}

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
