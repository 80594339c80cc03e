package track

import (
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
const schema = 2

// columns are the columns of a history, in which one row is one metric of one run. docs/tracking.md describes them.
var columns = []string{
	"schema", "run", "time", "version", "go", "clock_mhz", "load", "steal", "others", "card_users",
	"fingerprint", "suite", "os", "cpu", "cpus", "threads", "engine", "device", "driver", "clocks", "precision",
	"metric", "unit", "wall", "processor", "reference",
}

// header1 was the header of schema 1.
const header1 = "schema,run,time,version,go,clock_mhz,fingerprint,suite,os,cpu,cpus,threads,engine,device,driver," +
	"clocks,precision,metric,unit,samples"

// header returns the first line of a file.
func header() string { return strings.Join(columns, ",") }

// row is one line of a file.
type row struct {
	line    int
	machine Machine
	night   Night // without values
	value   Measurement
}

// encode writes the rows of a night, one for each metric.
func encode(w io.Writer, m Machine, n Night) error {
	out := csv.NewWriter(w)
	clock := ""
	if n.ClockMHz > 0 {
		clock = strconv.FormatFloat(n.ClockMHz, 'f', -1, 64)
	}
	for _, v := range n.Values {
		cells := []string{
			strconv.Itoa(schema), n.Run, n.Time.UTC().Format(time.RFC3339), n.Version, n.Go, clock,
			n.Load.String(), n.Steal.String(), n.Others.String(), n.CardUsers.String(), m.Fingerprint(),
		}
		cells = append(cells, m.fields()...)
		cells = append(cells, v.Metric, v.Unit, listOf(v.Wall), listOf(v.Processor), listOf(v.Reference))
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

// listOf returns numbers of six digits with blanks between them.
func listOf(x []float64) string {
	words := make([]string, len(x))
	for i := range x {
		words[i] = strconv.FormatFloat(x[i], 'g', 6, 64)
	}
	return strings.Join(words, " ")
}

// readRows returns the good rows of a file, and an error for each bad one. It takes every line for one row, so that a
// bad line cannot spoil the next: after a quote that is not closed, [files.ReadCSVFileLenient] would read on.
func readRows(text, path string) (rows []row, bad []error) {
	complain := func(line int, err error) {
		bad = append(bad, fmt.Errorf("track: %s: line %d: %w", path, line, err))
	}
	if err := checkHeader(text); err != nil {
		complain(1, err)
		return nil, bad
	}
	for i, line := range strings.SplitAfter(text, "\n") {
		cells := strings.TrimRight(line, "\r\n")
		switch {
		case i == 0 || cells == "":
		case !strings.HasSuffix(line, "\n"):
			complain(i+1, errors.New("no line break at its end, want one: it is half written"))
		default:
			row, err := parseRow(cells)
			if err != nil {
				complain(i+1, err)
				break
			}
			row.line = i + 1
			rows = append(rows, row)
		}
	}
	return rows, bad
}

// checkHeader returns an error unless the first line of a file is our header.
func checkHeader(text string) error {
	first, _, _ := strings.Cut(text, "\n")
	first = strings.TrimRight(first, "\r")
	switch first {
	case header():
		return nil
	case "":
		return fmt.Errorf("empty, want the header %s", header())
	}
	if first == header1 {
		return errors.New("a history of schema 1, whose nights have no reference, want schema 2: " +
			"keep it elsewhere; rollcall track run starts a new one")
	}
	names := strings.Split(first, ",")
	for _, c := range columns {
		if !slices.Contains(names, c) {
			return fmt.Errorf("no column %q, want the header %s", c, header())
		}
	}
	return fmt.Errorf("header %.200q, want %s", first, header())
}

// parseRow returns the row in one line, with a night that has no values yet, or what is wrong in it.
func parseRow(text string) (r row, err error) {
	if strings.HasSuffix(text, halfWritten) {
		return r, errors.New("half written, want a whole line")
	}
	cells, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return r, errors.Unwrap(err) // without the line of the ParseError, which is always 1
	}
	// A row of another version may have other columns, so the version is checked first.
	if cells[0] != strconv.Itoa(schema) {
		return r, fmt.Errorf("column schema: %.40q, want %d", cells[0], schema)
	}
	if len(cells) != len(columns) {
		return r, fmt.Errorf("%d columns, want %d", len(cells), len(columns))
	}
	cell := func(column string) string { return cells[slices.Index(columns, column)] }
	for _, c := range []string{"run", "metric", "unit", "wall"} {
		if cell(c) == "" {
			return r, fmt.Errorf("column %s: empty, want a text", c)
		}
	}
	r.night = Night{Run: cell("run"), Version: cell("version"), Go: cell("go")}
	if r.night.Time, err = time.Parse(time.RFC3339, cell("time")); err != nil {
		return r, fmt.Errorf("column time: %.40q, want 2006-01-02T15:04:05Z", cell("time"))
	}
	if r.night.Conditions, err = parseConditions(cell); err != nil {
		return r, err
	}
	r.machine = Machine{
		Suite: cell("suite"), OS: cell("os"), CPU: cell("cpu"), Engine: cell("engine"), Device: cell("device"),
		Driver: cell("driver"), Clocks: cell("clocks"), Precision: cell("precision"),
	}
	for i, to := range []*int{&r.machine.CPUs, &r.machine.Threads} {
		c := []string{"cpus", "threads"}[i]
		if *to, err = strconv.Atoi(cell(c)); err != nil || *to < 0 {
			return r, fmt.Errorf("column %s: %.40q, want a whole number from 0", c, cell(c))
		}
	}
	if own := r.machine.Fingerprint(); own != cell("fingerprint") {
		return r, fmt.Errorf("column fingerprint: %.40q, want %s, as of the machine in the row",
			cell("fingerprint"), own)
	}
	r.value, err = parseMeasurement(cell)
	return r, err
}

// parseConditions returns the conditions in the cells of a row. Each may be empty: not known.
func parseConditions(cell func(column string) string) (c Conditions, err error) {
	if clock := cell("clock_mhz"); clock != "" {
		if c.ClockMHz, err = positive(clock); err != nil {
			return c, fmt.Errorf("column clock_mhz: %w", err)
		}
	}
	for _, o := range []struct {
		column string
		to     *files.Optional
		most   float64
	}{
		{"load", &c.Load, math.MaxFloat64},
		{"steal", &c.Steal, 1},
		{"others", &c.Others, 1},
		{"card_users", &c.CardUsers, math.MaxFloat64},
	} {
		err := o.to.UnmarshalText([]byte(cell(o.column)))
		if x := o.to.Value; err != nil || !(x >= 0 && x <= o.most) {
			return c, fmt.Errorf("column %s: %.40q, want a number from 0 to %g, or nothing",
				o.column, cell(o.column), o.most)
		}
	}
	return c, nil
}

// parseMeasurement returns the metric in the cells of a row. Processor time and reference belong together: there are as
// many numbers of each as of wall time, or none.
func parseMeasurement(cell func(column string) string) (m Measurement, err error) {
	m = Measurement{Metric: cell("metric"), Unit: cell("unit")}
	for i, to := range []*[]float64{&m.Wall, &m.Processor, &m.Reference} {
		column := []string{"wall", "processor", "reference"}[i]
		for number := range strings.FieldsSeq(cell(column)) {
			x, err := positive(number)
			if err != nil {
				return m, fmt.Errorf("column %s: %w", column, err)
			}
			*to = append(*to, x)
		}
	}
	switch n := len(m.Wall); {
	case n == 0:
		return m, errors.New("column wall: no number, want one at least")
	case len(m.Processor) != len(m.Reference):
		return m, fmt.Errorf("column reference: %d numbers, want %d as in processor",
			len(m.Reference), len(m.Processor))
	case len(m.Processor) != 0 && len(m.Processor) != n:
		return m, fmt.Errorf("column processor: %d numbers, want %d as in wall, or none", len(m.Processor), n)
	case len(m.Reference) > 0 && m.Unit != "ms" && m.Unit != "µs":
		return m, fmt.Errorf("column unit: %.40q, want ms or µs where there is a reference", m.Unit)
	}
	return m, nil
}

// positive returns the number in a cell, which must be above 0, and so far from 0 and from infinity that a ratio of two
// is neither.
func positive(cell string) (float64, error) {
	const least, most = 1e-30, 1e30
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(x >= least && x <= most) {
		return 0, fmt.Errorf("%.40q, want a positive number, %g … %g", cell, least, most)
	}
	return x, nil
}
