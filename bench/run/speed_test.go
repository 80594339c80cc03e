package run

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
)

// A row of the speeds is warned about by its own load, users of the card and spread.
func TestSpeedWarnings(t *testing.T) {
	row := results.BenchRow{
		LoadAverage: files.Some(3.2), CardUsers: files.Some(1),
		StepsPerSecP10: files.Some(10), StepsPerSecP90: files.Some(18),
	}
	b := SpeedTest{Machine: Machine{Threads: 2}}
	got := b.Warnings(&row)
	if len(got) != 3 || !strings.HasPrefix(got[0], "load average 3.2 exceeds 2 threads: ") ||
		!strings.HasPrefix(got[2], "p90/p10 of the rounds' client-steps/s is 1.8, more than 1.5: ") {
		t.Errorf("%q, want the load, the process on the card and the spread", got)
	}
}
