package many

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
)

// ID names a run by its folder below OUT: TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N.
type ID struct {
	Table, Cell string
	Seed        uint32
}

// ParseID reads an ID.
func ParseID(text string) (id ID, err error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 && isFolder(parts[0]) && isFolder(parts[1]) {
		seed, wrong := strconv.ParseUint(strings.TrimPrefix(parts[2], "seed-"), 10, 32)
		if id = (ID{parts[0], parts[1], uint32(seed)}); wrong == nil && id.String() == text {
			return id, nil
		}
	}
	return id, settings.Usagef("--id %q: want TABLE/METHOD_DATA_AVAILABILITY_HASH/seed-N", text)
}

// String returns TABLE/CELL/seed-N.
func (id ID) String() string {
	return path.Join(id.Table, id.Cell, "seed-"+strconv.FormatUint(uint64(id.Seed), 10))
}

// isFolder reports whether a name can be that of a table, a cell or a sweep.
func isFolder(name string) bool {
	return (results.Setup{Table: name}).Named() == nil && name != "" && !strings.HasPrefix(name, ".") &&
		!strings.ContainsAny(name, `/\:`)
}

// Find returns the run of a paper's table or figure, as it is without a flag but --preset, that has this ID.
func (id ID) Find(out string) (*run.Experiment, error) {
	for _, preset := range algos.Presets() {
		w := Wanted{Preset: preset}
		var found []settings.Settings
		decisions := false
		if t, err := papers.TableByID(id.Table); err == nil {
			cells, err := Cells(&t, &w)
			if err != nil {
				continue // the table has no such preset
			}
			for _, c := range cells {
				found = append(found, c.Settings)
			}
		} else if f, err := papers.FigureByID(id.Table); err == nil {
			if found, decisions, err = FigureSettings(&f, &w); err != nil {
				continue
			}
		}
		if i := slices.IndexFunc(found, func(s settings.Settings) bool { return id.IsOf(s, id.Seed) }); i >= 0 {
			return id.Experiment(out, found[i], decisions), nil
		}
	}
	return nil, settings.Usagef("--id %s: no paper's table or figure has this run as it is, want the whole command "+
		"that --plan --format json has for it", id)
}

// IsOf reports whether the ID is that of a run with these settings and seed.
func (id ID) IsOf(s settings.Settings, seed uint32) bool {
	return run.Folder("", id.Table, s, seed) == filepath.FromSlash(id.String())
}

// Experiment returns the run with the settings of the ID.
func (id ID) Experiment(out string, s settings.Settings, decisions bool) *run.Experiment {
	return &run.Experiment{
		Table: id.Table, Settings: s, Seed: id.Seed, Decisions: decisions, Dir: run.Folder(out, id.Table, s, id.Seed),
	}
}

// FigureSettings returns the settings of the runs of a figure, a run for each seed, and whether these write
// decisions.csv; none if the figure has no folder of a run.
func FigureSettings(f *papers.Figure, w *Wanted) (of []settings.Settings, decisions bool, err error) {
	curves, ok := f.Measure.(papers.Curves)
	if !ok {
		return nil, false, nil
	}
	_, tasks, err := w.lines(f)
	for _, t := range tasks {
		of = append(of, t.Settings)
	}
	return of, curves.Decisions, err
}
