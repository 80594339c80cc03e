package track

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/internal/files"
)

// schema is the version of the file format. Every row has it, so that a program can leave out rows of another version.
// Rows of schema 2 are read too: they end before the columns host and machine.
const schema, schemaBefore = 3, 2

// row is one line of a file: one metric of one run. docs/files.md describes the columns.
type row struct {
	Schema  int    `csv:"schema"`
	Run     string `csv:"run"`
	Time    string `csv:"time"` // RFC 3339, in whole seconds
	Version string `csv:"version"`
	Go      string `csv:"go"`
	Conditions
	Fingerprint string `csv:"fingerprint"`
	Machine
	Metric    string  `csv:"metric"`
	Unit      string  `csv:"unit"`
	Wall      samples `csv:"wall"`
	Processor samples `csv:"processor"`
	Reference samples `csv:"reference"`
	Host      string  `csv:"host"`
	Name      string  `csv:"machine"`

	line int
	when time.Time // Time
}

// newColumns ends the header of schema 3, and not that of schema 2.
const newColumns = ",host,machine"

// header1 was the header of schema 1.
const header1 = "schema,run,time,version,go,clock_mhz,fingerprint,suite,os,cpu,cpus,threads,engine,device,driver," +
	"clocks,precision,metric,unit,samples"

// header returns the first line of a file.
func header() string { return strings.Join(files.CSVHeader[row](), ",") }

// samples are positive numbers, in a file with six digits and blanks between them.
type samples []float64

// MarshalText returns the numbers for a file.
func (s samples) MarshalText() ([]byte, error) {
	words := make([]string, len(s))
	for i, x := range s {
		words[i] = strconv.FormatFloat(x, 'g', 6, 64)
	}
	return []byte(strings.Join(words, " ")), nil
}

// UnmarshalText reads what MarshalText wrote.
func (s *samples) UnmarshalText(text []byte) error {
	*s = nil
	for word := range strings.FieldsSeq(string(text)) {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil || !positive(x) {
			return notPositive(word)
		}
		*s = append(*s, x)
	}
	return nil
}

// positive reports whether a number is above 0, and so far from 0 and from infinity that a ratio of two is neither.
func positive(x float64) bool { return x >= leastNumber && x <= mostNumber }

// The range of [positive].
const leastNumber, mostNumber = 1e-30, 1e30

// notPositive returns the error about a text that is no [positive] number.
func notPositive(text string) error {
	return fmt.Errorf("%.40q, want a positive number, %g … %g", text, leastNumber, mostNumber)
}

