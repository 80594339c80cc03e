package trace

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// activityColumns are the columns that are read; the first three must be there.
var activityColumns = []string{"round", "client", "active", "probability", "pi", "lambda"}

const (
	colRound = iota
	colClient
	colActive
	colProbability
	colPi
	colLambda
)

// hasColumns reports whether a header has the columns that [Activity] needs.
func hasColumns(header []string) bool {
	for _, name := range activityColumns[:colProbability] {
		if !slices.Contains(header, name) {
			return false
		}
	}
	return true
}

// activityRows are the rows of a file of activities, column by column.
type activityRows struct {
	devices             devices
	column              [6]int // where each of activityColumns is, or −1
	device, round, line []int32
	active              []bool
	probability         []float64
	constants           [2]constants // π and λ
}

// constants are values that each device has in all its rows.
type constants struct {
	value []float64 // [devices]
	line  []int32   // where each was found first
}

func readActivity(in *files.CSVReader, header []string, o Options) (*Trace, error) {
	offset, err := o.wholeRounds(Activity)
	if err != nil {
		return nil, err
	}
	rows := &activityRows{}
	for k, name := range activityColumns {
		rows.column[k] = slices.Index(header, name)
		if at := rows.column[k]; at >= 0 && slices.Contains(header[at+1:], name) {
			return nil, fmt.Errorf("line 1: column %s twice, want it once", name)
		}
	}
	if err := eachRow(in, rows.add); err != nil {
		return nil, err
	}
	client, ids, notes, err := rows.devices.clients(o)
	if err != nil {
		return nil, err
	}
	if len(rows.round) == 0 {
		return nil, fmt.Errorf("no rows, want at least one")
	}
	t := &Trace{IDs: ids, Notes: notes, Rounds: int(slices.Max(rows.round)) + 1 - offset}
	if t.Rounds <= 0 {
		return nil, fmt.Errorf("offset %d, want fewer than the %d rounds of the file", offset, t.Rounds+offset)
	}
	for k, of := range []*[]float64{&t.Pi, &t.Lambda} {
		if rows.column[colPi+k] >= 0 {
			*of = make([]float64, len(ids))
			for d, c := range client {
				(*of)[c] = rows.constants[k].value[d]
			}
		}
	}
	t.source, err = rows.records(client, len(ids), offset)
	return t, err
}

func (rows *activityRows) add(line int, record []string) error {
	cell := func(column int) string { return strings.TrimSpace(record[rows.column[column]]) }
	round, err := strconv.Atoi(cell(colRound))
	if err != nil || round < 0 || round >= lastRound {
		return fmt.Errorf("round %.80q, want a whole number from 0 to below %d", cell(colRound), lastRound)
	}
	id := record[rows.column[colClient]]
	device, err := rows.devices.number(id)
	if err != nil {
		return err
	}
	here, err := cellOf(cell(colActive))
	active := here == 1
	if err != nil || here != 0 && here != 1 {
		return fmt.Errorf("client %s: active %.80q, want 0 or 1", quoted(id), cell(colActive))
	}
	number := func(column int, low float64) (float64, error) {
		x, err := files.ParseNumber(cell(column), 64)
		if err != nil || !(x >= low && x <= 1) {
			return 0, fmt.Errorf("client %s: %s %.80q, want a number from %g to 1",
				quoted(id), activityColumns[column], cell(column), low)
		}
		return x, nil
	}
	if rows.column[colProbability] >= 0 {
		p, err := number(colProbability, 0)
		if err != nil {
			return err
		}
		if active && p == 0 {
			return fmt.Errorf("client %s: active with probability 0, want a probability above 0", quoted(id))
		}
		rows.probability = append(rows.probability, p)
	}
	for k, low := range []float64{0, -1} {
		column := colPi + k
		if rows.column[column] < 0 {
			continue
		}
		x, err := number(column, low)
		if err != nil {
			return err
		}
		c := &rows.constants[k]
		if int(device) == len(c.value) {
			c.value, c.line = append(c.value, x), append(c.line, int32(line))
		}
		if c.value[device] != x {
			return fmt.Errorf("client %s: %s %g, but %g in line %d, want one value for all rounds",
				quoted(id), activityColumns[column], x, c.value[device], c.line[device])
		}
	}
	rows.device, rows.round = append(rows.device, device), append(rows.round, int32(round))
	rows.line, rows.active = append(rows.line, int32(line)), append(rows.active, active)
	return nil
}

