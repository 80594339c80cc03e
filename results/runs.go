package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unique"

	"rollcall/results/files"
)

// Run is one seed of one cell as its folder holds it.
type Run struct {
	Dir    string
	Cell          // of the curve's rows
	Params Params // likewise
	Seed   uint32 // likewise
	Curve  []CurveRow
	Info   *RunInfo // nil where there is no readable run.json: the run goes on, or was killed
	Extra  []string // names of the other CSV files in the folder, sorted
}

// RunUnfinished is the status of a run without a run.json: it goes on, or was killed. It is never written.
const RunUnfinished RunStatus = "unfinished"

// Status says how the run ended. A run whose curve does not reach the round that its run.json says is unfinished.
func (r *Run) Status() RunStatus {
	if r.Info == nil || r.Info.Status == RunComplete && r.Rounds() != r.Info.Rounds {
		return RunUnfinished
	}
	return r.Info.Status
}

// Rounds returns the last evaluated round.
func (r *Run) Rounds() int { return r.Curve[len(r.Curve)-1].Round }

// Device returns what the run was computed on, empty where nobody knows.
func (r *Run) Device() string {
	if r.Info == nil {
		return ""
	}
	return r.Info.Device
}

// Key returns the cell of a run.
func (r *Run) Key() CellKey { return r.Cell.Key(r.Params) }

// FindRuns reads every run below the folders: those of a whole output folder, of a table, of a cell or of a seed. Runs
// come in the order of their folders' names. What is wrong with a file is in bad, by name and line, and what is right
// of it is used: a curve cut off in its last line keeps its other lines. A run found twice counts once; two that should
// be the same run and are not are bad, both named, and the first one counts.
//
// The error is of a folder that cannot be read at all, or ctx's.
func FindRuns(ctx context.Context, folders ...string) (runs []Run, bad []error, err error) {
	dirs, err := RunFolders(ctx, folders...)
	if err != nil {
		return nil, nil, err
	}
	read := make([]Run, len(dirs))
	wrong := make([][]error, len(dirs))
	err = files.Parallel(ctx, len(dirs), func(i int) { read[i], wrong[i] = ReadRunFolder(dirs[i]) })
	if err != nil {
		return nil, nil, err
	}
	for i, r := range read {
		bad = append(bad, wrong[i]...)
		if len(r.Curve) > 0 {
			runs = append(runs, r)
		}
	}
	runs, doubles := OnlyOnce(runs)
	return runs, append(bad, doubles...), nil
}

// RunFolders returns the folders below some that have a curve, each once, in order of names within each.
func RunFolders(ctx context.Context, folders ...string) (dirs []string, err error) {
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("results: %s: a file, want a folder of runs", folder)
		}
	}
	curves, err := filesNamed(ctx, CurveFile, folders)
	for _, path := range curves {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs, err
}

// filesNamed returns the files of a name in folders and below, each once, in order of their paths within each folder.
func filesNamed(ctx context.Context, name string, folders []string) (paths []string, err error) {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && !d.IsDir() && d.Name() == name {
				paths = append(paths, path)
			}
			return err
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
	}
	return UniquePaths(paths), nil
}

// UniquePaths drops paths that were there before, under whatever name.
func UniquePaths(paths []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		twice := seen[path]
		seen[path] = true
		return twice
	})
}

