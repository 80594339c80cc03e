package availability

import (
	"cmp"
	"fmt"
	"slices"
)

// Interval is a time in which a client is active: the rounds Start, Start+1, …, End−1.
type Interval struct {
	Client     int
	Start, End int // 0 ≤ Start ≤ End
}

// TraceRounds returns the length of a trace in rounds: the end of its last interval, 0 if no interval holds a round.
func TraceRounds(trace []Interval) (rounds int) {
	for _, v := range trace {
		if v.Start < v.End {
			rounds = max(rounds, v.End)
		}
	}
	return rounds
}

// replay is the trace process: a client is active in the rounds of its intervals and in no others. After the last
// interval nobody is active, unless the trace repeats.
type replay struct {
	of     [][]Interval // [N] the intervals of each client, ascending
	rounds int          // the length of the trace, see [TraceRounds]
	repeat bool         // whether round t is round t mod rounds
}

// trace: p_i^t is 1 within the intervals of client i, and 0 outside (see [ReadTrace]).
func trace(o Options) (Process, error) {
	n := len(o.Base)
	x := &replay{of: make([][]Interval, n), rounds: TraceRounds(o.Trace), repeat: o.Repeat}
	for _, v := range o.Trace {
		switch {
		case v.Client < 0 || v.Client >= n:
			return nil, fmt.Errorf("client %d: unknown, want 0 … %d", v.Client, n-1)
		case v.Start < 0 || v.End < v.Start:
			return nil, fmt.Errorf("client %d: interval from %d to %d, want 0 or more, and forwards",
				v.Client, v.Start, v.End)
		}
		if v.Start < v.End {
			x.of[v.Client] = append(x.of[v.Client], v)
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

// active reports whether client i is active in round t.
func (x *replay) active(t, i int) bool {
	if x.repeat {
		t %= x.rounds
	}
	after, here := slices.BinarySearchFunc(x.of[i], t, func(v Interval, t int) int { return cmp.Compare(v.Start, t) })
	return here || after > 0 && t < x.of[i][after-1].End
}

// Stationary returns the averages over the trace, from round 0 to the end of its last interval: the share of active
// rounds, and λ = P(active | active) + P(inactive | inactive) − 1 from the counts of transitions. λ is 0 for a client
// that is in one state only before its last round. If the trace repeats, its first round follows its last.
func (x *replay) Stationary() (pi, lambda []float64) {
	for _, intervals := range x.of {
		var active, starts, ends int // active rounds, transitions to active, transitions to inactive
		first, last := false, -1     // whether active in round 0; the end of the interval before
		for _, v := range intervals {
			active += v.End - v.Start
			if v.Start == last { // the interval continues the one before: no transition in between
				ends--
			} else if v.Start > 0 {
				starts++
			} else {
				first = true
			}
			if last = v.End; v.End < x.rounds {
				ends++
			}
		}
		pi = append(pi, float64(active)/float64(x.rounds))
		fromActive, fromInactive := active, x.rounds-active // rounds of each state that a round follows
		switch there := last == x.rounds; {                 // whether active in the last round
		case x.repeat && there && !first:
			ends++
		case x.repeat && !there && first:
			starts++
		case x.repeat:
		case there:
			fromActive--
		default:
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
