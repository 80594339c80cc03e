package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// cells are the numbers of a matrix in the order of the file. As long as all are 0 or 1 they take a byte each.
type cells struct {
	codes  []uint8
	values []float64 // nil: all are 0 or 1
}

// add adds a number, and reports whether it is 0, 1 or a probability.
func (c *cells) add(x float64) bool {
	switch {
	case !(x >= 0 && x <= 1):
		return false
	case c.values != nil:
		c.values = append(c.values, x)
	case x == 0 || x == 1:
		c.codes = append(c.codes, uint8(x))
	default:
		c.values = make([]float64, len(c.codes), 2*len(c.codes)+1)
		for i, code := range c.codes {
			c.values[i] = float64(code)
		}
		c.codes, c.values = nil, append(c.values, x)
	}
	return true
}

const wantCell = "want 0, 1 or a probability between them"

// table is a matrix as it is in a file.
type table struct {
	cells
	rows, columns int
	down          bool     // the order of the numbers is that of columns, as in Fortran
	perRound      bool     // a row is a round
	ids           *devices // nil: the file has none
}

func readMatrix(in *files.CSVReader, first []string, o Options) (*Trace, error) {
	m := &table{perRound: o.Format == MatrixRounds}
	named := first[0] == "client" || first[0] == "round" || first[0] == "" // as pandas and R name no index
	if !named && len(first) > 2 {
		numbered := true
		for k, name := range first {
			numbered = numbered && strings.TrimSpace(name) == strconv.Itoa(k)
		}
		if numbered {
			return nil, errors.New("line 1: 0, 1, 2 …, as a header has them, want none, or the word client or round, " +
				"and a name at the start of each row, before it")
		}
	}
	if named {
		m.perRound, m.ids = first[0] == "round", &devices{}
		for k, name := range first[1:] {
			if m.perRound {
				if err := m.ids.add(strings.TrimSpace(name)); err != nil {
					return nil, fmt.Errorf("line 1: %w", err)
				}
			} else if n := strings.TrimSpace(name); n != strconv.Itoa(k) && n != "V"+strconv.Itoa(k+1) { // R's names
				return nil, fmt.Errorf("line 1: column %d: round %.80q, want %d", k+2, name, k)
			}
		}
		m.columns = len(first) - 1
	} else {
		m.columns = len(first)
		if err := m.addRow(first); err != nil {
			return nil, fmt.Errorf("line 1: %w", err)
		}
	}
	width := len(first)
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return m.trace(o)
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		switch {
		case err != nil:
			err = fmt.Errorf("%s, want %d as in the first row", files.Count(len(record), "column"), width)
		case !named:
			err = m.addRow(record)
		case m.perRound && strings.TrimSpace(record[0]) != strconv.Itoa(m.rows):
			err = fmt.Errorf("round %.80q, want %d", record[0], m.rows)
		case m.perRound:
			err = m.addRow(record[1:])
		default:
			if err = m.ids.add(strings.TrimSpace(record[0])); err == nil {
				err = m.addRow(record[1:])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (m *table) addRow(record []string) error {
	m.rows++
	for k, text := range record {
		x, err := cellOf(strings.TrimSpace(text))
		if err != nil || !m.add(x) {
			return fmt.Errorf("column %d: %.80q, %s", k+1, text, wantCell)
		}
	}
	return nil
}

// cellOf returns a number, or 1 and 0 for what programs write for true and false.
func cellOf(text string) (float64, error) {
	x, err := files.ParseNumber(text, 64)
	switch {
	case err == nil:
	case strings.EqualFold(text, "true"):
		return 1, nil
	case strings.EqualFold(text, "false"):
		return 0, nil
	}
	return x, err
}

func readNPY(r io.Reader, o Options) (*Trace, error) {
	npy, err := files.NewNPYReader(r)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	if len(npy.Shape) != 2 {
		return nil, fmt.Errorf("npy: %s, want 2: clients × rounds", files.Count(len(npy.Shape), "dimension"))
	}
	m := &table{rows: npy.Shape[0], columns: npy.Shape[1], down: npy.Fortran, perRound: o.Format == MatrixRounds}
	x := make([]float64, 1<<12)
	for at, all := 0, npy.Len(); at < all; at += len(x) { // in parts: the shape may be longer than the file
		x = x[:min(len(x), all-at)]
		if err := npy.Read(x); err != nil {
			return nil, fmt.Errorf("npy: %w", err)
		}
		for k, v := range x {
			if !m.add(v) {
				row, column := (at+k)/m.columns, (at+k)%m.columns
				if m.down {
					row, column = (at+k)%m.rows, (at+k)/m.rows
				}
				return nil, fmt.Errorf("npy: element [%d, %d]: %g, %s", row, column, v, wantCell)
			}
		}
	}
	if err := npy.End(); err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return m.trace(o)
}

func (m *table) trace(o Options) (*Trace, error) {
	offset, err := o.wholeRounds(Matrix)
	if err != nil {
		return nil, err
	}
	n, rounds, other := m.rows, m.columns, MatrixRounds
	if m.perRound {
		n, rounds, other = rounds, n, Matrix
	}
	if n == 0 || rounds == 0 {
		return nil, fmt.Errorf("%d clients × %d rounds, want at least 1 × 1", n, rounds)
	}
	if m.ids == nil && !o.Sampled && o.Clients == rounds && o.Clients != n {
		return nil, fmt.Errorf("%d rows × %d columns, want %d clients: its %s are clients with --trace-format %s",
			m.rows, m.columns, o.Clients, map[Format]string{Matrix: "columns", MatrixRounds: "rows"}[o.layout()], other)
	}
	if offset >= rounds {
		return nil, fmt.Errorf("offset %d, want fewer than the %d rounds of the file", offset, rounds)
	}
	t := &Trace{Rounds: rounds - offset, Drawn: m.values != nil}
	place := make([]int32, n) // [device] the client it is
	if m.ids == nil {
		if err := o.checkCount(n); err != nil {
			return nil, err
		}
		for i := range n {
			place[i] = int32(i)
			t.IDs = append(t.IDs, strconv.Itoa(i))
		}
	} else if place, t.IDs, t.Notes, err = m.ids.clients(o); err != nil {
		return nil, err
	}
	// Device i in round r of the file is number i·ofDevice + r·ofRound.
	ofDevice, ofRound := 1, n
	if m.perRound == m.down {
		ofDevice, ofRound = rounds, 1
	}
	if m.values != nil {
		device := make([]int32, len(t.IDs))
		for c := range device {
			device[c] = -1
		}
		for i, c := range place {
			if device[c] >= 0 {
				return nil, errTwice(t.IDs[c])
			}
			device[c] = int32(i)
		}
		t.source = &chances{m.values, device, offset, rounds, ofDevice, ofRound}
		return t, nil
	}
	table := &bitmap{n: len(t.IDs), words: make([]uint64, len(t.IDs)*((t.Rounds+63)/64))}
	seen := make([]bool, len(t.IDs))
	for i, c := range place {
		if seen[c] {
			return nil, errTwice(t.IDs[c])
		}
		seen[c] = true
		for r := range t.Rounds {
			bit := uint64(m.codes[i*ofDevice+(r+offset)*ofRound])
			table.words[r/64*table.n+int(c)] |= bit << (r % 64)
		}
	}
	t.source = table
	return t, nil
}

// errTwice says that two ids are the same number, such as 1 and 01.
func errTwice(id string) error { return fmt.Errorf("device %s: twice, want each once", quoted(id)) }

// layout is the format as which a matrix without names is read.
func (o *Options) layout() Format {
	if o.Format == MatrixRounds {
		return MatrixRounds
	}
	return Matrix
}

// bitmap has a bit for each client and round: those of the rounds of block b are words[b·n : (b+1)·n].
type bitmap struct {
	n     int
	words []uint64
}

func (s *bitmap) first() int {
	for at, word := range s.words {
		if word == 0 {
			continue
		}
		block := at / s.n
		return block*64 + lowest(s.words[block*s.n:(block+1)*s.n])
	}
	return Never
}

func (s *bitmap) block(block int, words []uint64) {
	clear(words)
	if block >= 0 && block < len(s.words)/max(s.n, 1) {
		copy(words, s.words[block*s.n:(block+1)*s.n])
	}
}

func (s *bitmap) probabilities(int, []float64) bool { return false }

func (s *bitmap) take(index []int32) source {
	taken := &bitmap{n: len(index)}
	for block := range len(s.words) / max(s.n, 1) {
		taken.words = append(taken.words, at(s.words[block*s.n:(block+1)*s.n], index)...)
	}
	return taken
}

// chances are p_i^t: client c in round t is value[device[c]·ofDevice + (t+offset)·ofRound], and 0 if device[c] < 0.
type chances struct {
	value                             []float64
	device                            []int32
	offset, rounds, ofDevice, ofRound int
}

func (s *chances) at(client int32, round int) float64 {
	if client < 0 {
		return 0
	}
	return s.value[int(client)*s.ofDevice+(round+s.offset)*s.ofRound]
}

func (s *chances) first() int {
	for round := range s.rounds - s.offset {
		for _, d := range s.device {
			if s.at(d, round) > 0 {
				return round
			}
		}
	}
	return Never
}

func (s *chances) block(_ int, words []uint64) { clear(words) }

func (s *chances) probabilities(round int, p []float64) bool {
	clear(p)
	if round >= 0 && round < s.rounds-s.offset {
		for c := range p {
			p[c] = s.at(s.device[c], round)
		}
	}
	return true
}

func (s *chances) take(index []int32) source {
	taken := *s
	taken.device = at(s.device, index)
	return &taken
}
