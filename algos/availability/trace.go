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
	seen   int          // the rounds of the trace that the run sees, at most all
	repeat bool         // whether round t is round t mod rounds
	share  []float64    // [N] π_i
}

// trace: client i is active within its intervals (see [ReadTrace]). Who is there is certain and no chance, so the
// p_i^t that a method can divide by is the share of rounds in which the client is there, the same in all rounds:
// 1 in the rounds with the client and 0 in the others would weigh nobody.
func trace(o Options) (Process, error) {
	n := len(o.Base)
	if o.Rounds < 1 {
		return nil, fmt.Errorf("%d rounds, want at least 1", o.Rounds)
	}
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
	x.seen = min(o.Rounds, x.rounds)
	x.share, _ = x.Stationary()
	return x, nil
}

// Probabilities sets p to π, whatever the round. A client with p_i^t = 0 is in no round that the run sees.
func (x *replay) Probabilities(_ int, p []float64) { copy(p, x.share) }

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

// Stationary returns the averages over the rounds of the trace that the run sees, from round 0: the share of active
// rounds, and λ = P(active | active) + P(inactive | inactive) − 1 from the counts of transitions. λ is 0 for a client
// that is in one state only before its last round. If a trace repeats that the run sees whole, its first round follows
// its last. Rounds after the end of a trace that does not repeat do not count: nobody is there who could be weighed.
func (x *replay) Stationary() (pi, lambda []float64) {
	repeats := x.repeat && x.seen == x.rounds
	for _, intervals := range x.of {
		var active, starts, ends int // active rounds, transitions to active, transitions to inactive
		first, last := false, -1     // whether active in round 0; the end of the interval before
		for _, v := range intervals {
			if v.Start >= x.seen {
				break
			}
			v.End = min(v.End, x.seen)
			active += v.End - v.Start
			if v.Start == last { // the interval continues the one before: no transition in between
				ends--
			} else if v.Start > 0 {
				starts++
			} else {
				first = true
			}
			if last = v.End; v.End < x.seen {
				ends++
			}
		}
		pi = append(pi, float64(active)/float64(x.seen))
		fromActive, fromInactive := active, x.seen-active // rounds of each state that a round follows
		switch there := last == x.seen; {                 // whether active in the last round
		case repeats && there && !first:
			ends++
		case repeats && !there && first:
			starts++
		case repeats:
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
