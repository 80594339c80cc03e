package files

import (
	"bytes"
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ReadCSV reads what [WriteCSV] wrote; name is the name of the file, for errors. The header must have every column of T
// exactly once, in any order, and no other column; optional columns may be missing. Errors name the line and the
// column.
func ReadCSV[T any](r io.Reader, name string) ([]T, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("results: %s: %w", name, err)
	}
	rows, _, bad := readRows[T](text, false)
	if len(bad) > 0 {
		return nil, fmt.Errorf("results: %s: %w", name, bad[0])
	}
	return rows, nil
}

// ReadCSVFile reads a file as [ReadCSV] does.
func ReadCSVFile[T any](path string) ([]T, error) {
	text, err := ReadRegular(path)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return ReadCSV[T](bytes.NewReader(text), path)
}

// ReadCSVFileLenient reads a file that [WriteCSV] wrote, as far as it is readable. Every good line becomes a row, and
// lines has the number of its line. Every bad line becomes an error in bad that names the file, the line and the
// column. A last line without a line break was cut off, and is bad too. A file that cannot be opened, or whose header
// does not belong to T, has no rows and one error.
//
// [ReadCSV] is for files that must be perfect; this function is for folders in which people collected results.
func ReadCSVFileLenient[T any](path string) (rows []T, lines []int, bad []error) {
	text, err := ReadRegular(path)
	if err != nil {
		return nil, nil, []error{fmt.Errorf("results: %w", err)}
	}
	rows, lines, bad = readRows[T](text, true)
	for i, err := range bad {
		bad[i] = fmt.Errorf("results: %s: %w", path, err)
	}
	return rows, lines, bad
}

// CSVLineParser returns a function that reads a row from one line that [WriteCSV] wrote, where the columns of the file
// are those of T in their order. Errors name the column.
//
// It is for files whose lines are rows whatever is in them. A reader of the whole file would take everything after a
// quote that is not closed for one cell.
func CSVLineParser[T any]() func(line string) (T, error) {
	cols := columns[T]()
	return func(line string) (row T, err error) {
		in := csv.NewReader(strings.NewReader(line))
		record, err := in.Read()
		if err != nil {
			return row, errors.Unwrap(err) // without the line of the ParseError, which is always 1
		}
		if len(record) != len(cols) {
			return row, fmt.Errorf("%d columns, want %d", len(record), len(cols))
		}
		value := reflect.ValueOf(&row).Elem()
		for j, cell := range record {
			if err := parse(value.FieldByIndex(cols[j].index), cell); err != nil {
				return row, fmt.Errorf("column %s: %w", cols[j].name, err)
			}
		}
		return row, nil
	}
}

// readRows returns the rows and the numbers of the lines in which they begin. It stops at the first error; if lenient,
// it leaves out the bad lines and goes on.
func readRows[T any](text []byte, lenient bool) (rows []T, lines []int, bad []error) {
	in := csv.NewReader(bytes.NewReader(text))
	// ReuseRecord saves an allocation for each line: the slice is reused, but not the strings in it.
	in.ReuseRecord = true
	order, err := readHeader(in, columns[T](), lenient)
	if err != nil {
		return nil, nil, []error{err}
	}
	for lenient || len(bad) == 0 {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if lenient && errors.Is(err, csv.ErrFieldCount) {
			line, _ := in.FieldPos(0)
			err = fmt.Errorf("line %d: %d columns, want %d", line, len(record), len(order))
		}
		var row T
		if err == nil {
			row, err = parseRow[T](in, record, order)
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		line, _ := in.FieldPos(0)
		rows, lines = append(rows, row), append(lines, line)
	}
	// Without a line break at its end, the last line may lack digits of its last number and still look good.
	if n := len(rows); lenient && n > 0 && len(bad) == 0 && !bytes.HasSuffix(text, []byte("\n")) {
		bad = append(bad, fmt.Errorf("line %d: no line break at its end, want one: it may be half written", lines[n-1]))
		rows, lines = rows[:n-1], lines[:n-1]
	}
	return rows, lines, bad
}

// readHeader reads the first line of a file and returns the columns in its order.
func readHeader(in *csv.Reader, cols []column, lenient bool) (order []column, err error) {
	want := strings.Join(header(cols), ",")
	names, err := in.Read()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("empty, want the header %s", want)
		if lenient {
			err = fmt.Errorf("line 1: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	line, _ := in.FieldPos(0)
	for j, name := range names {
		i := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("line %d: unknown column %q, want %s", line, name, want)
		}
		if slices.Contains(names[:j], name) {
			return nil, fmt.Errorf("line %d: column %q twice, want it once", line, name)
		}
		order = append(order, cols[i])
	}
	for _, c := range cols {
		if !c.optional && !slices.Contains(names, c.name) {
			return nil, fmt.Errorf("line %d: no column %q, want %s", line, c.name, want)
		}
	}
	return order, nil
}

// parseRow converts the record that was just read to a row; order has the column of each cell.
func parseRow[T any](in *csv.Reader, record []string, order []column) (row T, err error) {
	value := reflect.ValueOf(&row).Elem()
	for j, cell := range record {
		if err := parse(value.FieldByIndex(order[j].index), cell); err != nil {
			line, _ := in.FieldPos(j)
			return row, fmt.Errorf("line %d: column %s: %w", line, order[j].name, err)
		}
	}
	return row, nil
}

// parse converts a cell and stores the value in v, an addressable field.
func parse(v reflect.Value, cell string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(cell))
	}
	var want string // a format for the number of bits
	var err error   // from strconv
	bits := 0
	switch {
	case v.Kind() == reflect.String:
		v.SetString(cell)
	case v.Kind() == reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(cell)
		want = "true or false"
		v.SetBool(b)
	case v.CanInt():
		var n int64
		bits, want = v.Type().Bits(), "a whole number of %d bits"
		n, err = strconv.ParseInt(cell, 10, bits)
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		bits, want = v.Type().Bits(), "a whole number ≥ 0 of %d bits"
		n, err = strconv.ParseUint(cell, 10, bits)
		v.SetUint(n)
	case v.CanFloat():
		var x float64
		bits, want = v.Type().Bits(), "a number of %d bits"
		x, err = strconv.ParseFloat(cell, bits)
		v.SetFloat(x)
	default:
		return fmt.Errorf("field of type %s, want text, a number or a bool", v.Type())
	}
	if err == nil {
		return nil
	}
	if bits > 0 { // only after an error, as formatting a text takes longer than reading a cell
		want = fmt.Sprintf(want, bits)
	}
	return Wanted(cell, want, err)
}

// Wanted returns an error that says what a cell holds and should hold. cause is an error of strconv, whose own text
// would repeat the cell.
func Wanted(cell, want string, cause error) error {
	if n, ok := errors.AsType[*strconv.NumError](cause); ok {
		cause = n.Err
	}
	return fmt.Errorf("%q, want %s: %w", cell, want, cause)
}
