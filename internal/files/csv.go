package files

import (
	"cmp"
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unique"
)

// WriteCSV writes a header and the rows. T is a struct. Its exported fields with a tag `csv:"name"` are the columns, in
// order; an embedded struct contributes its columns at its place. Fields are strings, integers, floats, bools, or types
// that marshal themselves to text. A file may lack a column with the tag `csv:"name,optional"`.
//
// Floats are written as the shortest decimal that reads back as the same number of their type, or as NaN, +Inf and
// -Inf. A missing [Optional] is an empty cell. Line breaks inside a text become \n, the only one that CSV readers keep,
// and formulas and control characters do nothing, see [CSVText].
func WriteCSV[T any](w io.Writer, rows []T) error {
	if err := encodeCSV(w, rows); err != nil {
		return fmt.Errorf("results: csv: %w", err)
	}
	return nil
}

// WriteCSVFile writes rows to a file as [WriteCSV] does, and atomically as [WriteFile] does.
func WriteCSVFile[T any](path string, rows []T, before ...Before) error {
	return WriteFile(path, func(w io.Writer) error { return encodeCSV(w, rows) }, before...)
}

// mostBad is how many bad lines of a file are named.
const mostBad = 100

type column struct {
	name     string
	optional bool  // files may lack the column
	index    []int // path to the field, through embedded structs
}

// columns returns the columns of T in the order of its fields.
func columns[T any]() (found []column) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if tag, tagged := f.Tag.Lookup("csv"); tagged {
			name, optional := strings.CutSuffix(tag, ",optional")
			found = append(found, column{name, optional, f.Index})
		}
	}
	return found
}

func header(cols []column) []string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	return names
}

// CSVHeader returns the names of the columns that [WriteCSV] writes for T.
func CSVHeader[T any]() []string { return header(columns[T]()) }

