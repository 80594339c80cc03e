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
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// Run is one seed of one cell, read from its folder.
type Run struct {
	Dir    string
	Setup         // from the rows of the curve
	Params Params // likewise
	Seed   uint32 // likewise
	Curve  []CurveRow
	Info   *RunInfo // nil without a readable run.json: the run is in progress, or was killed
	Extra  []string // names of the other CSV files in the folder, sorted, without those in Beside
	Beside []Fault  // files of a run's end that are not as run.json has them, and do no harm to the run
	Also   []string // other tables whose folders have the same run

	Damaged bool // its files contradict each other, or it is a copy of another seed; see [FindRuns]
}

// Fault is a file beside a sound curve that is not as run.json has it.
type Fault struct {
	Name string
	// Foreign says that the run has not written the file. Otherwise it has, and the file was changed or is gone.
	Foreign bool
	Err     error // names the file
}

// Wrote reports whether the run has written a file of this name, besides its curve, and the file is as it was written.
func (r *Run) Wrote(name string) bool {
	return r.Info != nil && r.Info.Checksums[name] != "" &&
		!slices.ContainsFunc(r.Beside, func(f Fault) bool { return f.Name == name })
}

// Statuses that are never written.
const (
	RunUnfinished RunStatus = "unfinished" // the run has no run.json: it is in progress, or was killed
	RunDamaged    RunStatus = "damaged"    // see [Run].Damaged
	RunRunning    RunStatus = "running"    // a process computes the run at the moment, which no file of the run says
)

// RunStatuses returns all statuses that files show, the most useful runs first.
func RunStatuses() []RunStatus {
	return []RunStatus{RunComplete, RunInterrupted, RunDiverged, RunFailed, RunUnfinished, RunDamaged}
}

// Status returns the status in run.json, unless the run is damaged or has no run.json.
func (r *Run) Status() RunStatus {
	switch {
	case r.Damaged:
		return RunDamaged
	case r.Info == nil:
		return RunUnfinished
	}
	return r.Info.Status
}

// Likeness returns what the run must share with the other runs of a mean; the zero value without a run.json.
func (r *Run) Likeness() Likeness {
	if r.Info == nil {
		return Likeness{}
	}
	return r.Info.Likeness()
}

// Rounds returns the last evaluated round.
func (r *Run) Rounds() int { return r.Curve[len(r.Curve)-1].Round }

// Device returns the name of the processor or GPU that computed the run; empty without a run.json.
func (r *Run) Device() string {
	if r.Info == nil {
		return ""
	}
	return r.Info.Device
}

// Key returns the run's cell, whatever the table.
func (r *Run) Key() CellKey { return r.Setup.Key(r.Params) }

// FindRuns reads every run below the folders, each of which is an output folder, or the folder of a table, a cell or a
// seed. Runs are in the order of their folders' names.
//
// bad lists every fault with its file, and with its line if it has one: unreadable files, contradictions to run.json
// (settings, seed, rounds, numbers, checksums), two seeds of a cell with the same numbers, and every [Fault] beside a
// run. A run with a fault of its own is damaged: no mean counts it, but its readable rows are returned. A run that is
// found twice counts once; if its two copies differ, bad names both, and the first one counts.
//
// The error is not nil if a folder cannot be read at all, or if ctx is done.
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
		for _, f := range r.Beside {
			bad = append(bad, f.Err)
		}
		if len(r.Curve) > 0 {
			runs = append(runs, r)
		}
	}
	runs, doubles := OnlyOnce(runs)
	return runs, slices.Concat(bad, doubles, RefuseTwins(runs)), nil
}

// RunFolders returns every folder at or below the given ones that has a curve or a run.json, each once, sorted within
// each given folder.
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
	return files.UniquePaths(dirs), err
}

// filesNamed returns the paths below the folders whose last element is the name, each once, sorted within each folder.
// They need not be regular files.
func filesNamed(ctx context.Context, folders []string, name string) (paths []string, err error) {
	err = walk(ctx, folders, func(path string, d fs.DirEntry) {
		if d.Name() == name {
			paths = append(paths, path)
		}
	})
	return files.UniquePaths(paths), err
}

// folderLevels is how many levels of folders an output folder has: tables, cells, seeds.
const folderLevels = 3

