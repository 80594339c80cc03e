package availability

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"rollcall/internal/files"
)

// Interval is a time in which a client is active: the rounds Start, Start+1, …, End−1.
type Interval struct {
	Client     int
	Start, End int // 0 ≤ Start ≤ End
}

// TraceSpan returns the first round of a trace in which a client is active, and the length of the trace in rounds: the
// end of its last interval. Both are 0 if no interval holds a round.
func TraceSpan(trace []Interval) (first, rounds int) {
	for _, v := range trace {
		if v.Start >= v.End {
			continue
		}
		if rounds == 0 || v.Start < first {
			first = v.Start
		}
		rounds = max(rounds, v.End)
	}
	return first, rounds
}

// UnixTime says which day a time means that counts from 1970, in seconds or smaller units, as the logs of phones and
// servers have it; "" if the time is none of the years 2001 to 2286.
func UnixTime(x float64) string {
	for _, unit := range []struct {
		name   string
		second float64
	}{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}} {
		if sec := x / unit.second; sec >= 1e9 && sec < 1e10 {
			return fmt.Sprintf("%.0f is a Unix time in %s, of %s: want times from the start of the run, without it",
				x, unit.name, time.Unix(int64(sec), 0).UTC().Format(time.DateOnly))
		}
	}
	return ""
}

// lastRound bounds the rounds of a trace, so that a file in a wrong unit is refused.
const lastRound = 1 << 31

// ReadTrace reads a trace from a CSV file with the header client,start,end. A row says that a client, 0 … clients−1, is
// active from start up to, but not including, end. Rows may be in any order. The intervals of a client may touch, but
// not overlap.
//
// Round t begins at time t·perRound, and a client is active in it if that time lies in one of its intervals. So
// perRound is 1 for a file that counts rounds, and the length of a round in seconds for a file in seconds.
func ReadTrace(r io.Reader, clients int, perRound float64) ([]Interval, error) {
	if !(perRound > 0) || math.IsInf(perRound, 1) {
		return nil, fmt.Errorf("availability: trace: rounds %g long, want above 0", perRound)
	}
	file, err := files.NewCSVReader(r)
	if err != nil {
		return nil, fmt.Errorf("availability: trace: line 1: %w", err)
	}
	file.TrimLeadingSpace, file.ReuseRecord = true, true
	header, err := file.Read()
	commas := files.CheckCommas(header)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("availability: trace: empty, want the columns client,start,end")
	case err != nil:
		return nil, fmt.Errorf("availability: trace: %w", err)
	case commas != nil:
		return nil, fmt.Errorf("availability: trace: line 1: %w", commas)
	case !slices.Equal(header, []string{"client", "start", "end"}):
		return nil, fmt.Errorf("availability: trace: line 1: columns %.80q, want client,start,end", header)
	}
	var spans []span
	for {
		record, err := file.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("availability: trace: %w", err)
		}
		line, _ := file.FieldPos(0)
		s, err := parseSpan(record, clients, perRound)
		if err != nil {
			return nil, fmt.Errorf("availability: trace: line %d: %w", line, err)
		}
		s.line = line
		spans = append(spans, s)
	}
	if err := apart(spans); err != nil {
		return nil, err
	}
	intervals := make([]Interval, len(spans))
	for k, s := range spans {
		intervals[k] = Interval{s.client, int(math.Ceil(s.start / perRound)), int(math.Ceil(s.end / perRound))}
	}
	return intervals, nil
}

// span is one row of a trace, in the unit of the file.
type span struct {
	client, line int
	start, end   float64
}

func parseSpan(record []string, clients int, perRound float64) (s span, err error) {
	if s.client, err = strconv.Atoi(record[0]); err != nil || s.client < 0 || s.client >= clients {
		return s, fmt.Errorf("client %q: unknown, want 0 … %d", record[0], clients-1)
	}
	for k, at := range []*float64{&s.start, &s.end} {
		if *at, err = files.ParseNumber(record[k+1], 64); err != nil || !(*at >= 0 && *at/perRound < lastRound) {
			err := fmt.Errorf("client %d: time %q, want a number from 0 to below %d rounds",
				s.client, record[k+1], lastRound)
			if unix := UnixTime(*at); unix != "" {
				err = fmt.Errorf("%w (%s)", err, unix)
			}
			return s, err
		}
	}
	if !(s.start < s.end) {
		return s, fmt.Errorf("client %d: interval from %g to %g, want an end after the start", s.client, s.start, s.end)
	}
	return s, nil
}

