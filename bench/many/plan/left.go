package plan

import (
	"fmt"
	"time"

	"rollcall/bench/run"
)

// Left is what a plan has left to do.
type Left struct {
	Runs    int
	Longest time.Duration // for the longest run
	Words   string        // the same for people, and what it was measured on
}

// Left sums up what is left to do.
func (p *Plan) Left() (l Left) {
	sec, longest := 0.0, 0.0
	for _, r := range p.Runs {
		if r.Left() {
			l.Runs, sec, longest = l.Runs+1, sec+r.Sec, max(longest, r.Sec)
		}
	}
	l.Longest = Seconds(longest)
	l.Words = fmt.Sprintf("%s left, the longest of about %s; %s",
		run.Count(l.Runs, "run"), words(longest), p.total(sec))
	return l
}