// walk visits everything below the folders, sorted within each. It leaves out hidden folders, which hold runs that were
// moved aside and files of other programs. It ignores what another process removes meanwhile.
//
// It follows links to folders at the levels of an output folder, so that a table may lie on another disk, and goes no
// deeper behind a link than an output folder has levels. A folder that several paths lead to is visited once, in its
// own place if it has one below the given folder.
func walk(ctx context.Context, folders []string, visit func(path string, d fs.DirEntry)) error {
	met := map[string]bool{}
	for _, folder := range folders {
		top := files.RealPath(folder)
		if met[top] {
			continue
		}
		w := walker{ctx: ctx, visit: visit, top: top, met: met}
		err := w.folder(folder, top, 0, math.MaxInt)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
	}
	return nil
}

type walker struct {
	ctx   context.Context
	visit func(path string, d fs.DirEntry)
	top   string          // the given folder, without links
	met   map[string]bool // the folders that were visited, without links
}

// folder visits what is in a folder, whose path without links is real. It is level levels below the given one, and the
// walk goes at most deeper levels further down.
func (w *walker) folder(path, real string, level, deeper int) error {
	w.met[real] = true
	entries, err := os.ReadDir(path)
	if err != nil && (level == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	for _, e := range entries {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		below, itself, most := filepath.Join(path, e.Name()), filepath.Join(real, e.Name()), deeper-1
		if e.Type()&fs.ModeSymlink != 0 && level < folderLevels {
			if info, err := os.Stat(below); err == nil && info.IsDir() {
				if itself = files.RealPath(below); w.elsewhere(itself) {
					continue
				}
				e, most = fs.FileInfoToDirEntry(info), min(most, folderLevels)
			}
		}
		if !e.IsDir() {
			w.visit(below, e)
			continue
		}
		if strings.HasPrefix(e.Name(), ".") || deeper == 0 || w.met[itself] {
			continue
		}
		w.visit(below, e)
		if err := w.folder(below, itself, level+1, most); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere reports whether a link need not be followed to a folder: the walk comes to it in its own place, or from it.
func (w *walker) elsewhere(real string) bool {
	if files.Contains(real, w.top) {
		return true
	}
	inside, _ := filepath.Rel(w.top, real) // both are absolute
	hidden := strings.Contains(string(filepath.Separator)+inside, string(filepath.Separator)+".")
	return files.Contains(w.top, real) && !hidden
}

// ReadRunFolder reads and checks the folder of one run; bad lists the faults of its curve and its run.json, and those
// of the files beside them are in the run. A run without a readable row has no curve.
func ReadRunFolder(dir string) (r Run, bad []error) {
	path := filepath.Join(dir, CurveFile)
	rows, _, bad := files.ReadCSVFileLenient(path, files.MostRows, fits)
	r.Dir, r.Curve = dir, rows
	if len(rows) > 0 {
		r.Setup, r.Params, r.Seed = rows[0].Setup, rows[0].Params, rows[0].Seed
	}
	if len(rows) == 0 && len(bad) == 0 {
		bad = append(bad, fmt.Errorf("results: %s: line 2: no row, want one at least", path))
	}
	info, err := ReadRunInfo(filepath.Join(dir, RunFile))
	if _, none := os.Lstat(path); err == nil && errors.Is(none, fs.ErrNotExist) && info.Checksums[CurveFile] == "" {
		bad = nil // the run ended before its first row, and its curve is rightly missing
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
		if len(bad) == 0 { // lines that cannot be read would only cause further errors
			bad = r.check()
		}
	}
	r.Damaged = len(bad) > 0
	entries, err := os.ReadDir(dir)
	if err != nil {
		return r, append(bad, fmt.Errorf("results: %w", err))
	}
	for _, e := range entries {
		name := e.Name()
		faulty := slices.ContainsFunc(r.Beside, func(f Fault) bool { return f.Name == name })
		if !e.IsDir() && name != CurveFile && strings.HasSuffix(name, ".csv") && !faulty {
			r.Extra = append(r.Extra, name)
		}
	}
	return r, bad
}

// withLine adds the number of the line to an error from reading a JSON file, if the error has a position.
func withLine(path string, err error) error {
	text, readErr := files.ReadTextUpTo(path, MostInfo)
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

// fits returns why a row cannot follow the rows before it in one curve; nil if it can.
func fits(row *CurveRow, before []CurveRow) error {
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
	first := before[0]
	if row.Setup != first.Setup || row.Params != first.Params || row.Seed != first.Seed {
		return errors.New("another run than the first line's, want one run in a curve")
	}
	return ascends(row, before)
}
