package files

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

type inner struct {
	Name string `csv:"name"`
}

type sample struct {
	inner
	I      int8      `csv:"i"`
	U      uint32    `csv:"u"`
	F      float64   `csv:"f"`
	G      float32   `csv:"g"`
	B      bool      `csv:"b"`
	O      Optional  `csv:"o"`
	T      time.Time `csv:"t"`
	hidden int       // no column
}

const sampleHeader = "name,i,u,f,g,b,o,t\n"

func TestWriteCSVCells(t *testing.T) {
	when := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name string
		row  sample
		want string
	}{
		{"zero", sample{}, ",0,0,0,0,false,,0001-01-01T00:00:00Z\n"},
		{
			"float32 shortest by its own width",
			sample{F: float64(float32(0.1)), G: 0.1, T: when},
			",0,0,0.10000000149011612,0.1,false,,2025-03-01T12:00:00Z\n",
		},
		{
			"extremes",
			sample{I: -128, U: math.MaxUint32, F: 5e-324, G: math.MaxFloat32, B: true, T: when},
			",-128,4294967295,5e-324,3.4028235e+38,true,,2025-03-01T12:00:00Z\n",
		},
		{
			"diverged",
			sample{F: math.NaN(), G: float32(math.Inf(1)), O: Some(math.Inf(-1)), T: when},
			",0,0,NaN,+Inf,false,-Inf,2025-03-01T12:00:00Z\n",
		},
		{"zero that is there", sample{O: Some(0), T: when}, ",0,0,0,0,false,0,2025-03-01T12:00:00Z\n"},
		{
			"quoting",
			sample{inner: inner{"a,\"b\"\r\nc\rd"}, T: when},
			"\"a,\"\"b\"\"\nc\nd\",0,0,0,0,false,,2025-03-01T12:00:00Z\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			must.OK(t, WriteCSV(&b, []sample{test.row}))
			if got, want := b.String(), sampleHeader+test.want; got != want {
				t.Errorf("row %+v:\ngot  %q\nwant %q", test.row, got, want)
			}
			back, err := ReadCSV[sample](bytes.NewReader(b.Bytes()), "f.csv")
			if err != nil || len(back) != 1 {
				t.Fatalf("read back: %d rows, %v, want 1", len(back), err)
			}
			var again bytes.Buffer // compared as text: NaN is not equal to itself
			if err := WriteCSV(&again, back); err != nil || again.String() != b.String() {
				t.Errorf("written again: got %q, %v, want %q", again.String(), err, b.String())
			}
		})
	}
}

func TestReadCSVOrder(t *testing.T) {
	text := "t,o,b,g,f,u,i,name\n2025-03-01T12:00:00Z,1.5,true,2,3,4,5,six\n"
	got, err := ReadCSV[sample](strings.NewReader(text), "f.csv")
	want := []sample{{inner{"six"}, 5, 4, 3, 2, true, Some(1.5), time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), 0}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("columns in another order: got %+v, %v, want %+v", got, err, want)
	}
}

func TestReadCSVMalformed(t *testing.T) {
	const ok = "n,1,2,3,4,true,5,2025-03-01T12:00:00Z\n"
	wanted := func(line int, column, cell, want string) string {
		return fmt.Sprintf("line %d: column %s: %q, want a %s", line, column, cell, want)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `empty, want the header name,i,u,f,g,b,o,t`},
		{"unknown column", "name,i,u,f,g,b,o,zeit\n" + ok, `line 1: unknown column "zeit", want name,i,u,f,g,b,o,t`},
		{"missing column", "name,i,u,f,g,b,o\n", `line 1: no column "t", want name,i,u,f,g,b,o,t`},
		{"column twice", "name,i,u,f,g,b,o,o\n", `line 1: column "o" twice, want it once`},
		{"cut off", sampleHeader + ok + "n,1,2", `record on line 3: wrong number of fields`},
		{"quote not closed", sampleHeader + "\"n,1,2\n", `parse error on line 2`},
		{"text", sampleHeader + ok + "n,one" + ok[3:], wanted(3, "i", "one", "whole number of 8 bits: invalid syntax")},
		{"large", sampleHeader + "n,128" + ok[3:], wanted(2, "i", "128", "whole number of 8 bits: value out of range")},
		{"below 0", sampleHeader + "n,1,-2" + ok[5:], wanted(2, "u", "-2", "whole number ≥ 0 of 32 bits: invalid")},
		{"no number", sampleHeader + "n,1,2," + ok[7:], wanted(2, "f", "", "number of 64 bits: invalid syntax")},
		{
			"float32 overflow", sampleHeader + "n,1,2,3,1e39" + ok[9:],
			wanted(2, "g", "1e39", "number of 32 bits: value out of range"),
		},
		{"bool", sampleHeader + "n,1,2,3,4,ja" + ok[14:], `line 2: column b: "ja", want true or false: invalid syntax`},
		{"optional", sampleHeader + "n,1,2,3,4,true,x" + ok[16:], wanted(2, "o", "x", "number of 64 bits: invalid")},
		{
			"line after a text of two", sampleHeader + "\"n\nn\"" + ok[1:] + "n,x" + ok[3:],
			wanted(4, "i", "x", "whole number of 8 bits: invalid syntax"),
		},
	} {
		rows, err := ReadCSV[sample](strings.NewReader(c.text), "f.csv")
		if want := "results: f.csv: " + c.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: text %q:\ngot  %v, %v\nwant %s", c.name, c.text, rows, err, want)
		}
	}
}

