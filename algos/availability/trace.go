package availability

import (
	"cmp"
	"fmt"
	"slices"
)

// Interval is a time in which a client is there: the rounds Start, Start+1, …, End−1.
type Interval struct {
	Client     int
	Start, End int // 0 ≤ Start ≤ End
}

// replay is the trace process: the clients are there in the rounds of
// their intervals and in no others, so nobody is after the last one.
type replay struct {
	of     [][]Interval // [N] each client's, ascending
	rounds int          // the end of the last interval
}

// trace: p_i^t is 1 within the intervals of client i, and 0 outside (see [ReadTrace]).
func trace(o Options) (Process, error) {
	n := len(o.Base)
	x := &replay{of: make([][]Interval, n)}
	for _, v := range o.Trace {
		switch {
		case v.Client < 0 || v.Client >= n:
			return nil, fmt.Errorf("client %d: unknown, want 0 … %d", v.Client, n-1)
		case v.Start < 0 || v.End < v.Start:
			return nil, fmt.Errorf("client %d: interval from %d to %d, want 0 or more, and forwards", v.Client, v.Start, v.End)
		}
		if v.Start < v.End {
			x.of[v.Client] = append(x.of[v.Client], v)
			x.rounds = max(x.rounds, v.End)
		}
	}
	if x.rounds == 0 {
		return nil, fmt.Errorf("%d intervals, none holds a round, want at least one that does", len(o.Trace))
	}
	for i, intervals := range x.of {
		slices.SortFunc(intervals, func(a, b Interval) int { return cmp.Compare(a.Start, b.Start) })
		for k := 1; k < len(intervals); k++ {
			if a, b := intervals[k-1], intervals[k]; b.Start < a.End {
				return nil, fmt.Errorf("client %d: intervals from %d to %d and from %d to %d overlap, want them apart",
					i, a.Start, a.End, b.Start, b.End)
			}
		}
	}
	return x, nil
}

func (x *replay) Probabilities(t int, p []float64) {
	for i := range x.of {
		p[i] = 0
		if x.active(t, i) {
			p[i] = 1
		}
	}
}

func (x *replay) Active(t int) []int {
	return clientsWho(len(x.of), func(i int) bool { return x.active(t, i) })
}

// active reports whether client i is there in round t.
func (x *replay) active(t, i int) bool {
	after, here := slices.BinarySearchFunc(x.of[i], t, func(v Interval, t int) int { return cmp.Compare(v.Start, t) })
	return here || after > 0 && t < x.of[i][after-1].End
}

// Stationary returns what the trace comes to from round 0 to the end of its last interval: the share of active rounds,
// and λ = P(active | active) + P(inactive | inactive) − 1 from the counts of its transitions, 0 for a client that shows
// only one of the states before its last round.
func (x *replay) Stationary() (pi, lambda []float64) {
	for _, intervals := range x.of {
		var active, starts, ends int // rounds, transitions into them, transitions out of them
		last := -1
		for _, v := range intervals {
			active += v.End - v.Start
			if v.Start == last { // goes on where the last one ended
				ends--
			} else if v.Start > 0 {
				starts++
			}
			if last = v.End; v.End < x.rounds {
				ends++
			}
		}
		pi = append(pi, float64(active)/float64(x.rounds))
		fromActive, fromInactive := active, x.rounds-active // rounds with a successor
		if last == x.rounds {
			fromActive--
		} else {
			fromInactive--
		}
		l := 0.0
		if fromActive > 0 && fromInactive > 0 {
			l = 1 - float64(ends)/float64(fromActive) - float64(starts)/float64(fromInactive)
		}
		lambda = append(lambda, l)
	}
	return pi, lambda
}
