package slurm

import (
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		work  Work
		tasks int
		limit string
	}{
		{"seconds", Work{30, 4 * time.Minute, 8 * time.Second, true, 1}, 1, "15"},
		{"a run each", Work{16, 16 * time.Hour, time.Hour, true, 1}, 16, "125"},
		{"short runs share tasks", Work{100, 10 * time.Hour, 6 * time.Minute, true, 1}, 20, "65"},
		{"one long run among short ones", Work{10, 10 * time.Hour, 8 * time.Hour, true, 1}, 2, "965"},
		{"days", Work{288, 35 * 24 * time.Hour, 3 * time.Hour, true, 1}, 280, "365"},
		{"a run of days is requeued", Work{2, 10 * 24 * time.Hour, 5 * 24 * time.Hour, true, 1}, 2, "1440"},
		{"more runs than an array has", Work{5000, 10000 * time.Hour, 2 * time.Hour, true, 1}, 1000, "1205"},
		{"four cards in a task", Work{16, 16 * time.Hour, time.Hour, true, 4}, 4, "125"},
		{"more cards than runs", Work{2, 2 * time.Hour, time.Hour, true, 8}, 1, "125"},
		{"four cards, not measured", Work{97, 0, 0, false, 4}, 25, "60"},
		{"not measured", Work{96, 40 * time.Hour, time.Hour, false, 1}, 96, "60"},
	} {
		if n := Tasks(c.work); n != c.tasks || Limit(c.work, n) != c.limit {
			t.Errorf("%s: %d tasks of %s minutes, want %d of %s", c.name, n, Limit(c.work, n), c.tasks, c.limit)
		}
	}
}

func TestCards(t *testing.T) {
	for gres, want := range map[string]int{
		"": 0, "gpu": 1, "gpu:2": 2, "gpu:h100": 1, "gpu:h100:4": 4, "gpu:a:1,gpu:b:2": 3, "shard:3": 0, "gpu:0": 0,
		"license:gpu:2": 0,
	} {
		if got := Cards(gres); got != want {
			t.Errorf("%s: %d, want %d", gres, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1": time.Minute, "90": 90 * time.Minute, "1:30": 90 * time.Second, "2:00:00": 2 * time.Hour,
		"1-0": 24 * time.Hour, "1-12:30": 36*time.Hour + 30*time.Minute, "0-0:0:1": 0, "0-00:00:01": time.Second,
	} {
		if got, err := ParseTime(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0:00", "-5", "5m", "1:2:3:4", "1-", "UNLIMITED", " 5", "99999999"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