func TestCSVRowType(t *testing.T) {
	var b bytes.Buffer
	err := WriteCSV(&b, []struct {
		A []int `csv:"a"`
	}{{}})
	if want := "results: csv: row 1: column a: field of type []int, want text, a number or a bool"; err == nil ||
		err.Error() != want {
		t.Errorf("slice: got %v, want %s", err, want)
	}
}

func TestReadCSVFileMissing(t *testing.T) {
	_, err := ReadCSVFile[sample](t.TempDir()+"/none.csv", MostTable)
	if err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("missing file: got %v, want an error that names it", err)
	}
}

// What is whole is read, and what is not is named by file, line and column.
func TestReadCSVLenient(t *testing.T) {
	type row struct {
		A int     `csv:"a"`
		B float64 `csv:"b"`
	}
	for name, c := range map[string]struct {
		text string
		rows string
		bad  []string
	}{
		"all well":       {"a,b\n1,0.5\n2,1\n", "[{1 0.5} {2 1}]", nil},
		"other order":    {"b,a\n0.5,1\n", "[{1 0.5}]", nil},
		"no file at all": {"", "[]", []string{"f.csv: line 1: empty, want the header a,b"}},
		"column missing": {"a\n1\n", "[]", []string{`f.csv: line 1: no column "b"`}},
		"other schema":   {"a,c\n1,2\n", "[]", []string{`f.csv: line 1: unknown column "c"`}},
		"no number":      {"a,b\n1,x\n2,1\n", "[{2 1}]", []string{`f.csv: line 2: column b: "x"`}},
		"half a line":    {"a,b\n1,0.5\n2", "[{1 0.5}]", []string{"f.csv: line 3: 1 columns, want 2"}},
		"cut in a value": {"a,b\n1,0.5\n2,0.7", "[{1 0.5}]", []string{"f.csv: line 3: no line break at its end"}},
		"two heads":      {"a,b\n1,0.5\na,b\n2,1\n", "[{1 0.5} {2 1}]", []string{`f.csv: line 3: column a: "a"`}},
		"open quote":     {"a,b\n1,0.5\n\"2,1\n", "[{1 0.5}]", []string{`line 3`}},
	} {
		path := filepath.Join(t.TempDir(), "f.csv")
		must.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		rows, lines, bad := ReadCSVFileLenient[row](path, MostTable)
		if got := fmt.Sprint(rows); got != c.rows || len(lines) != len(rows) || len(bad) != len(c.bad) {
			t.Errorf("%s: %s in lines %v, %v, want %s and %d complaints", name, got, lines, bad, c.rows, len(c.bad))
			continue
		}
		for i, want := range c.bad {
			if !strings.Contains(bad[i].Error(), want) || !strings.Contains(bad[i].Error(), "f.csv") {
				t.Errorf("%s: %q, want %q in it", name, bad[i], want)
			}
		}
	}
}

type fuzzed struct {
	Text  string   `csv:"text"`
	Other string   `csv:"other"`
	X     float64  `csv:"x"`
	Y     Optional `csv:"y"`
	N     int64    `csv:"n"`
}

// FuzzCSV: what is written is read back, but for line breaks, of which one kind is kept, and hidden characters.
func FuzzCSV(f *testing.F) {
	f.Add("a", `b"c`, 0.1, int64(1), true)
	f.Add("\ufeff=cmd\r\n", "\r\r\n", math.Inf(1), int64(math.MinInt64), false)
	f.Add("", "", math.NaN(), int64(0), true)
	f.Fuzz(func(t *testing.T, text, other string, x float64, n int64, valid bool) {
		row := fuzzed{Text: text, Other: other, X: x, N: n, Y: Optional{Valid: valid}}
		if valid {
			row.Y.Value = x
		}
		var b bytes.Buffer
		must.OK(t, WriteCSV(&b, []fuzzed{row, row}))
		rows, err := ReadCSV[fuzzed](bytes.NewReader(b.Bytes()), "x.csv")
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d rows, %v of %q", len(rows), err, b.String())
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		got := rows[1]
		kept := func(text string) string { return Printable(lineBreaks.Replace(text)) }
		if got.Text != kept(text) || got.Other != kept(other) || got.N != n ||
			!same(got.X, x) || got.Y.Valid != valid || !same(got.Y.Value, row.Y.Value) {
			t.Errorf("got %+v, want %+v from %q", got, row, b.String())
		}
	})
}
