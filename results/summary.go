package results

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// SummaryFile is the name of a table's summary in its folder.
const SummaryFile = "summary.csv"

// CellStatus says how the runs of a cell ended. The zero value is not a status and cannot be written.
type CellStatus string

// The ways a cell ends.
const (
	CellOK          CellStatus = "ok"
	CellFailed      CellStatus = "failed"
	CellInterrupted CellStatus = "interrupted"
	CellRunning     CellStatus = "running"    // other processes still compute some seeds, not in the mean yet
	CellRefused     CellStatus = "refused"    // the folders of some seeds have other work
	CellDiverged    CellStatus = "diverged"   // some seeds diverged and are not in the mean
	CellMixed       CellStatus = "mixed"      // the mean is over runs that are not alike, as the user asked
	CellUnverified  CellStatus = "unverified" // the runs are missing, or are of schema 1
)

// MarshalText returns an error for any status that is not one of the constants above.
func (s CellStatus) MarshalText() ([]byte, error) {
	return statusText(s, CellOK, CellFailed, CellInterrupted, CellRunning, CellRefused, CellDiverged, CellMixed,
		CellUnverified)
}

// UnmarshalText returns an error for any text that is not one of the constants above.
func (s *CellStatus) UnmarshalText(text []byte) error {
	*s = CellStatus(text)
	_, err := s.MarshalText()
	return err
}

// SummaryRow is one metric of one cell of a table, averaged over the seeds, beside the paper's number.
type SummaryRow struct {
	Setup
	Params Params         `csv:"params"`          // as in [CurveRow]
	Rounds int            `csv:"rounds,optional"` // of each of its runs; 0: unknown
	Metric metrics.Metric `csv:"metric"`
	N      int            `csv:"n"` // seeds in Mean and Std
	// of the seeds, those that reach the accuracy of a metric of [metrics.Reaching]; missing for other metrics
	Reached files.Optional `csv:"reached,optional"`
	// missing if no seed is complete, or if some seed or the mean did not reach the target of the metric
	Mean      files.Optional `csv:"mean"`
	Std       files.Optional `csv:"std"` // sample standard deviation, see [stats.SampleStd]; missing if N < 2
	BySeed    BySeed         `csv:"by_seed,optional"`
	PaperMean files.Optional `csv:"paper_mean"` // missing if the paper prints none, or a dash for never
	PaperStd  files.Optional `csv:"paper_std"`
	Status    CellStatus     `csv:"status"`
	Error     string         `csv:"error"` // of the first failed seed; the diverged seeds; what is mixed; or empty

	// These may differ between the runs of a row: all values, with [And] between them.
	Version   string `csv:"version"`
	Engine    string `csv:"engine"`
	Precision string `csv:"precision"`
	Device    string `csv:"device"`

	// The samples that took part, if not all of the data set, by the run.json of the runs; empty in a summary that was
	// read from its file.
	Subset *Subset

	// These may not differ: such runs are in rows of their own, see [Likeness]. If the status is mixed all the same,
	// they are [mixedText].
	Numerics  string `csv:"numerics,optional"`
	Revisions string `csv:"revisions,optional"`
	Checksum  string `csv:"data_checksum,optional"`
}

// BySeed has the number of every seed behind a mean, "3=0.528;4=0.531", so that two rows can be compared by pairs of
// seeds. Empty: unknown, or the number is not a mean over seeds.
type BySeed string

// NewBySeed returns the numbers of seeds.
func NewBySeed(seeds []uint32, values []float64) BySeed {
	words := make([]string, len(seeds))
	for i, s := range seeds {
		words[i] = fmt.Sprintf("%d=%s", s, strconv.FormatFloat(values[i], 'g', -1, 64))
	}
	return BySeed(strings.Join(words, ";"))
}

// OfSeeds returns what is true of some seeds, one at least: "seed 3: why", "seeds 3, 4: why".
func OfSeeds(seeds []uint32, why string) string {
	word, names := "seed", make([]string, len(seeds))
	for i, seed := range seeds {
		names[i] = strconv.FormatUint(uint64(seed), 10)
	}
	if len(seeds) > 1 {
		word = "seeds"
	}
	return word + " " + strings.Join(names, ", ") + ": " + why
}

// Minus returns the differences of two rows of numbers, seed by seed; nil if their seeds differ or one is unknown.
func (b BySeed) Minus(other BySeed) (differences []float64) {
	differences = b.Pairs(other)
	if len(differences) != 1+strings.Count(string(b), ";") || len(differences) != 1+strings.Count(string(other), ";") {
		return nil
	}
	return differences
}

// Pairs returns the differences of two rows of numbers in the seeds that both have, in the order of b; nil if one is
// unknown.
func (b BySeed) Pairs(other BySeed) (differences []float64) {
	of := maps.Collect(other.all())
	for seed, value := range b.all() {
		if beside, has := of[seed]; has {
			v, err := strconv.ParseFloat(value, 64)
			w, wrong := strconv.ParseFloat(beside, 64)
			if err != nil || wrong != nil {
				return nil
			}
			differences = append(differences, v-w)
		}
	}
	return differences
}

