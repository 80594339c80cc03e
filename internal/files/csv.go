package files

import (
	"encoding"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"
)

// WriteCSV writes a header and the rows. T is a struct. Its exported fields with a tag `csv:"name"` are the columns, in
// order; an embedded struct contributes its columns at its place. Fields are strings, integers, floats, bools, or types
// that marshal themselves to text. A file may lack a column with the tag `csv:"name,optional"`.
//
// Floats are written as the shortest decimal that reads back as the same number of their type, or as NaN, +Inf and
// -Inf. A missing [Optional] is an empty cell. Line breaks inside a text become \n, the only one that CSV readers keep.
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

// column is one field of a row type.
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

// header returns the names of the columns.
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
