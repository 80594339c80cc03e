package settings

import "testing"

// A name that several begin with lists these alone, with what they are.
func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"sinus", []string{"stationary", "sine"}, "unknown, did you mean sine, want one of stationary, sine"},
		{"x", []string{"x-1", "x-2", "y"}, "unknown, want one of x-1, x-2"},
		{"", []string{"-1", "-2"}, "unknown, did you mean -1, want one of -1, -2"},
		{
			"FedAvg",
			[]string{"fedau", "fedavg-active", "fedavg-all"},
			"unknown, want one of fedavg-active (the mean over the active clients), fedavg-all (the mean over all " +
				"clients, absent ones counting as 0)",
		},
	} {
		if got := Unknown(c.name, c.known); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}
