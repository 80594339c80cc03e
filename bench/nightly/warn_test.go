package nightly

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results/track"
)

func TestWarnings(t *testing.T) {
	calm := track.Measurement{Metric: "round/cifar10", Unit: "ms", Wall: []float64{100, 101, 102}}
	wide := track.Measurement{Metric: "step/cifar10", Unit: "ms", Wall: []float64{100, 150, 200}}
	wider := track.Measurement{Metric: "eval/cifar10", Unit: "ms", Wall: []float64{100, 250, 400}}
	of := func(c track.Conditions, v ...track.Measurement) track.Night {
		return track.Night{Conditions: c, Values: v}
	}
	for _, test := range []struct {
		name  string
		night track.Night
		want  []string
	}{
		{"nothing known", of(track.Conditions{}), nil},
		{"all is well", of(track.Conditions{Load: files.Some(2), CardUsers: files.Some(0)}, calm), nil},
		{"load", of(track.Conditions{Load: files.Some(2.5)}, calm), []string{"load average 2.5 exceeds 2 threads: "}},
		{"users", of(track.Conditions{CardUsers: files.Some(1)}, calm), []string{"another process computes on the"}},
		{
			"one metric", of(track.Conditions{}, calm, wide),
			[]string{"p90/p10 of the wall times of step/cifar10 is 1.7, more than 1.5: "}, // 190/110
		},
		{
			"all at once", of(track.Conditions{Load: files.Some(3), CardUsers: files.Some(2)}, wide, calm, wider),
			[]string{
				"load average 3.0 exceeds 2 threads: ", "2 other processes compute on the card",
				"p90/p10 of the wall times of eval/cifar10, the worst of 2 metrics, is 2.8, more than 1.5: ", // 370/130
			},
		},
	} {
		got := Warnings(track.Machine{Threads: 2}, test.night)
		if len(got) != len(test.want) {
			t.Errorf("%s: got %q, want %d lines", test.name, got, len(test.want))
			continue
		}
		for i, want := range test.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: got %q, want %q", test.name, got[i], want)
			}
		}
	}
}