// CSVRecords returns the cells that [WriteCSV] writes, row by row; each slice is the caller's.
func CSVRecords[T any](rows []T) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		cols := columns[T]()
		for i := range rows {
			record, row := make([]string, len(cols)), reflect.ValueOf(&rows[i]).Elem()
			var err error
			for j, c := range cols {
				if record[j], err = format(row.FieldByIndex(c.index)); err != nil {
					err = fmt.Errorf("row %d: column %s: %w", i+1, c.name, err)
					break
				}
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// encodeCSV does the work of [WriteCSV]. Its errors do not name the package.
func encodeCSV[T any](w io.Writer, rows []T) error {
	out := csv.NewWriter(w)
	if err := out.Write(CSVHeader[T]()); err != nil {
		return err
	}
	for record, err := range CSVRecords(rows) {
		if err != nil {
			return err
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// lineBreaks replaces line breaks by \n: encoding/csv reads \r\n as \n, and \r too if a \n follows it in the file.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// format returns the text of a cell; v is an addressable field.
func format(v reflect.Value) (string, error) {
	if m, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		return CSVText(string(text)), err
	}
	switch {
	case v.Kind() == reflect.String:
		return CSVText(v.String()), nil
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), nil
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()), nil
	}
	return "", fmt.Errorf("field of type %s, want text, a number or a bool", v.Type())
}

// ReadCSV reads what [WriteCSV] wrote; name is the name of the file, for errors. The header must have every column of T
// exactly once, in any order, and no other; optional columns may be missing. Errors name the line and the column. It
// reads up to the first bad row.
func ReadCSV[T any](r io.Reader, name string) ([]T, error) {
	rows, _, bad := readRows[T](r, false)
	if len(bad) > 0 {
		return nil, fmt.Errorf("results: %s: %w", name, bad[0])
	}
	return rows, nil
}

// ReadCSVFile reads a file of at most so many bytes as [ReadCSV] does.
func ReadCSVFile[T any](path string, most int64) ([]T, error) {
	f, _, err := OpenUpTo(path, most)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	return ReadCSV[T](f, path)
}

// fits refuses a row that cannot follow the good rows before it in a file; its line is a bad one then.
type fits[T any] func(row *T, before []T) error

// ReadCSVFileLenient reads a file of at most so many bytes that [WriteCSV] wrote, as far as it is readable. Every good
// line becomes a row, and lines has the number of its line. Every bad line becomes an error in bad that names the file,
// the line and the column. A last line without a line break was cut off, and is bad too. A file that cannot be opened,
// or whose header does not belong to T, has no rows and one error. After [mostBad] bad lines the rest of the file is
// not read.
//
// [ReadCSV] is for files that must be perfect; this function is for folders in which people collected results.
func ReadCSVFileLenient[T any](
	path string, most int64, fit ...fits[T],
) (rows []T, lines []int, bad []error) {
	f, _, err := OpenUpTo(path, most)
	if err != nil {
		return nil, nil, []error{fmt.Errorf("results: %w", err)}
	}
	defer func() { _ = f.Close() }() // nothing was written
	rows, lines, bad = readRows(f, true, fit...)
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
		_, err = fill(&row, record, cols)
		return row, err
	}
}

// readRows returns the rows and the numbers of the lines in which they begin. It stops at the first error; if lenient,
// it leaves out the bad lines and goes on. It reads row by row, so that what is no CSV ends early.
func readRows[T any](r io.Reader, lenient bool, fit ...fits[T]) (rows []T, lines []int, bad []error) {
	in, err := NewCSVReader(r)
	if err != nil {
		return nil, nil, []error{fmt.Errorf("line 1: %w", err)}
	}
	at := 1 // the line of the last row
	// ReuseRecord saves an allocation for each line: the slice is reused, but not the strings in it.
	in.ReuseRecord = true
	order, err := readHeader(in, columns[T](), lenient)
	if errors.Is(err, errRecord) {
		err = fmt.Errorf("line 1: %w", err)
	}
	if err != nil {
		return nil, nil, []error{err}
	}
	for lenient || len(bad) == 0 {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, parsed := errors.AsType[*csv.ParseError](err); err != nil && !parsed { // the file cannot be read on
			bad = append(bad, fmt.Errorf("line %d: %w", at+1, err))
			break
		}
		if len(bad) == mostBad {
			bad = append(bad, fmt.Errorf("more than %d bad lines: the rest is not read", mostBad))
			break
		}
		if lenient && errors.Is(err, csv.ErrFieldCount) {
			line, _ := in.FieldPos(0)
			err = fmt.Errorf("line %d: %d columns, want %d", line, len(record), len(order))
		}
		var row T
		if err == nil {
			var cell int
			cell, err = fill(&row, record, order)
			for _, f := range fit {
				err = cmp.Or(err, f(&row, rows))
			}
			if at, _ = in.FieldPos(cell); err != nil {
				err = fmt.Errorf("line %d: %w", at, err)
			}
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		rows, lines = append(rows, row), append(lines, at)
	}
	// Without a line break at its end, the last line may lack digits of its last number and still look good.
	if n := len(rows); lenient && n > 0 && len(bad) == 0 && in.in.last != '\n' && !in.empty {
		bad = append(bad, fmt.Errorf("line %d: no line break at its end, want one: it may be half written", lines[n-1]))
		rows, lines = rows[:n-1], lines[:n-1]
	}
	return rows, lines, bad
}

// readHeader reads the first line of a file and returns the columns in its order.
func readHeader(in *CSVReader, cols []column, lenient bool) (order []column, err error) {
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
	if err := CheckCommas(names); err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	for j, name := range names {
		i := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("line %d: unknown column %.80q, want %s", line, name, want)
		}
		if slices.Contains(names[:j], name) {
			return nil, fmt.Errorf("line %d: column %.80q twice, want it once", line, name)
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

// fill converts the cells of a record into a row; order has the column of each. at is the cell of the error.
func fill[T any](row *T, record []string, order []column) (at int, err error) {
	value := reflect.ValueOf(row).Elem()
	for at, cell := range record {
		if err := parse(value.FieldByIndex(order[at].index), cell); err != nil {
			return at, fmt.Errorf("column %s: %w", order[at].name, err)
		}
	}
	return 0, nil
}

// parse converts a cell and stores the value in v, an addressable field.
func parse(v reflect.Value, cell string) error {
	cell = plain(cell)
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(cell))
	}
	var want string // a format for the number of bits
	var err error   // from strconv
	bits := 0
	switch {
	case v.Kind() == reflect.String:
		v.SetString(unique.Make(cell).Value()) // a part of the line would keep all of it in memory, in every row
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
		x, err = ParseNumber(cell, bits)
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

// Wanted returns an error that says what a cell holds and should hold. cause is of strconv, and would repeat the cell.
func Wanted(cell, want string, cause error) error {
	if n, ok := errors.AsType[*strconv.NumError](cause); ok {
		cause = n.Err
	}
	return fmt.Errorf("%.80q, want %s: %w", cell, want, cause)
}

// Optional is a number that may be missing, such as the standard deviation of one value, or a number that no paper
// prints. The zero Optional is missing. A number that is present may be NaN or infinite: a loss that diverged.
type Optional struct {
	Value float64 // 0 if missing
	Valid bool
}

// Some returns an Optional that is present.
func Some(v float64) Optional { return Optional{Value: v, Valid: true} }

// Or returns the number, or other if it is missing.
func (o Optional) Or(other float64) float64 {
	if o.Valid {
		return o.Value
	}
	return other
}

// String returns the shortest decimal that reads back as the number, or "" if it is missing.
func (o Optional) String() string {
	if !o.Valid {
		return ""
	}
	return strconv.FormatFloat(o.Value, 'g', -1, 64)
}

// MarshalText returns the text of [Optional.String], for CSV and JSON.
func (o Optional) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (o *Optional) UnmarshalText(text []byte) error {
	*o = Optional{}
	if len(text) == 0 {
		return nil
	}
	v, err := ParseNumber(string(text), 64)
	if err != nil {
		return Wanted(string(text), "a number of 64 bits", err)
	}
	*o = Some(v)
	return nil
}
