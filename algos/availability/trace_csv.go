package availability

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

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
	file := csv.NewReader(r)
	file.FieldsPerRecord, file.TrimLeadingSpace, file.ReuseRecord = 3, true, true
	header, err := file.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("availability: trace: empty, want the columns client,start,end")
	case err != nil:
		return nil, fmt.Errorf("availability: trace: %w", err)
	case !slices.Equal(header, []string{"client", "start", "end"}):
		return nil, fmt.Errorf("availability: trace: line 1: columns %q, want client,start,end", header)
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

// parseSpan reads the three fields of a row.
func parseSpan(record []string, clients int, perRound float64) (s span, err error) {
	if s.client, err = strconv.Atoi(record[0]); err != nil || s.client < 0 || s.client >= clients {
		return s, fmt.Errorf("client %q: unknown, want 0 … %d", record[0], clients-1)
	}
	for k, at := range []*float64{&s.start, &s.end} {
		if *at, err = strconv.ParseFloat(record[k+1], 64); err != nil || !(*at >= 0 && *at/perRound < lastRound) {
			return s, fmt.Errorf("client %d: time %q, want a number from 0 to below %d rounds",
				s.client, record[k+1], lastRound)
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
