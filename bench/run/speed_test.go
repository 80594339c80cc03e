package run

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
)

func TestSpeedWarnings(t *testing.T) {
	for _, test := range []struct {
		name string
		row  results.BenchRow
		want []string
	}{
		{"nothing known", results.BenchRow{}, nil},
		{
			"all is well", results.BenchRow{
				LoadAverage: files.Some(1.9), CardUsers: files.Some(0),
				StepsPerSecP10: files.Some(10), StepsPerSecP90: files.Some(15),
			}, nil,
		},
		{
			"all at once", results.BenchRow{
				LoadAverage: files.Some(3.2), CardUsers: files.Some(1),
				StepsPerSecP10: files.Some(10), StepsPerSecP90: files.Some(18),
			}, []string{
				"load average 3.2 exceeds 2 threads: ", "another process computes on the card",
				"p90/p10 of the rounds' client-steps/s is 1.8, more than 1.5: ",
			},
		},
	} {
		b := SpeedTest{Machine: Machine{Threads: 2}}
		got := strings.Join(b.Warnings(&test.row), "\n")
		for i, want := range test.want {
			if !strings.Contains(got, want) || len(strings.Split(got, "\n")) != len(test.want) {
				t.Errorf("%s: got %q, want %q in line %d", test.name, got, want, i+1)
			}
		}
		if test.want == nil && got != "" {
			t.Errorf("%s: got %q, want nothing", test.name, got)
		}
	}
}
