package progress

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                      "0 s",
		400 * time.Millisecond:                 "0 s",
		45 * time.Second:                       "45 s",
		59600 * time.Millisecond:               "1 min",
		95 * time.Second:                       "1 min 35 s",
		9*time.Minute + 59700*time.Millisecond: "10 min",
		12*time.Minute + 20*time.Second:        "12 min",
		59*time.Minute + 40*time.Second:        "1 h",
		65 * time.Minute:                       "1 h 5 min",
		2*time.Hour + 10*time.Minute:           "2 h 10 min",
		23*time.Hour + 59*time.Minute + 40*time.Second: "1 d",
		51*time.Hour + 20*time.Minute:                  "2 d 3 h",
		24 * 365 * time.Hour:                           "365 d",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: got %q, want %q", d.String(), got, want)
		}
	}
}

// Half of everybody's work is done: kept runs and resumed rounds count as work, which took no time.
func TestLeft(t *testing.T) {
	_, command, now := on(80)
	kept, other := command.Run("a", everyTen), command.Run("b", everyTen)
	kept.Stop()
	other.Start(100)
	other.Resumed(50)
	if _, ok := command.left(); ok {
		t.Error("an estimate before a round was measured")
	}
	pass(now, other, 50, 52)
	if _, ok := command.left(); ok {
		t.Error("an estimate after 2 rounds, want 3")
	}
	pass(now, other, 52, 60)
	left, ok := command.left()
	if want := (40 + 4*2) * time.Second; !ok || !near(left, want) {
		t.Errorf("round 60 of 100: got %s, %t, want %s", left, ok, want)
	}
	if got, want := command.doneFrac(), (122+60+7*2)/244.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("round 60 of 100, beside a run that was kept: %g done, want %g", got, want)
	}
}

func near(a, b time.Duration) bool { return (a - b).Abs() < time.Millisecond }

// A kind of runs that was measured has its own rate, one that was not that of all.
func TestLeftByKind(t *testing.T) {
	_, command, now := on(80)
	slow := Work{Kind: "slow", Rounds: 10, Round: 1}
	first, second := command.Run("a", slow), command.Run("b", Work{Kind: "fast", Rounds: 10, Round: 1})
	command.Run("c", slow)
	command.Run("d", Work{Kind: "new", Rounds: 10, Round: 2})
	for _, r := range []struct {
		Run
		takes time.Duration
	}{{first, 3 * time.Second}, {second, time.Second}} {
		r.Start(10)
		for t := range 10 {
			now.pass(r.takes)
			r.Round(t+1, 1)
		}
		r.Stop()
	}
	left, ok := command.left()
	if want := (10*3 + 20*2) * time.Second; !ok || !near(left, want) {
		t.Errorf("got %s, %t, want %s", left, ok, want)
	}
}

// Two runs at a time take as long as one of them, and what lies between runs is counted.
func TestLeftOnTheClock(t *testing.T) {
	_, command, now := on(80)
	work := Work{Kind: "a", Rounds: 10, Round: 1}
	a, b := command.Run("a", work), command.Run("b", work)
	command.Run("c", work)
	command.Run("d", work)
	a.Start(10)
	b.Start(10)
	for t := range 10 {
		now.pass(time.Second)
		a.Round(t+1, 1)
		b.Round(t+1, 1)
	}
	left, ok := command.left()
	if want := 10 * time.Second; !ok || !near(left, want) {
		t.Errorf("two at a time: got %s, %t, want %s", left, ok, want)
	}
	a.Stop()
	b.Stop()
	now.pass(10 * time.Second)
	if left, _ := command.left(); !near(left, 20*time.Second) {
		t.Errorf("as long again between runs: got %s, want 20s", left)
	}
}

// Of work that nobody knows no share and no end is told.
func TestUnknownWork(t *testing.T) {
	s, command, now := on(80)
	r := command.Run("a", Work{})
	r.Start(10)
	for t := range 5 {
		now.pass(time.Second)
		r.Round(t+1, 1)
	}
	if got, want := s.String(), "round 5/10"; got != want || strings.Contains(got, "left") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A run that another session takes up again starts from the beginning.
func TestStartsAgain(t *testing.T) {
	_, command, now := on(80)
	r := command.Run("a", everyTen)
	for range 2 {
		r.Start(100)
		pass(now, r, 0, 10)
		if got, want := command.doneFrac(), (10+2*2)/122.0; math.Abs(got-want) > 1e-9 {
			t.Errorf("round 10 of 100: %g done, want %g", got, want)
		}
		r.Stop()
	}
}