// records returns the rows from a round on, sorted by round and client.
func (rows *activityRows) records(client []int32, n, offset int) (source, error) {
	order := make([]int32, len(rows.round))
	for k := range order {
		order[k] = int32(k)
	}
	at := func(a, b int32) int {
		return cmp.Or(cmp.Compare(rows.round[a], rows.round[b]),
			cmp.Compare(client[rows.device[a]], client[rows.device[b]]))
	}
	if !slices.IsSortedFunc(order, at) {
		slices.SortStableFunc(order, at)
	}
	s := &records{n: n, drawn: rows.probability != nil}
	for k, row := range order {
		if k > 0 && at(order[k-1], row) == 0 {
			return nil, fmt.Errorf("line %d: client %s: round %d twice, in line %d before, want it once",
				rows.line[row], quoted(rows.devices.ids[rows.device[row]]), rows.round[row], rows.line[order[k-1]])
		}
		if int(rows.round[row]) < offset {
			continue
		}
		p := 0.0
		if s.drawn {
			p = rows.probability[row]
		}
		s.add(rows.round[row]-int32(offset), client[rows.device[row]], rows.active[row], p)
	}
	return s, nil
}

// records are what is known of single rounds: that of round[k] are at places from[k] … from[k+1]−1. Rounds in which no
// client has a record are not there.
type records struct {
	n           int
	round, from []int32 // ascending; from has one element more, the number of records
	client      []int32
	active      []bool
	drawn       bool // there are probabilities
	probability []float64
}

func (s *records) add(round, client int32, active bool, p float64) {
	if last := len(s.round) - 1; last < 0 || s.round[last] != round {
		s.round = append(s.round, round)
		if s.from == nil {
			s.from = []int32{0}
		}
		s.from = append(s.from, 0)
	}
	s.client, s.active = append(s.client, client), append(s.active, active)
	if s.drawn {
		s.probability = append(s.probability, p)
	}
	s.from[len(s.round)] = int32(len(s.client))
}

func (s *records) first() int {
	for k, round := range s.round {
		for at := s.from[k]; at < s.from[k+1]; at++ {
			if s.active[at] || s.drawn && s.probability[at] > 0 {
				return int(round)
			}
		}
	}
	return Never
}

// find returns the place of the first round that is not before the one given.
func (s *records) find(round int) int {
	return sort.Search(len(s.round), func(k int) bool { return int(s.round[k]) >= round })
}

func (s *records) block(block int, words []uint64) {
	clear(words)
	for k := s.find(block * 64); k < len(s.round) && int(s.round[k]) < block*64+64; k++ {
		bit := uint64(1) << (s.round[k] % 64)
		for at := s.from[k]; at < s.from[k+1]; at++ {
			if s.active[at] {
				words[s.client[at]] |= bit
			}
		}
	}
}

func (s *records) probabilities(round int, p []float64) bool {
	if !s.drawn {
		return false
	}
	clear(p)
	if k := s.find(round); k < len(s.round) && int(s.round[k]) == round {
		for at := s.from[k]; at < s.from[k+1]; at++ {
			p[s.client[at]] = s.probability[at]
		}
	}
	return true
}

func (s *records) take(index []int32) source {
	to := make([][]int32, s.n) // the places of each device in index
	for k, i := range index {
		to[i] = append(to[i], int32(k))
	}
	taken := &records{n: len(index), drawn: s.drawn}
	for k, round := range s.round {
		for at := s.from[k]; at < s.from[k+1]; at++ {
			p := 0.0
			if s.drawn {
				p = s.probability[at]
			}
			for _, i := range to[s.client[at]] {
				taken.add(round, i, s.active[at], p)
			}
		}
	}
	return taken
}
