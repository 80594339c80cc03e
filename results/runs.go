package results

import (
	"bytes"
	"cmp"
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
	Also   []string // other tables that have the same run in their folders

	Damaged bool // something is wrong with its files, or it is no run of its own; see [FindRuns]
}

// Statuses that are never written.
const (
	RunUnfinished RunStatus = "unfinished" // of a run without a run.json: it goes on, or was killed
	RunDamaged    RunStatus = "damaged"    // of one whose files are not what they say
)

// RunStatuses are all there are, those of most use first.
func RunStatuses() []RunStatus {
	return []RunStatus{RunComplete, RunInterrupted, RunDiverged, RunFailed, RunUnfinished, RunDamaged}
}

// Status says how the run ended.
func (r *Run) Status() RunStatus {
	switch {
	case r.Damaged:
		return RunDamaged
	case r.Info == nil:
		return RunUnfinished
	}
	return r.Info.Status
}

// Likeness returns what the run has alike with others of a mean; the zero value where nobody knows.
func (r *Run) Likeness() Likeness {
	if r.Info == nil {
		return Likeness{}
	}
	return r.Info.Likeness()
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
// come in the order of their folders' names. All that is wrong is in bad, by file, and by line where it is of one: what
// cannot be read, what is not as run.json says (settings, seed, rounds, numbers, checksums), and seeds of a cell that
// have the same numbers. The runs it is of are damaged, which no mean takes; what is right of them can be looked at. A
// run found twice counts once; two that should be the same run and are not are bad, both named, and the first counts.
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
	return runs, slices.Concat(bad, doubles, RefuseTwins(runs)), nil
}

// RunFolders returns the folders that have a curve or a run.json, in some folders and below, each once, in order of
// their paths within each.
func RunFolders(ctx context.Context, folders ...string) ([]string, error) {
	return runFolders(ctx, folders, false)
}

// BegunFolders is [RunFolders] that also takes every folder with the name of a run's, seed-N: a run that has begun may
// have no file yet.
func BegunFolders(ctx context.Context, folders ...string) ([]string, error) {
	return runFolders(ctx, folders, true)
}

func runFolders(ctx context.Context, folders []string, begun bool) (dirs []string, err error) {
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("results: %s: a file, want a folder of runs", folder)
		}
	}
	err = walk(ctx, folders, func(path string, d fs.DirEntry) {
		switch {
		case d.Name() == CurveFile || d.Name() == RunFile:
			dirs = append(dirs, filepath.Dir(path))
		case begun && d.IsDir() && seedFolder.MatchString(d.Name()):
			dirs = append(dirs, path)
		}
	})
	return UniquePaths(dirs), err
}

// filesNamed returns the paths that end in a name, below some folders, each once, in order within each folder. There
// may be a folder in place of a file.
func filesNamed(ctx context.Context, folders []string, name string) (paths []string, err error) {
	err = walk(ctx, folders, func(path string, d fs.DirEntry) {
		if d.Name() == name {
			paths = append(paths, path)
		}
	})
	return UniquePaths(paths), err
}

// walk visits everything below some folders, in order of paths within each. It follows a folder that is a link, but no
// link below it. It leaves out hidden folders, which hold runs that were moved aside and files of other programs. It
// ignores what another process removes meanwhile.
func walk(ctx context.Context, folders []string, visit func(path string, d fs.DirEntry)) error {
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case name != "." && errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case name == ".":
				return nil
			case d.IsDir() && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			}
			visit(filepath.Join(folder, filepath.FromSlash(name)), d)
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("results: %s: %w", folder, err)
		}
	}
	return nil
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
	if _, none := os.Lstat(path); err == nil && errors.Is(none, fs.ErrNotExist) && info.Checksums[CurveFile] == "" {
		bad = nil // it ended before its first row
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // unfinished
	case err != nil:
		bad = append(bad, withLine(filepath.Join(dir, RunFile), err))
	case len(r.Curve) > 0 && info.Seed != r.Seed:
		bad = append(bad, fmt.Errorf("results: %s: seed %d, want %d as in %s",
			filepath.Join(dir, RunFile), info.Seed, r.Seed, CurveFile))
	default:
		r.Info = &info
		if len(bad) == 0 { // what else there is to say of lines that cannot be read says nothing new
			bad = r.check()
		}
	}
	r.Damaged = len(bad) > 0
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
	text, readErr := files.ReadRegular(path)
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
	if row.Round < 0 || row.Round > mostRounds {
		return fmt.Errorf("round %d, want 0 … %d", row.Round, mostRounds)
	}
	if len(before) == 0 {
		for name := range row.Params.All() {
			if !cellName.MatchString(name) {
				return fmt.Errorf("params %q, want name=value;…", row.Params)
			}
		}
		return cmp.Or(row.Named(), named("engine", row.Engine, "precision", row.Precision, "version", row.Version))
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
