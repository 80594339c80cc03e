package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostRecord bounds a row of a CSV file, in bytes: far above any row, and small beside the memory of a machine. A file
// of zeros, or one with a quote that is never closed, is one row to a CSV reader, however large it is.
const mostRecord = 1 << 20

// errRecord says that a file has a longer row.
var errRecord = fmt.Errorf("more than %d bytes in one row: damaged, or no CSV", mostRecord)

// bounded reads on only up to mostRecord bytes beyond from.
type bounded struct {
	r    io.Reader
	from int64 // where the row begins, counted as read
	read int64
	last byte // that was read
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read-b.from > mostRecord {
		return 0, errRecord
	}
	n, err := b.r.Read(p)
	if b.read += int64(n); n > 0 {
		b.last = p[n-1]
	}
	return n, err
}

// CSVReader is a csv.Reader that refuses a row that no program writes, after 1 MiB of it. It passes over rows of empty
// cells, with which spreadsheets end a table, as over empty lines.
type CSVReader struct {
	*csv.Reader
	in    *bounded
	empty bool // the last call of Read has passed over rows of empty cells
}

// mostHead is how many bytes of a text tell its encoding and what ends its lines.
const mostHead = 4096

// NewCSVReader returns a reader of CSV that passes over the byte order mark, as [Text] does. It returns an error for a
// text whose lines end as on a Mac of the last century, which would be one row.
func NewCSVReader(r io.Reader) (*CSVReader, error) {
	in := &bounded{r: r}
	b := bufio.NewReaderSize(in, mostHead)
	head, err := b.Peek(mostHead)
	if err != nil && !errors.Is(err, io.EOF) { // a short file
		return nil, err
	}
	text, err := Text(head)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		return nil, errCR
	}
	if _, err := b.Discard(len(head) - len(text)); err != nil {
		return nil, err
	}
	return &CSVReader{Reader: csv.NewReader(b), in: in}, nil
}

// OpenCSV is [NewCSVReader] for a file that a person or another program wrote, with spaces behind commas perhaps. It
// returns the first row too, or io.EOF if there is none. A row is valid until the next is read.
func OpenCSV(r io.Reader) (file *CSVReader, first []string, err error) {
	if file, err = NewCSVReader(r); err != nil {
		return nil, nil, fmt.Errorf("line 1: %w", err)
	}
	file.TrimLeadingSpace, file.ReuseRecord = true, true
	first, err = file.Read()
	if err != nil {
		return nil, nil, err
	}
	if err := CheckCommas(first); err != nil {
		return nil, nil, fmt.Errorf("line 1: %w", err)
	}
	return file, slices.Clone(first), nil
}

// Read returns the next row with a cell that is not empty, as csv.Reader does.
func (r *CSVReader) Read() ([]string, error) {
	for r.empty = false; ; r.empty = true {
		record, err := r.Reader.Read()
		r.in.from = r.InputOffset()
		filled := slices.ContainsFunc(record, func(cell string) bool { return strings.TrimSpace(cell) != "" })
		if filled || err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return record, err
		}
	}
}

// shortLines is a reader of a text that refuses a line of more than [mostRecord] bytes.
type shortLines struct{ bounded }

// ShortLines returns a reader of the same text, with an error after 1 MiB without a line break.
func ShortLines(r io.Reader) io.Reader { return &shortLines{bounded{r: r}} }

func (s *shortLines) Read(p []byte) (int, error) {
	n, err := s.bounded.Read(p)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		s.from = s.read - int64(n-i-1)
	}
	return n, err
}
