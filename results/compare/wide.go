package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
)

// wideRow is what [WriteWide] says of a run before its numbers and its settings.
type wideRow struct {
	results.Setup
	Seed       uint32  `csv:"seed"`
	Status     string  `csv:"status"`      // as in a list of runs
	Done       int     `csv:"rounds_done"` // up to the last evaluation
	ElapsedSec float64 `csv:"elapsed_s"`   // as in [results.CurveRow]
	Engine     string  `csv:"engine"`
	Precision  string  `csv:"precision"`
	Device     string  `csv:"device"`
	Numerics   string  `csv:"numerics"`
	Revisions  string  `csv:"revisions"`
	Checksum   string  `csv:"data_checksum"`
	Version    string  `csv:"version"`
	Folder     string  `csv:"folder"`
}

// WriteWide writes one CSV with a row for each run, which has one row of its curve at least: the columns of [wideRow],
// the numbers of chosen, which are metrics of [metrics.OfCurves] or [metrics.Reaching], and a column for each setting
// that any run has, sorted by name. Accuracies are fractions.
//
// Numbers are those of complete runs, so that their mean over rows is that of a summary; of other runs their cells are
// empty. A run without a run.json has the settings in the params of its curve.
func WriteWide(
	w io.Writer, runs []results.Run, chosen []metrics.Metric, status func(*results.Run) results.RunStatus,
) error {
	columns := files.CSVHeader[wideRow]()
	for _, m := range chosen {
		columns = append(columns, string(m))
	}
	settings := results.NewSettingColumns(runs, columns, wideSettings)
	rows := make([]wideRow, len(runs))
	for i := range runs {
		rows[i] = wideRowOf(&runs[i], status(&runs[i]))
	}
	out := csv.NewWriter(w)
	_ = out.Write(slices.Concat(columns, settings.Header)) // out.Error has the error of any writing
	i := 0
	for record, err := range files.CSVRecords(rows) {
		if err != nil {
			return fmt.Errorf("results: csv: %w", err)
		}
		for _, m := range chosen {
			number := files.Optional{}
			if rows[i].Status == string(results.RunComplete) {
				number = protocol.OfRun(runs[i].Curve, results.ProtocolRounds, m)
			}
			record = append(record, number.String())
		}
		cells, err := settings.Cells(&runs[i])
		if err != nil {
			return err
		}
		_ = out.Write(append(record, cells...))
		i++
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("results: csv: %w", err)
	}
	return nil
}

func wideRowOf(r *results.Run, status results.RunStatus) wideRow {
	last := r.Curve[len(r.Curve)-1]
	row := wideRow{
		Setup: r.Setup, Seed: r.Seed, Status: string(status), Done: last.Round, ElapsedSec: last.ElapsedSec,
		Engine: last.Engine, Precision: last.Precision, Version: last.Version, Device: r.Device(), Folder: r.Dir,
	}
	if r.Info != nil {
		c := r.Likeness().Conditions()
		row.Numerics, row.Revisions, row.Checksum = c.Numerics, c.Revisions, c.Checksum
	}
	return row
}

// wideSettings returns the settings of a run, those in its params too that its run.json has not.
func wideSettings(r *results.Run) map[string]any {
	settings := map[string]any{}
	for name, value := range r.Params.All() {
		settings[name] = value
	}
	maps.Copy(settings, r.Settings())
	return settings
}
