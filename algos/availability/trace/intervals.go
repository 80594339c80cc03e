package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
)

// unixTime says which day a time means that counts from 1970, in seconds or smaller units, as the logs of phones and
// servers have it; "" if the time is none of the years 2001 to 2286.
func unixTime(x float64) string {
	k := unixUnit(x)
	if k < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f is a Unix time in %s, of %s", x, unixUnits[k].name, unixDate(x, k))
}

var unixUnits = []struct {
	name   string
	second float64
}{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}}

// unixUnit returns the unit in which x is a Unix time of the years 2001 to 2286, or −1.
func unixUnit(x float64) int {
	for k, unit := range unixUnits {
		if sec := x / unit.second; sec >= 1e9 && sec < 1e10 {
			return k
		}
	}
	return -1
}

func unixDate(x float64, unit int) string {
	return time.Unix(int64(x/unixUnits[unit].second), 0).UTC().Format(time.DateOnly)
}

// intervalRow is a row of a file of intervals.
type intervalRow struct {
	start, end   float64 // in the unit of the file
	device, line int32
}

// intervalRows are the rows of a file of intervals, in chunks: one slice would be copied as it grows.
type intervalRows struct {
	devices devices
	chunks  [][]intervalRow // of chunkRows, but for the last one
	unit    int             // the unit of Unix times that all times have, or −1
}

const chunkRows = 1 << 16

func (rows *intervalRows) at(k int32) *intervalRow { return &rows.chunks[k/chunkRows][k%chunkRows] }

func (rows *intervalRows) len() int {
	last := len(rows.chunks) - 1
	if last < 0 {
		return 0
	}
	return last*chunkRows + len(rows.chunks[last])
}

// all yields all rows in the order of the file.
func (rows *intervalRows) all(yield func(*intervalRow) bool) {
	for _, chunk := range rows.chunks {
		for k := range chunk {
			if !yield(&chunk[k]) {
				return
			}
		}
	}
}

// readIntervals reads the rows, of which the first columns are left out.
func readIntervals(in *files.CSVReader, without int, o Options) (*Trace, error) {
	rows := &intervalRows{}
	err := eachRow(in, func(line int, record []string) error { return rows.add(line, record[without:], o) })
	if err != nil {
		return nil, err
	}
	client, ids, notes, err := rows.devices.clients(o)
	if err != nil {
		return nil, err
	}
	if rows.len() > 0 && rows.unit >= 0 {
		notes = append(notes, rows.fromUnix())
		for row := range rows.all {
			if !(row.end/o.RoundSeconds < lastRound) {
				return nil, fmt.Errorf("line %d: %g s after the first start, want below %d rounds",
					row.line, row.end, lastRound)
			}
		}
	}
	order, from := rows.grouped(client, len(ids))
	for c := range ids {
		if err := rows.apart(order[from[c]:from[c+1]]); err != nil {
			return nil, err
		}
	}
	perRound := cmp.Or(o.RoundSeconds, 1)
	round := func(x float64) uint32 { return uint32(max(ceil((x-o.Offset)/perRound), 0)) }
	t, s := &Trace{IDs: ids, Notes: notes}, &spans{from: make([]int32, 1, len(ids)+1)}
	s.start, s.end = make([]uint32, 0, len(order)), make([]uint32, 0, len(order))
	for c := range ids {
		for _, k := range order[from[c]:from[c+1]] {
			if start, end := round(rows.at(k).start), round(rows.at(k).end); start < end {
				s.start, s.end = append(s.start, start), append(s.end, end)
				t.Rounds = max(t.Rounds, int(end))
			}
		}
		s.from = append(s.from, int32(len(s.start)))
	}
	if t.Rounds == 0 {
		behind := ""
		if o.Offset > 0 {
			behind = fmt.Sprintf(" from time %g on", o.Offset)
		}
		return nil, fmt.Errorf("%s, none holds a round%s, want at least one that does",
			files.Count(len(order), "interval"), behind)
	}
	t.source = s
	return t, nil
}

// ceil returns the least whole number that is not below x. What is a whole number but for the rounding of float64 is
// that number: round 13 of 7.3 s begins at 94.9, though 94.9/7.3 is a little more than 13.
func ceil(x float64) float64 {
	if near := math.Round(x); math.Abs(x-near) <= 1e-12*max(1, near) {
		return near
	}
	return math.Ceil(x)
}

func (rows *intervalRows) add(line int, record []string, o Options) error {
	device, err := rows.devices.number(record[0])
	if err != nil {
		return err
	}
	var times [2]float64
	for k := range times {
		if times[k], err = rows.time(record[0], record[k+1], o); err != nil {
			return err
		}
		// The unit is that of the file's first time.
		unit := unixUnit(times[k])
		if len(rows.chunks) == 0 && k == 0 {
			rows.unit = unit
		}
		if unit != rows.unit {
			return fmt.Errorf("client %s: %s, but earlier times %s, want all in one unit",
				quoted(record[0]), kindOfTime(times[k], unit), are(rows.unit))
		}
		if unit >= 0 && o.RoundSeconds == 0 {
			return fmt.Errorf("client %s: %s: want the length of a round (--round-seconds)",
				quoted(record[0]), kindOfTime(times[k], unit))
		}
	}
	if !(times[0] < times[1]) {
		return fmt.Errorf("client %s: interval from %s to %s, want an end after the start",
			quoted(record[0]), decimal(times[0]), decimal(times[1]))
	}
	last := len(rows.chunks) - 1
	if last < 0 || len(rows.chunks[last]) == chunkRows {
		size := chunkRows
		if last < 0 {
			size = 0 // most files are short
		}
		rows.chunks = append(rows.chunks, make([]intervalRow, 0, size))
		last++
	}
	rows.chunks[last] = append(rows.chunks[last], intervalRow{times[0], times[1], device, int32(line)})
	return nil
}

