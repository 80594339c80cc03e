package files

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// SalvageCSV reads what can be read of what [WriteCSV] wrote: every line that is whole and makes sense is a row, and every
// other one an error that names the file, the line and the column. A file whose header is not that of T has no rows and
// one error. A last line without a line break was cut off and is an error too. lines are the rows' places in the file.
//
// [ReadCSV] is for a program's own files, where one bad line makes the rest worthless; this is for looking at what people
// have lying around.
func SalvageCSV[T any](r io.Reader, name string) (rows []T, lines []int, bad []error) {
	complain := func(err error) { bad = append(bad, fmt.Errorf("results: %s: %w", name, err)) }
	cols, err := columns[T]()
	if err != nil {
		complain(err)
		return nil, nil, bad
	}
	end := &lastByte{r: bufio.NewReaderSize(r, 1<<16)}
	in := csv.NewReader(end)
	in.ReuseRecord = true
	first, err := in.Read()
	if errors.Is(err, io.EOF) {
		complain(fmt.Errorf("line 1: empty, want the header %s", strings.Join(header(cols), ",")))
		return nil, nil, bad
	}
	if err != nil {
		complain(err)
		return nil, nil, bad
	}
	order, err := match(first, cols)
	if err != nil {
		complain(fmt.Errorf("line 1: %w", err))
		return nil, nil, bad
	}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, ok := errors.AsType[*csv.ParseError](err); ok {
			if errors.Is(err, csv.ErrFieldCount) {
				line, _ := in.FieldPos(0)
				err = fmt.Errorf("line %d: %d columns, want %d", line, len(record), len(order))
			}
			complain(err)
			continue
		}
		if err != nil { // the file cannot be read on
			complain(err)
			return rows, lines, bad
		}
		line, _ := in.FieldPos(0)
		row, err := parseRow[T](record, order)
		if err != nil {
			complain(fmt.Errorf("line %d: %w", line, err))
			continue
		}
		rows, lines = append(rows, row), append(lines, line)
	}
	if n := len(rows); n > 0 && len(bad) == 0 && end.last != '\n' {
		complain(fmt.Errorf("line %d: no line break at its end, want one: it may be half written", lines[n-1]))
		rows, lines = rows[:n-1], lines[:n-1]
	}
	return rows, lines, bad
}

// SalvageCSVFile is [SalvageCSV] of a file. A file that cannot be opened is an error like others.
func SalvageCSVFile[T any](path string) (rows []T, lines []int, bad []error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, []error{fmt.Errorf("results: %w", err)}
	}
	defer func() { _ = f.Close() }() // nothing was written
	return SalvageCSV[T](f, path)
}

// parseRow makes a row of a record, whose columns come in order.
func parseRow[T any](record []string, order []column) (row T, err error) {
	value := reflect.ValueOf(&row).Elem()
	for j, cell := range record {
		if err := parse(value.FieldByIndex(order[j].index), cell); err != nil {
			return row, fmt.Errorf("column %s: %w", order[j].name, err)
		}
	}
	return row, nil
}

// lastByte remembers the last byte read.
type lastByte struct {
	r    io.Reader
	last byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 {
		l.last = p[n-1]
	}
	return n, err
}
