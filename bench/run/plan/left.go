package plan

import (
	"fmt"
	"time"

	"rollcall/bench/run"
)

// Left is what a plan has left to do.
type Left struct {
	Runs    int
	All     time.Duration // for all of them, one after the other
	Longest time.Duration // for the longest, if the runs of a cell take the same time
	Words   string        // the same for people, and what it was measured on
}

// Left sums up what is left to do.
func (p *Plan) Left() Left {
	l, sec, longest := Left{}, 0.0, 0.0
	for _, c := range p.Cells {
		n := c.Runs - c.Kept
		if l.Runs += n; n > 0 {
			sec, longest = sec+c.Sec, max(longest, c.Sec/float64(n))
		}
	}
	l.All, l.Longest = seconds(sec), seconds(longest)
	l.Words = fmt.Sprintf("%s left, the longest of about %s; %s",
		run.Count(l.Runs, "run"), words(longest), p.total(sec))
	return l
}