// apart returns an error that names the first two spans of a client that overlap. It sorts spans by client and start.
func apart(spans []span) error {
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.start, b.start))
	})
	for k := 1; k < len(spans); k++ {
		a, b := spans[k-1], spans[k]
		if a.client == b.client && b.start < a.end {
			return fmt.Errorf("availability: trace: line %d: client %d: "+
				"interval from %g to %g overlaps that of line %d, from %g to %g, want them apart",
				b.line, b.client, b.start, b.end, a.line, a.start, a.end)
		}
	}
	return nil
}

// replay is the trace model: a client is active in the rounds of its intervals and in no others. After the last
// interval nobody is active, unless the trace repeats.
type replay struct {
	of     [][]Interval // [N] the intervals of each client, ascending
	rounds int          // the length of the trace, see [TraceSpan]
	seen   int          // the rounds of the trace that the run sees, at most all
	repeat bool         // whether round t is round t mod rounds
	share  []float64    // [N] π_i
}

// trace: client i is active within its intervals (see [ReadTrace]). Who is active is certain and no chance, so
// the p_i^t that a method can divide by is the share of rounds in which the client is active, the same in all rounds:
// 1 in the rounds with the client and 0 in the others would weigh nobody.
func trace(o Options) (Model, error) {
	n := len(o.Base)
	if o.Rounds < 1 {
		return nil, fmt.Errorf("%d rounds, want at least 1", o.Rounds)
	}
	r := &replay{of: make([][]Interval, n), repeat: o.Repeat}
	_, r.rounds = TraceSpan(o.Trace)
	for _, v := range o.Trace {
		switch {
		case v.Client < 0 || v.Client >= n:
			return nil, fmt.Errorf("client %d: unknown, want 0 … %d", v.Client, n-1)
		case v.Start < 0 || v.End < v.Start:
			return nil, fmt.Errorf("client %d: interval from %d to %d, want 0 or more, and forwards",
				v.Client, v.Start, v.End)
		}
		if v.Start < v.End {
			r.of[v.Client] = append(r.of[v.Client], v)
		}
	}
	if r.rounds == 0 {
		return nil, fmt.Errorf("%d intervals, none holds a round, want at least one that does", len(o.Trace))
	}
	for i, intervals := range r.of {
		slices.SortFunc(intervals, func(a, b Interval) int { return cmp.Compare(a.Start, b.Start) })
		for k := 1; k < len(intervals); k++ {
			if a, b := intervals[k-1], intervals[k]; b.Start < a.End {
				return nil, fmt.Errorf("client %d: intervals from %d to %d and from %d to %d overlap, want them apart",
					i, a.Start, a.End, b.Start, b.End)
			}
		}
	}
	r.seen = min(o.Rounds, r.rounds)
	r.share, _ = r.Stationary()
	return r, nil
}

// Probabilities sets p to π, whatever the round. A client with p_i^t = 0 is in no round that the run sees.
func (r *replay) Probabilities(_ int, p []float64) { copy(p, r.share) }

func (r *replay) Active(t int) []int {
	return clientsWho(len(r.of), func(i int) bool { return r.active(t, i) })
}

func (r *replay) active(t, i int) bool {
	if r.repeat {
		t %= r.rounds
	}
	after, here := slices.BinarySearchFunc(r.of[i], t, func(v Interval, t int) int { return cmp.Compare(v.Start, t) })
	return here || after > 0 && t < r.of[i][after-1].End
}

// Stationary returns the averages over the rounds of the trace that the run sees, from round 0: the share of active
// rounds, and λ = P(active | active) + P(inactive | inactive) − 1 from the counts of transitions. λ is 0 for a client
// that is in one state only before its last round. If a trace repeats that the run sees whole, its first round follows
// its last. Rounds after the end of a trace that does not repeat do not count: nobody is active who could be weighed.
func (r *replay) Stationary() (pi, lambda []float64) {
	repeats := r.repeat && r.seen == r.rounds
	for _, intervals := range r.of {
		var active, starts, ends int // active rounds, transitions to active, transitions to inactive
		first, last := false, -1     // whether active in round 0; the end of the interval before
		for _, v := range intervals {
			if v.Start >= r.seen {
				break
			}
			v.End = min(v.End, r.seen)
			active += v.End - v.Start
			if v.Start == last { // the interval continues the one before: no transition in between
				ends--
			} else if v.Start > 0 {
				starts++
			} else {
				first = true
			}
			if last = v.End; v.End < r.seen {
				ends++
			}
		}
		pi = append(pi, float64(active)/float64(r.seen))
		fromActive, fromInactive := active, r.seen-active // rounds of each state that a round follows
		switch here := last == r.seen; {                  // whether active in the last round
		case repeats && here && !first:
			ends++
		case repeats && !here && first:
			starts++
		case repeats:
		case here:
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
