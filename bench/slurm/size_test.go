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
	}{
		{"seconds", Work{30, 4 * time.Minute, true, 1, 1}, 1},
		{"a run each", Work{16, 16 * time.Hour, true, 1, 1}, 16},
		{"short runs share tasks", Work{100, 10 * time.Hour, true, 1, 1}, 20},
		{"days", Work{288, 35 * 24 * time.Hour, true, 1, 1}, 288},
		{"more runs than an array has", Work{5000, 10000 * time.Hour, true, 1, 1}, 1000},
		{"four cards in a task", Work{16, 16 * time.Hour, true, 4, 4}, 4},
		{"short runs on four cards", Work{64, 4 * time.Hour, true, 4, 4}, 2},
		{"three at a time on a card", Work{16, 16 * time.Hour, true, 1, 3}, 5},
		{"more cards than runs", Work{2, 2 * time.Hour, true, 8, 8}, 1},
		{"four cards, not measured", Work{97, 0, false, 4, 4}, 24},
		{"not measured", Work{96, time.Hour, false, 1, 1}, 96},
	} {
		if n := Tasks(c.work); n != c.tasks {
			t.Errorf("%s: %d tasks, want %d", c.name, n, c.tasks)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		largest time.Duration
		known   bool
		want    string
	}{
		{4 * time.Minute, true, "15"},
		{time.Hour, true, "125"},
		{5 * 24 * time.Hour, true, "1440"},
		{0, true, "5"},
		{time.Minute, false, "60"},
	} {
		if got := Limit(c.largest, c.known); got != c.want {
			t.Errorf("%v, known %t: %s minutes, want %s", c.largest, c.known, got, c.want)
		}
	}
}

func TestArray(t *testing.T) {
	for _, c := range []struct {
		indices []int
		atOnce  int
		want    string
	}{
		{[]int{1}, 0, "1"},
		{[]int{1, 2, 3}, 0, "1-3"},
		{[]int{1, 4, 5, 6, 7}, 3, "1,4-7%3"},
		{[]int{2, 4}, 2, "2,4"},
		{[]int{3, 5, 6, 1000}, 1, "3,5-6,1000%1"},
	} {
		if got := Array(c.indices, c.atOnce); got != c.want {
			t.Errorf("%v, %d at a time: %s, want %s", c.indices, c.atOnce, got, c.want)
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
