package results

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"rollcall/internal/files"
	"rollcall/results/metrics"
)

// CurveFile is the name of a run's curve in its folder.
const CurveFile = "curve.csv"

// CurveRow is one evaluated round of one run.
type CurveRow struct {
	Setup
	Seed       uint32         `csv:"seed"`
	Round      int            `csv:"round"`  // 1 … T; 0 is the initial model
	Active     int            `csv:"active"` // active clients of this round; 0 in round 0
	LR         float64        `csv:"lr"`     // local learning rate of this round; 0 in round 0
	TrainLoss  files.Optional `csv:"train_loss"`
	TrainAcc   files.Optional `csv:"train_acc"` // fraction
	TestLoss   files.Optional `csv:"test_loss"`
	TestAcc    files.Optional `csv:"test_acc"`  // fraction
	ElapsedSec float64        `csv:"elapsed_s"` // since the start of the run; the parts of a resumed run are added up
	// all other settings that differ from the preset, sorted: key=value;…
	Params    Params `csv:"params"`
	Engine    string `csv:"engine"`    // cpu-generic, cpu-avx2, cpu-avx512, cpu-avx512bf16, cpu-amx, cuda-sm90, …
	Precision string `csv:"precision"` // fp32, tf32, bf16, bf16x3
	Version   string `csv:"version"`   // of rollcall
}

// WriteCurve writes a curve in the order given, atomically. See [files.WriteFile] for before.
func WriteCurve(path string, rows []CurveRow, before ...files.Before) error {
	return files.WriteCSVFile(path, rows, before...)
}

// ReadCurve reads what [WriteCurve] wrote.
func ReadCurve(path string) ([]CurveRow, error) {
	return files.ReadCSVFile[CurveRow](path, files.MostRows)
}

// ascends refuses a row that is not of a later round than the one before it.
func ascends(row *CurveRow, before []CurveRow) error {
	if n := len(before); n > 0 && row.Round <= before[n-1].Round {
		return fmt.Errorf("round %d after round %d, want rounds ascending", row.Round, before[n-1].Round)
	}
	return nil
}

// Metric returns the measured column of a metric; it is missing for metrics that are computed from whole curves.
func (r CurveRow) Metric(m metrics.Metric) files.Optional {
	switch m {
	case metrics.TrainLoss:
		return r.TrainLoss
	case metrics.TrainAcc:
		return r.TrainAcc
	case metrics.TestLoss:
		return r.TestLoss
	case metrics.TestAcc:
		return r.TestAcc
	}
	return files.Optional{}
}

// WriteCurvesWithSettings writes the curves of all runs as one CSV: the columns of [CurveRow], the status and the
// folder of the run, and a column for each setting that the run.json of any of them has, sorted by name. The cells of a
// setting are empty where a run does not have it, and those of all settings where a run has no run.json.
//
// A setting that is a column of the curve too has one column. Where the two differ in meaning, as the lr of a round
// does from the setting lr, the setting is named settings.NAME.
func WriteCurvesWithSettings(w io.Writer, runs []Run, status func(*Run) RunStatus) error {
	columns := append(files.CSVHeader[CurveRow](), "status", "folder")
	settings := NewSettingColumns(runs, columns, (*Run).Settings)
	out := csv.NewWriter(w)
	if err := out.Write(slices.Concat(columns, settings.Header)); err != nil {
		return fmt.Errorf("results: csv: %w", err)
	}
	for i := range runs {
		r := &runs[i]
		cells, err := settings.Cells(r)
		if err != nil {
			return err
		}
		more := append([]string{string(status(r)), files.CSVText(r.Dir)}, cells...)
		for record, err := range files.CSVRecords(r.Curve) {
			if err == nil {
				err = out.Write(append(record, more...))
			}
			if err != nil {
				return fmt.Errorf("results: csv: %w", err)
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("results: csv: %w", err)
	}
	return nil
}

// SettingColumns are the columns of a CSV that has one for each setting of some runs, sorted by name.
type SettingColumns struct {
	Header []string // as CSV text

	names    []string // of the settings in Header
	settings func(*Run) map[string]any
}

// NewSettingColumns returns the columns of the settings that some runs have. others are the further columns of the CSV,
// those of [CellKey] among them, which are no settings here; a setting of another's name is named settings.NAME.
func NewSettingColumns(runs []Run, others []string, settings func(*Run) map[string]any) SettingColumns {
	c, all := SettingColumns{settings: settings}, map[string]bool{}
	for i := range runs {
		for name := range settings(&runs[i]) {
			all[name] = true
		}
	}
	same := KeyColumns() // a run whose settings differ from these columns of its curve is damaged
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(same, name) {
			continue
		}
		column := files.CSVText(files.OneLine(name))
		for slices.Contains(others, column) || slices.Contains(c.Header, column) {
			column = "settings." + column
		}
		c.names, c.Header = append(c.names, name), append(c.Header, column)
	}
	return c
}

// Cells returns the cells of a run, empty ones for settings that it does not have.
func (c SettingColumns) Cells(r *Run) (cells []string, err error) {
	settings := c.settings(r)
	for _, name := range c.names {
		text, err := settingText(settings[name])
		if err != nil {
			return nil, fmt.Errorf("results: %s: settings: %s: %w", r.Dir, name, err)
		}
		cells = append(cells, files.CSVText(text))
	}
	return cells, nil
}

// Settings returns every setting in run.json by its name; nil without a run.json.
func (r *Run) Settings() map[string]any {
	if r.Info == nil {
		return nil
	}
	settings, _ := r.Info.Settings.(map[string]any)
	return settings
}

// settingText returns a setting as a cell: texts as they are, lists and objects as JSON, and null as an empty cell.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// ProtocolRounds is the number of last rounds over which FedAWE's tables average.
const ProtocolRounds = metrics.Window

// Evaluated reports whether the model is evaluated after a round, 1 … rounds. It is evaluated after each multiple of
// every and after the final round; among the final [ProtocolRounds] also after each multiple of last, unless last is 0.
func Evaluated(round, rounds, every, last int) bool {
	return round == rounds || round%every == 0 || last > 0 && AmongLast(round, rounds) && round%last == 0
}

// AmongLast reports whether a round is among the last [ProtocolRounds].
func AmongLast(round, rounds int) bool { return round > rounds-ProtocolRounds }

// evaluatedAfter returns the first [Evaluated] round after the given one, which is 0 … rounds − 1.
func evaluatedAfter(round, rounds, every, last int) int {
	next := min(rounds, (round/every+1)*every)
	if last > 0 {
		next = min(next, (max(round, rounds-ProtocolRounds)/last+1)*last)
	}
	return next
}
