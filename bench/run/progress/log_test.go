package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A log that is no terminal gets a line per evaluation, and once a minute how far the command is.
func TestLog(t *testing.T) {
	var log strings.Builder
	command, now := New(&log), &clock{time.Unix(1e9, 0)}
	command.now = func() time.Time { return now.at }
	first, second := command.Run("[1/2] a seed 3", everyTen), command.Run("[1/2] a seed 4", everyTen)
	first.Start(100)
	pass(now, first, 0, 60)
	first.Stop()
	_ = second
	evaluation := func(round int) string {
		return fmt.Sprintf("[1/2] a seed 3: round %d/100, 0 active, test acc 45.10 %% loss 0.0000, 0.0 s\n", round)
	}
	want := evaluation(0) + evaluation(10) + evaluation(20) + evaluation(30) + evaluation(40) +
		"run 1/2 · 24 % · 3 min 4 s left\n" + evaluation(50) + evaluation(60)
	if got := log.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