// all yields each seed with its number.
func (b BySeed) all() iter.Seq2[string, string] {
	return func(yield func(seed, value string) bool) {
		for pair := range strings.SplitSeq(string(b), ";") {
			if seed, value, is := strings.Cut(pair, "="); is && !yield(seed, value) {
				return
			}
		}
	}
}

// And is between the values of a column in which the runs of a row differ.
const And = " and "

// mixedText is the text of a column of the conditions that runs must share, where the user had runs mixed that do not.
const mixedText = "mixed"

// WriteSummary writes a summary in the order given, atomically.
func WriteSummary(path string, rows []SummaryRow) error { return files.WriteCSVFile(path, rows) }

// ReadSummary reads what [WriteSummary] wrote.
func ReadSummary(path string) ([]SummaryRow, error) {
	rows, err := files.ReadCSVFile[SummaryRow](path, files.MostTable)
	first := map[summaryKey]int{}
	for i := range rows {
		err := rows[i].check()
		if at, twice := first[rows[i].key()]; twice {
			err = cmp.Or(err, fmt.Errorf("the number of row %d again", at+1))
		}
		if err != nil {
			return nil, fmt.Errorf("results: %s: row %d: %w", path, i+1, err)
		}
		first[rows[i].key()] = i
	}
	return rows, err
}

// MetricsIn returns the metrics of the rows that can be read in some summaries, each once.
func MetricsIn(paths ...string) (found []metrics.Metric) {
	for _, path := range paths {
		// Whoever reads it for its numbers says what is bad.
		rows, _, _ := files.ReadCSVFileLenient[SummaryRow](path, files.MostTable)
		for _, r := range rows {
			found = append(found, r.Metric)
		}
	}
	return files.Unique(found)
}

// SummariesOf returns the paths that the summaries of the runs' tables have, each once; a path may have no file.
func SummariesOf(runs []Run) (paths []string) {
	for i := range runs { // OUT/TABLE/CELL/seed-N
		paths = append(paths, filepath.Join(filepath.Dir(filepath.Dir(runs[i].Dir)), SummaryFile))
	}
	return files.Unique(paths)
}

// InGivenOrder sorts rows by [GivenOrder]. Rows of cells that no summary has come last, in the order that they had.
func InGivenOrder(rows []SummaryRow, summaries ...string) {
	place := GivenOrder(summaries...)
	slices.SortStableFunc(rows, func(a, b SummaryRow) int { return place(a.CellKey()) - place(b.CellKey()) })
}

// GivenOrder returns the places of cells in some summaries, which have the order of the commands that wrote them. Cells
// that no summary has share the last place.
func GivenOrder(summaries ...string) func(CellKey) int {
	var rows []SummaryRow
	for _, path := range summaries {
		// Whoever reads it for its numbers says what is bad.
		given, _, _ := files.ReadCSVFileLenient[SummaryRow](path, files.MostTable)
		rows = append(rows, given...)
	}
	return OrderOf(rows)
}

// OrderOf returns the places of cells in the order of their first rows. Cells without a row share the last place.
func OrderOf(rows []SummaryRow) func(CellKey) int {
	places := map[CellKey]int{}
	for i := range rows {
		if key := rows[i].CellKey(); places[key] == 0 {
			places[key] = len(places) + 1
		}
	}
	return func(key CellKey) int { return cmp.Or(places[key], len(places)+1) }
}

// Estimate sets the row's seeds, mean and standard deviation.
func (r *SummaryRow) Estimate(e stats.Estimate) {
	r.N, r.Mean, r.Std = e.N, files.Some(e.Mean), e.Std
}

// Paper sets the row's printed mean and standard deviation.
func (r *SummaryRow) Paper(p Printed) {
	r.PaperMean, r.PaperStd = p.Mean, p.Std
}

// check returns why a row cannot be of a summary that this program has written; nil if it can.
func (r *SummaryRow) check() error {
	for _, n := range []struct {
		column string
		value  files.Optional
		least  float64
	}{
		{"n", files.Some(float64(r.N)), 0},
		{"rounds", files.Some(float64(r.Rounds)), 0},
		{"reached", r.Reached, 0},
		{"mean", r.Mean, math.Inf(-1)},
		{"std", r.Std, 0},
		{"paper_mean", r.PaperMean, math.Inf(-1)},
		{"paper_std", r.PaperStd, 0},
	} {
		if x := n.value.Value; math.IsNaN(x) || math.IsInf(x, 0) || x < n.least {
			return fmt.Errorf("%s %s, want a number, and none below %g", n.column, n.value, n.least)
		}
	}
	for _, text := range []string{r.Version, r.Engine, r.Precision, r.Device, r.Numerics, r.Revisions, r.Checksum} {
		if strings.ContainsAny(text, "\r\n") {
			return fmt.Errorf("%.80q, want one line", text)
		}
	}
	return r.Named()
}

// summaryKey names one number of a table: two rows of the same key are the same number.
type summaryKey struct {
	Setup
	Params Params
	Metric metrics.Metric

	Numerics, Revisions, Checksum string // of the runs behind it; see [Conditions]
}

