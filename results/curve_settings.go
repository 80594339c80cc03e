package results

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"rollcall/internal/files"
)

// WriteCurvesWithSettings writes the curves of all runs as one CSV: the columns of [CurveRow], the status and the
// folder of the run, and a column for each setting that the run.json of any of them has, sorted by name. The cells of a
// setting are empty where a run does not have it, and those of all settings where a run has no run.json.
//
// A setting that is a column of the curve too has one column. Where the two differ in meaning, as the lr of a round
// does from the setting lr, the setting is named settings.NAME.
func WriteCurvesWithSettings(w io.Writer, runs []Run, status func(*Run) RunStatus) error {
	columns := append(files.CSVHeader[CurveRow](), "status", "folder")
	names, header := settingColumns(runs, columns)
	out := csv.NewWriter(w)
	if err := out.Write(slices.Concat(columns, header)); err != nil {
		return fmt.Errorf("results: csv: %w", err)
	}
	for i := range runs {
		r := &runs[i]
		more := []string{string(status(r)), r.Dir}
		settings := r.settings()
		for _, name := range names {
			text, err := settingText(settings[name])
			if err != nil {
				return fmt.Errorf("results: %s: settings: %s: %w", r.Dir, name, err)
			}
			more = append(more, text)
		}
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

// settingColumns returns the settings of the runs that get a column beside those of the curve, and the columns' names.
func settingColumns(runs []Run, curve []string) (names, header []string) {
	all := map[string]bool{}
	for i := range runs {
		for name := range runs[i].settings() {
			all[name] = true
		}
	}
	same := KeyColumns() // a run whose settings differ from these columns of its curve is damaged
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case !slices.Contains(curve, name):
			names, header = append(names, name), append(header, name)
		case !slices.Contains(same, name):
			names, header = append(names, name), append(header, "settings."+name)
		}
	}
	return names, header
}

// settings returns every setting in run.json by its name; nil without a run.json.
func (r *Run) settings() map[string]any {
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