// encode writes the rows of a night, one for each metric.
func encode(w io.Writer, m Machine, n Night) error {
	rows := make([]row, len(n.Values))
	for i, v := range n.Values {
		rows[i] = row{
			Schema: schema, Run: n.Run, Time: n.Time.UTC().Format(time.RFC3339), Version: n.Version, Go: n.Go,
			Conditions: n.Conditions, Fingerprint: m.Fingerprint(), Machine: m, Metric: v.Metric, Unit: v.Unit,
			Wall: v.Wall, Processor: v.Processor, Reference: v.Reference, Host: n.Host, Name: m.Name,
		}
	}
	out := csv.NewWriter(w)
	for cells, err := range files.CSVRecords(rows) {
		if err != nil {
			return err
		}
		for i, c := range cells {
			cells[i] = files.OneLine(c) // every row must be one line
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// mostBad is how many bad lines of a history are named.
const mostBad = 100

// readRows returns the good rows of a file, an error for each bad one, and the line of the last of these. It takes
// every line for one row, so that a bad line cannot spoil the next: after a quote that is not closed,
// [files.ReadCSVFileLenient] would read on.
func readRows(in io.Reader, path string) (rows []row, bad []error, lastBad int) {
	complain := func(line int, err error) {
		lastBad = line
		bad = append(bad, fmt.Errorf("track: %s: line %d: %w", path, line, err))
	}
	lines := bufio.NewReader(files.ShortLines(in))
	parse := files.CSVLineParser[row]()
	for n, last := 1, false; !last; n++ {
		line, err := lines.ReadString('\n')
		last = err != nil
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err == nil && n == 1 {
			err = checkHeader(line)
		}
		if err != nil { // no history, or a file that cannot be read on
			complain(n, err)
			return rows, bad, lastBad
		}
		cells := strings.TrimRight(line, "\r\n")
		if n == 1 || cells == "" {
			continue
		}
		r, err := row{}, errors.New("half written, want a whole line")
		// A row of another version may have other columns, so the version is checked before them.
		switch version, _, _ := strings.Cut(cells, ","); {
		case !strings.HasSuffix(line, "\n"):
			err = errors.New("no line break at its end, want one: it is half written")
		case strings.HasSuffix(cells, halfWritten):
		case strings.Trim(version, `"`) == strconv.Itoa(schema):
			r, err = parse(cells)
		case strings.Trim(version, `"`) == strconv.Itoa(schemaBefore):
			if r, err = parse(cells + ",,"); err != nil {
				err = fmt.Errorf("schema %d: %w", schemaBefore, err)
			}
		default:
			err = fmt.Errorf("column schema: %.40q, want %d", version, schema)
		}
		if err == nil {
			r.Machine.Name = r.Name
			err = r.check()
		}
		if err != nil && len(bad) == mostBad {
			complain(n, fmt.Errorf("more than %d bad lines: the rest is not read", mostBad))
			return rows, bad, lastBad
		}
		if err != nil {
			complain(n, err)
			continue
		}
		r.line = n
		rows = append(rows, r)
	}
	return rows, bad, lastBad
}

// checkHeader returns an error unless the first line of a file is our header.
func checkHeader(text string) error {
	first, _, _ := strings.Cut(text, "\n")
	plain, err := files.Text([]byte(first))
	if err != nil {
		return err
	}
	first = strings.TrimRight(string(plain), "\r")
	switch first {
	case header(), strings.TrimSuffix(header(), newColumns):
		return nil
	case "":
		return fmt.Errorf("empty, want the header %s", header())
	case header1:
		return errors.New("a history of schema 1, whose nights have no reference, want schema 3: " +
			"keep it elsewhere; rollcall track run starts a new one")
	}
	names := strings.Split(first, ",")
	if err := files.CheckCommas(names); err != nil {
		return err
	}
	for _, c := range files.CSVHeader[row]() {
		if !slices.Contains(names, c) {
			return fmt.Errorf("no column %q, want the header %s", c, header())
		}
	}
	return fmt.Errorf("header %.200q, want %s", first, header())
}

// check returns what is wrong in the cells of a row, each of which was read, and reads its time. Processor time and
// reference belong together: there are as many numbers of each as of wall time, or none.
func (r *row) check() (err error) {
	for _, c := range []struct{ column, text string }{{"run", r.Run}, {"metric", r.Metric}, {"unit", r.Unit}} {
		if c.text == "" {
			return fmt.Errorf("column %s: empty, want a text", c.column)
		}
	}
	if r.when, err = time.Parse(time.RFC3339, r.Time); err != nil {
		return fmt.Errorf("column time: %.40q, want 2006-01-02T15:04:05Z", r.Time)
	}
	if r.ClockMHz.Valid && !positive(r.ClockMHz.Value) {
		return fmt.Errorf("column clock_mhz: %w", notPositive(r.ClockMHz.String()))
	}
	for _, c := range []struct {
		column string
		value  files.Optional
		most   float64
	}{
		{"load", r.Load, math.MaxFloat64},
		{"steal", r.Steal, 1},
		{"others", r.Others, 1},
		{"card_users", r.CardUsers, math.MaxFloat64},
	} {
		if x := c.value.Value; !(x >= 0 && x <= c.most) {
			return fmt.Errorf("column %s: %q, want a number from 0 to %g, or nothing", c.column, c.value, c.most)
		}
	}
	n, own := len(r.Wall), r.Machine.Fingerprint()
	switch {
	case min(r.CPUs, r.Threads) < 0:
		return fmt.Errorf("column cpus: %d, column threads: %d, want whole numbers from 0", r.CPUs, r.Threads)
	case own != r.Fingerprint:
		return fmt.Errorf("column fingerprint: %.40q, want %s, that of the machine in the row", r.Fingerprint, own)
	case n == 0:
		return errors.New("column wall: no number, want one at least")
	case len(r.Processor) != len(r.Reference):
		return fmt.Errorf("column reference: %d numbers, want %d as in processor", len(r.Reference), len(r.Processor))
	case len(r.Processor) != 0 && len(r.Processor) != n:
		return fmt.Errorf("column processor: %d numbers, want %d as in wall, or none", len(r.Processor), n)
	case len(r.Reference) > 0 && r.Unit != "ms" && r.Unit != "µs":
		return fmt.Errorf("column unit: %.40q, want ms or µs where there is a reference", r.Unit)
	}
	return nil
}

// night returns the night of the row, without values.
func (r *row) night() Night {
	return Night{
		Run: r.Run, Time: r.when, Version: r.Version, Go: r.Go, Host: r.Host, Conditions: r.Conditions, line: r.line,
	}
}

func (r *row) value() Measurement {
	return Measurement{r.Metric, r.Unit, r.Wall, r.Processor, r.Reference}
}
