package track

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/internal/files"
)

// seriesSuite is the suite of a history that is a series.
const seriesSuite = "series"

// ReadSeries reads any series of measurements as a history: a CSV file whose first column is the time and whose other
// columns are values, one metric each, positive numbers; an empty cell was not measured. A first line with names may be
// missing. Times are RFC 3339, 2026-01-31, 2026-01-31 15:04:05, or seconds since 1970; with other texts, such as
// versions, the rows are in the order of the file. With reciprocal larger values are better: the history has 1/value.
func ReadSeries(in io.Reader, path string, reciprocal bool) (*History, error) {
	fail := func(line int, format string, args ...any) error {
		return fmt.Errorf("track: %s: line %d: %s", path, line, fmt.Sprintf(format, args...))
	}
	records, cells, err := files.OpenCSV(in)
	if errors.Is(err, io.EOF) {
		return nil, fail(1, "empty, want a time and a value, such as 2026-01-31,12.5")
	}
	if err != nil {
		return nil, fmt.Errorf("track: %s: %w", path, err)
	}
	if len(cells) < 2 {
		return nil, fail(1, "one column, want a time and a value at least, such as 2026-01-31,12.5")
	}
	names := slices.Clone(cells)
	_, notNumber := strconv.ParseFloat(strings.TrimSpace(cells[1]), 64)
	named := notNumber != nil
	if !named {
		for i := range names {
			names[i] = fmt.Sprintf("value %d", i)
		}
	}
	h := &History{Path: path, Machine: Machine{Suite: seriesSuite, Device: path}, reciprocal: reciprocal}
	dated := true
	for first := true; ; first = false {
		if !first || named {
			cells, err = records.Read()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("track: %s: %w", path, err)
		}
		line, _ := records.FieldPos(0)
		when, ok := seriesTime(cells[0])
		dated = dated && ok
		n := Night{Run: strings.Clone(cells[0]), Time: when, line: line}
		for i, cell := range cells[1:] {
			if strings.TrimSpace(cell) == "" {
				continue
			}
			x, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			if err != nil || !positive(x) {
				return nil, fail(line, "column %s: %v", names[i+1], notPositive(cell))
			}
			if reciprocal {
				x = 1 / x
			}
			m := Measurement{Metric: names[i+1]}
			for range LeastSamples { // the one value is all that there is of the night
				m.Wall = append(m.Wall, x)
			}
			n.Values = append(n.Values, m)
		}
		h.Nights = append(h.Nights, n)
	}
	if len(h.Nights) == 0 {
		return nil, fail(2, "no row, want a time and a value, such as 2026-01-31,12.5")
	}
	if dated {
		h.sort()
	} else {
		for i := range h.Nights {
			h.Nights[i].Time = time.Time{}
		}
	}
	return h, nil
}

// seriesTime reads a time of a series.
func seriesTime(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	const least, most = 1e8, 1e11 // 1973 to 5138; smaller numbers are those of runs
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= least && s < most {
		return time.Unix(int64(s), 0), true
	}
	return time.Time{}, false
}
