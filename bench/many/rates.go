package many

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
	"rollcall/results"
)

// RatesKey says for which runs rates are: a method in a preset on a data set and a net under an availability model.
type RatesKey struct {
	Method       string `csv:"method"`
	Preset       string `csv:"preset"`
	Data         string `csv:"data"`
	Net          string `csv:"net"`
	Availability string `csv:"availability"`
}

// RatesKeyOf returns the key of a run with these settings.
func RatesKeyOf(s *settings.Settings) RatesKey {
	return RatesKey{s.Method, s.Preset, s.Data, s.Net, s.Availability}
}

// String returns "fedawe (code) on cifar10, cnn-cifar10, under sine".
func (k RatesKey) String() string {
	return fmt.Sprintf("%s (%s) on %s, %s, under %s", k.Method, k.Preset, k.Data, k.Net, k.Availability)
}

// RatesRow is one line of a file: the rates of a key, and how they were found, which a file by hand may leave out.
type RatesRow struct {
	RatesKey
	LR       float64 `csv:"lr"`        // η_0, above 0
	ServerLR float64 `csv:"server_lr"` // η_g, above 0

	Rounds  int            `csv:"rounds,optional"`   // after which the accuracy was reached
	Seeds   string         `csv:"seeds,optional"`    // over which it is a mean: "1001 1002"
	HoldOut float64        `csv:"hold_out,optional"` // share of the training samples on which it was measured
	Acc     files.Optional `csv:"acc,optional"`      // fraction
	Std     files.Optional `csv:"std,optional"`      // sample standard deviation over the seeds
	Loss    files.Optional `csv:"loss,optional"`     // mean per sample
	Edge    string         `csv:"edge,optional"`     // "lr largest": no larger one was tried
	Params  results.Params `csv:"params,optional"`   // every other setting that differs from the preset
	Version string         `csv:"version,optional"`  // of the program
}

// Rates is a file of rates. It remembers for which runs it was asked, for [File.Note].
type Rates struct {
	Path string
	Rows []RatesRow // at least one, with different keys

	found int
	lacks []RatesKey
}

// IsRatesFile reports whether a value of --rates names a file: it ends in .csv, or there is such a file.
func IsRatesFile(value string) bool {
	_, err := os.Stat(value)
	return err == nil || strings.HasSuffix(value, ".csv")
}

// ReadRates reads a file of --rates. Its errors name the file and the line. They are no usage errors: the command line
// is a good one, and the file may be mended or come back.
func ReadRates(path string) (*Rates, error) {
	rows, lines, bad := files.ReadCSVFileLenient[RatesRow](path, files.MostTable)
	if len(bad) > 0 {
		return nil, fmt.Errorf("--rates: %w", bad[0])
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("--rates %s: no rates, want one line at least", path)
	}
	for i, r := range rows {
		if err := r.validate(); err != nil {
			return nil, fmt.Errorf("--rates %s: line %d: %w", path, lines[i], err)
		}
		if j := slices.IndexFunc(rows[:i], func(o RatesRow) bool { return o.RatesKey == r.RatesKey }); j >= 0 {
			return nil, fmt.Errorf("--rates %s: line %d: %s twice, want only line %d or this one",
				path, lines[i], r.RatesKey, lines[j])
		}
	}
	return &Rates{Path: path, Rows: rows}, nil
}

// validate reports the first value that is impossible. A method or a net that this program has not need be no mistake:
// the file may hold the rates of somebody's own, of which this command has no use.
func (r *RatesRow) validate() error {
	if !algos.IsName(r.Method) {
		return fmt.Errorf("method %q: want the name of a method", r.Method)
	}
	if !models.IsName(r.Net) {
		return fmt.Errorf("net %q: want the name of a net", r.Net)
	}
	for _, c := range []struct {
		column, name string
		known        []string
	}{
		{"preset", r.Preset, algos.Presets()},
		{"data", r.Data, datasets.Names()},
		{"availability", r.Availability, availability.Names()},
	} {
		if !slices.Contains(c.known, c.name) {
			return fmt.Errorf("%s %q: %s", c.column, c.name, settings.Unknown(c.name, c.known))
		}
	}
	for _, c := range []struct {
		column string
		rate   float64
	}{{"lr", r.LR}, {"server_lr", r.ServerLR}} {
		// !(rate > 0) refuses NaN too.
		if !(c.rate > 0) || math.IsInf(c.rate, 0) {
			return fmt.Errorf("%s %g, want a finite number above 0", c.column, c.rate)
		}
	}
	return nil
}

// Put gives a run the rates that the file has for it. A run for which it has none keeps its own.
func (f *Rates) Put(s *settings.Settings) (found bool) {
	key := RatesKeyOf(s)
	i := slices.IndexFunc(f.Rows, func(r RatesRow) bool { return r.RatesKey == key })
	if i < 0 {
		if !slices.Contains(f.lacks, key) {
			f.lacks = append(f.lacks, key)
		}
		return false
	}
	f.found++
	s.LR, s.ServerLR = f.Rows[i].LR, f.Rows[i].ServerLR
	return true
}

// Note returns a line about the runs that were put: which of them keep their own rates, because the file has none for
// them; "" if none does. That the file has none for any of them is a usage error.
func (f *Rates) Note() (string, error) {
	var lacks []string
	for _, k := range f.lacks[:min(named, len(f.lacks))] {
		lacks = append(lacks, k.String())
	}
	if n := len(f.lacks) - len(lacks); n > 0 {
		lacks = append(lacks, fmt.Sprintf("and %d more", n))
	}
	text := strings.Join(lacks, "; ")
	switch {
	case f.found == 0:
		return "", settings.Usagef("--rates %s: has none for %s, want some: its first are for %s", f.Path, text,
			f.Rows[0].RatesKey)
	case text == "":
		return "", nil
	}
	return fmt.Sprintf("rates: %s has none for %s: their own rates stay", f.Path, text), nil
}

// named is how many runs a note names: a table has a hundred cells.
const named = 6