func (rows *intervalRows) time(id, text string, o Options) (float64, error) {
	x, err := files.ParseNumber(text, 64)
	fits := x/cmp.Or(o.RoundSeconds, 1) < lastRound || unixUnit(x) >= 0
	if err != nil || !(x >= 0 && fits) {
		dates := ""
		if strings.Count(text, "-") == 2 && text[0] != '-' || strings.Count(text, ":") > 0 {
			dates = "; dates are not read, but Unix times are"
		}
		return 0, fmt.Errorf("client %s: time %.80q, want a number from 0 to below %d rounds%s",
			quoted(id), text, lastRound, dates)
	}
	return x, nil
}

func kindOfTime(x float64, unit int) string {
	if unit < 0 {
		return "time " + decimal(x)
	}
	return "time " + unixTime(x)
}

func are(unit int) string {
	if unit < 0 {
		return "are none that count from 1970"
	}
	return "are Unix times in " + unixUnits[unit].name
}

// decimal returns a time as a file has it: all digits of a large one.
func decimal(x float64) string {
	if x >= 1e6 && x == math.Trunc(x) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%g", x)
}

// fromUnix makes the times seconds from the first start, and says so.
func (rows *intervalRows) fromUnix() string {
	zero, second := rows.at(0).start, unixUnits[rows.unit].second
	for row := range rows.all {
		zero = min(zero, row.start)
	}
	for row := range rows.all {
		row.start, row.end = (row.start-zero)/second, (row.end-zero)/second
	}
	return fmt.Sprintf("times are Unix times in %s: time 0 is the first start, %.0f, of %s",
		unixUnits[rows.unit].name, zero, unixDate(zero, rows.unit))
}

// grouped returns the numbers of the rows of each client, in order: those of client c are order[from[c]:from[c+1]].
func (rows *intervalRows) grouped(client []int32, n int) (order, from []int32) {
	order, from = make([]int32, rows.len()), make([]int32, n+1)
	for row := range rows.all {
		from[client[row.device]+1]++
	}
	for c := range n {
		from[c+1] += from[c]
	}
	next, k := slices.Clone(from), int32(0)
	for row := range rows.all {
		c := client[row.device]
		order[next[c]] = k
		next[c]++
		k++
	}
	return order, from
}

// apart sorts the rows of a client by their start, and returns an error that names the first two that overlap.
func (rows *intervalRows) apart(of []int32) error {
	byStart := func(a, b int32) int { return cmp.Compare(rows.at(a).start, rows.at(b).start) }
	if !slices.IsSortedFunc(of, byStart) {
		slices.SortStableFunc(of, byStart)
	}
	for k := 1; k < len(of); k++ {
		if a, b := rows.at(of[k-1]), rows.at(of[k]); b.start < a.end {
			return fmt.Errorf("line %d: client %s: interval from %s to %s overlaps that of line %d, from %s to %s, "+
				"want them apart", b.line, quoted(rows.devices.ids[b.device]), decimal(b.start), decimal(b.end),
				a.line, decimal(a.start), decimal(a.end))
		}
	}
	return nil
}

// spans are the rounds of intervals: client c is active in the rounds start[k] … end[k]−1, for k of from[c] …
// from[c+1]−1. They are in order, and do not overlap.
type spans struct {
	from       []int32 // [N+1]
	start, end []uint32
}

func (s *spans) first() int {
	if len(s.start) == 0 {
		return Never
	}
	return int(slices.Min(s.start))
}

func (s *spans) block(block int, words []uint64) {
	clear(words)
	if block < 0 || block >= lastRound/64 {
		return
	}
	begin := uint32(block) * 64
	for i := range words {
		lo, hi := s.from[i], s.from[i+1]
		for last := hi; lo < last; { // the first interval that ends after begin
			if mid := (lo + last) / 2; s.end[mid] <= begin {
				lo = mid + 1
			} else {
				last = mid
			}
		}
		for ; lo < hi && s.start[lo] < begin+64; lo++ {
			words[i] |= ones(int(max(s.start[lo], begin)-begin), int(min(s.end[lo]-begin, 64)))
		}
	}
}

// ones returns the word with the bits from … to−1, for 0 ≤ from < to ≤ 64.
func ones(from, to int) uint64 { return ^uint64(0) >> (64 - to + from) << from }

func (s *spans) probabilities(int, []float64) bool { return false }

func (s *spans) take(index []int32) source {
	taken := &spans{from: make([]int32, 1, len(index)+1)}
	for _, i := range index {
		taken.start = append(taken.start, s.start[s.from[i]:s.from[i+1]]...)
		taken.end = append(taken.end, s.end[s.from[i]:s.from[i+1]]...)
		taken.from = append(taken.from, int32(len(taken.start)))
	}
	return taken
}