func (r *SummaryRow) key() summaryKey {
	return summaryKey{r.Setup, r.Params, r.Metric, r.Numerics, r.Revisions, r.Checksum}
}

// CellKey returns the row's cell, whatever the table.
func (r *SummaryRow) CellKey() CellKey { return r.Key(r.Params) }

// FindSummaries reads every summary below the folders, in the order of their paths. It skips the cells that made has:
// their runs were found, and the rows in made were computed from these runs. Without runs nothing vouches for a row, so
// the rows are marked unverified. bad lists every fault with its file and line; a number that has two different values
// is a fault too.
func FindSummaries(
	ctx context.Context, made []SummaryRow, folders ...string,
) (rows []SummaryRow, bad []error, err error) {
	type place struct {
		Setup
		params Params
	}
	known := map[place]bool{}
	for _, r := range made {
		known[place{r.Setup, r.Params}] = true
	}
	paths, err := filesNamed(ctx, folders, SummaryFile)
	if err != nil {
		return nil, nil, err
	}
	first := map[summaryKey]int{}
	for _, file := range paths {
		found, lines, wrong := files.ReadCSVFileLenient[SummaryRow](file, files.MostTable)
		bad = append(bad, wrong...)
		for i, r := range Unverified(found) {
			if known[place{r.Setup, r.Params}] {
				continue
			}
			if err := r.check(); err != nil {
				bad = append(bad, fmt.Errorf("results: %s: line %d: %w", file, lines[i], err))
				continue
			}
			// Two summaries may have the same number, after a merge for example. That is fine as long as they agree.
			at, twice := first[r.key()]
			if !twice {
				first[r.key()] = len(rows)
				rows = append(rows, r)
				continue
			}
			exact := func(r SummaryRow) string { return fmt.Sprint(r.Mean, r.Std, r.N, r.Reached, r.Status) }
			if exact(rows[at]) != exact(r) {
				bad = append(bad, fmt.Errorf("results: %s line %d: %s of %s, %s, %s is %s, but in another summary %s",
					file, lines[i], r.Metric, r.Method, r.Data, r.Availability, r.Metric.Words(r.Mean, r.Std, r.N),
					rows[at].Metric.Words(rows[at].Mean, rows[at].Std, rows[at].N)))
			}
		}
	}
	return rows, bad, nil
}

// Unverified returns a copy of rows in which every ok became unverified, as the runs of the rows are missing.
func Unverified(rows []SummaryRow) []SummaryRow {
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].Status == CellOK {
			rows[i].Status, rows[i].Error = CellUnverified, "a summary without its runs"
		}
	}
	return rows
}

// Printed is one number a paper prints in a table.
type Printed struct {
	Table        string // rollcall's name of the table: fedawe-2
	Method       string // named as on the command line, like Data and Availability
	Data         string
	Availability string
	Alpha        files.Optional // of the split, as in [Setup]
	Params       Params         // other settings that distinguish the columns of its table: gamma=0.2; see [PrintedFor]
	Metric       metrics.Metric
	// accuracies are fractions; missing if the paper prints a dash, for a target that was never reached
	Mean    files.Optional
	Std     files.Optional // likewise; missing if the paper prints none
	N       int            // seeds behind it
	Rounds  int            // T of the experiment; 0 if its table does not say it
	Clients int            // N of the experiment, likewise
}

// Estimate returns the number in the form that package judge takes. A target that was never reached has no estimate,
// so callers look at Mean first.
func (p Printed) Estimate() stats.Estimate {
	return stats.Estimate{Mean: p.Mean.Value, Std: p.Std, N: p.N}
}

// PrintedFor returns the printed number that belongs beside a row of ours, and whether the table has one. They belong
// together if method, data, availability and metric are equal, and also alpha, if the paper's split has one, and the
// params that distinguish the columns of the table (see [PrintedNames]). Both params name only what differs from the
// preset: the column γ = 0.3 of Table 9, which is the preset's value, has no params and belongs to a row without gamma.
// Other params, such as rounds=500, and the preset make no difference.
func PrintedFor(table []Printed, row SummaryRow) (Printed, bool) {
	keys := PrintedNames(table)
	i := slices.IndexFunc(table, func(p Printed) bool {
		return p.Method == row.Method && p.Metric == row.Metric && p.InColumn(row, keys)
	})
	if i < 0 {
		return Printed{}, false
	}
	return table[i], true
}

// InColumn reports whether a row of ours belongs in the number's column, whatever its metric; keys are the
// [PrintedNames] of the table.
func (p Printed) InColumn(row SummaryRow, keys []string) bool {
	return p.Data == row.Data && p.Availability == row.Availability &&
		(!p.Alpha.Valid || p.Alpha == row.Alpha) && p.Params == row.Params.Only(keys...)
}

// PrintedNames returns the names of the settings that distinguish the columns of a table, each once.
func PrintedNames(table []Printed) (names []string) {
	for _, p := range table {
		for name := range p.Params.All() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