// ReadRunFolder reads the folder of a run; one without a usable row has no curve.
func ReadRunFolder(dir string) (r Run, bad []error) {
	path := filepath.Join(dir, CurveFile)
	rows, lines, bad := files.ReadCSVFileLenient[CurveRow](path)
	r.Dir = dir
	for i, row := range rows {
		if err := fits(row, r.Curve); err != nil {
			bad = append(bad, fmt.Errorf("results: %s: line %d: %w", path, lines[i], err))
			continue
		}
		if len(r.Curve) == 0 {
			r.Cell, r.Params, r.Seed = row.Cell, row.Params, row.Seed
		} else { // one copy of each text, or every row would keep its whole line in memory
			row.Cell, row.Params = r.Cell, r.Params
			for _, text := range []*string{&row.Engine, &row.Precision, &row.Version} {
				*text = unique.Make(*text).Value()
			}
		}
		r.Curve = append(r.Curve, row)
	}
	if len(rows) == 0 && len(bad) == 0 {
		bad = append(bad, fmt.Errorf("results: %s: line 2: no row, want one at least", path))
	}
	info, err := ReadRunInfo(filepath.Join(dir, RunFile))
	switch {
	case errors.Is(err, fs.ErrNotExist): // unfinished
	case err != nil:
		bad = append(bad, withLine(filepath.Join(dir, RunFile), err))
	case len(r.Curve) > 0 && info.Seed != r.Seed:
		bad = append(bad, fmt.Errorf("results: %s: seed %d, want %d as in %s",
			filepath.Join(dir, RunFile), info.Seed, r.Seed, CurveFile))
	default:
		r.Info = &info
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return r, append(bad, fmt.Errorf("results: %w", err))
	}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && name != CurveFile && strings.HasSuffix(name, ".csv") {
			r.Extra = append(r.Extra, name)
		}
	}
	return r, bad
}

// withLine adds to an error of reading JSON in which line of the file it is.
func withLine(path string, err error) error {
	text, readErr := os.ReadFile(path)
	if readErr != nil {
		return err
	}
	at := -1
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at, err = int(syntax.Offset), syntax
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, err = int(kind.Offset), kind
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = len(text), io.ErrUnexpectedEOF
	}
	if at < 0 {
		return err
	}
	line := 1 + bytes.Count(bytes.TrimRight(text[:min(at, len(text))], "\n"), []byte("\n"))
	return fmt.Errorf("results: %s: line %d: %w", path, line, err)
}

// fits reports why a row cannot follow those before it in one curve.
func fits(row CurveRow, before []CurveRow) error {
	if len(before) == 0 {
		return nil
	}
	first, last := before[0], before[len(before)-1]
	if row.Cell != first.Cell || row.Params != first.Params || row.Seed != first.Seed {
		return errors.New("another run than the first line's, want one run in a curve")
	}
	if row.Round <= last.Round {
		return fmt.Errorf("round %d after round %d, want rounds ascending", row.Round, last.Round)
	}
	return nil
}

// OnlyOnce drops runs that are there twice, and complains of those that differ.
func OnlyOnce(runs []Run) (different []Run, bad []error) {
	type identity struct {
		key   CellKey
		seed  uint32
		table string // runs that are not whole may well differ from one table to another
	}
	first := map[identity]int{}
	for _, r := range runs {
		id := identity{key: r.Key(), seed: r.Seed}
		if r.Status() != RunComplete {
			id.table = r.Dir
		}
		at, twice := first[id]
		if !twice {
			first[id] = len(different)
			different = append(different, r)
			continue
		}
		if err := SameNumbers(different[at].Curve, r.Curve); err != nil {
			bad = append(bad, fmt.Errorf("results: %s and %s: the same run, but %w",
				filepath.Join(different[at].Dir, CurveFile), filepath.Join(r.Dir, CurveFile), err))
		}
	}
	return different, bad
}

// SameNumbers reports where two curves of one run differ: in anything but time, version and the table they were run
// for.
func SameNumbers(a, b []CurveRow) error {
	plain := func(r CurveRow) CurveRow {
		r.ElapsedSec, r.Version, r.Table = 0, "", ""
		return r
	}
	for i := range min(len(a), len(b)) {
		if x, y := plain(a[i]), plain(b[i]); fmt.Sprint(x) != fmt.Sprint(y) { // as text: NaN equals NaN
			return fmt.Errorf("they differ in line %d, round %d", i+2, a[i].Round)
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("one ends after line %d, the other after line %d", len(a)+1, len(b)+1)
	}
	return nil
}
