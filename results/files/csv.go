package files

import (
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// WriteCSV writes a header and the rows. T is a struct; its exported fields tagged `csv:"name"` are the columns, in
// order, those of embedded structs in their place. Fields are strings, integers, floats, bools, or anything that
// marshals itself to text.
//
// Floats are the shortest decimal that reads back as the same number of their own type; NaN, +Inf and -Inf are printed
// as such. A missing [Optional] is an empty cell. Line breaks inside a text become \n, the only one CSV readers keep.
func WriteCSV[T any](w io.Writer, rows []T) error {
	if err := encodeCSV(w, rows); err != nil {
		return fmt.Errorf("results: csv: %w", err)
	}
	return nil
}

// WriteCSVFile is [WriteCSV] to a file, through [WriteFile].
func WriteCSVFile[T any](path string, rows []T) error {
	return WriteFile(path, func(w io.Writer) error { return encodeCSV(w, rows) })
}

// ReadCSV reads what [WriteCSV] wrote; name is the file's, for errors. The header must have every column of T once and
// no other, in any order. Errors name the line and the column.
func ReadCSV[T any](r io.Reader, name string) ([]T, error) {
	rows, err := decodeCSV[T](r)
	if err != nil {
		return nil, fmt.Errorf("results: %s: %w", name, err)
	}
	return rows, nil
}

// ReadCSVFile is [ReadCSV] of a file.
func ReadCSVFile[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	return ReadCSV[T](f, path)
}

// column is one field of a row type.
type column struct {
	name  string
	index []int // path to the field, through embedded structs
}

// columns returns the columns of T in the order of its fields.
func columns[T any]() ([]column, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("row type %s, want a struct", t)
	}
	var found []column
	for _, f := range reflect.VisibleFields(t) {
		name, tagged := f.Tag.Lookup("csv")
		if !tagged {
			continue
		}
		if slices.ContainsFunc(found, func(c column) bool { return c.name == name }) {
			return nil, fmt.Errorf("row type %s: two fields are column %q", t, name)
		}
		found = append(found, column{name, f.Index})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("row type %s: no field has a csv tag", t)
	}
	return found, nil
}

// header returns the columns' names.
func header(cols []column) []string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	return names
}

func encodeCSV[T any](w io.Writer, rows []T) error {
	cols, err := columns[T]()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if err := out.Write(header(cols)); err != nil {
		return err
	}
	record := make([]string, len(cols))
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for j, c := range cols {
			if record[j], err = format(row.FieldByIndex(c.index)); err != nil {
				return fmt.Errorf("row %d: column %s: %w", i+1, c.name, err)
			}
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func decodeCSV[T any](r io.Reader) ([]T, error) {
	cols, err := columns[T]()
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(r)
	in.ReuseRecord = true
	first, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("empty, want the header %s", strings.Join(header(cols), ","))
	}
	if err != nil {
		return nil, err
	}
	order, err := match(first, cols)
	if err != nil {
		line, _ := in.FieldPos(0)
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	var rows []T
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		var row T
		value := reflect.ValueOf(&row).Elem()
		for j, cell := range record {
			if err := parse(value.FieldByIndex(order[j].index), cell); err != nil {
				line, _ := in.FieldPos(j)
				return nil, fmt.Errorf("line %d: column %s: %w", line, order[j].name, err)
			}
		}
		rows = append(rows, row)
	}
}

// match returns the columns in the order of a file's header.
func match(names []string, cols []column) ([]column, error) {
	order := make([]column, len(names))
	for j, name := range names {
		i := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown column %q, want %s", name, strings.Join(header(cols), ","))
		}
		if slices.Contains(names[:j], name) {
			return nil, fmt.Errorf("column %q twice, want it once", name)
		}
		order[j] = cols[i]
	}
	for _, c := range cols {
		if !slices.Contains(names, c.name) {
			return nil, fmt.Errorf("no column %q, want %s", c.name, strings.Join(header(cols), ","))
		}
	}
	return order, nil
}

// lineBreaks are the ones encoding/csv reads back as \n, and the lone one it would read back as \n next to another.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// format returns the cell of an addressable field.
func format(v reflect.Value) (string, error) {
	if m, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		return lineBreaks.Replace(string(text)), err
	}
	switch {
	case v.Kind() == reflect.String:
		return lineBreaks.Replace(v.String()), nil
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

// parse sets an addressable field from its cell.
func parse(v reflect.Value, cell string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(cell))
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(cell)
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(cell)
		if err != nil {
			return Wanted(cell, "true or false", err)
		}
		v.SetBool(b)
	case v.CanInt():
		n, err := strconv.ParseInt(cell, 10, v.Type().Bits())
		if err != nil {
			return Wanted(cell, fmt.Sprintf("a whole number of %d bits", v.Type().Bits()), err)
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(cell, 10, v.Type().Bits())
		if err != nil {
			return Wanted(cell, fmt.Sprintf("a whole number ≥ 0 of %d bits", v.Type().Bits()), err)
		}
		v.SetUint(n)
	case v.CanFloat():
		x, err := parseFloat(cell, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetFloat(x)
	default:
		return fmt.Errorf("field of type %s, want text, a number or a bool", v.Type())
	}
	return nil
}

func parseFloat(text string, bits int) (float64, error) {
	x, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return 0, Wanted(text, fmt.Sprintf("a number of %d bits", bits), err)
	}
	return x, nil
}

// Wanted says what a cell holds and should hold; cause is one of strconv's, whose own text repeats the cell.
func Wanted(cell, want string, cause error) error {
	if n, ok := errors.AsType[*strconv.NumError](cause); ok {
		cause = n.Err
	}
	return fmt.Errorf("%q, want %s: %w", cell, want, cause)
}
