package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"

	"rollcall/bench/run/checkpoint"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/events"
)

// found is what lies in a run's folder.
type found struct {
	dir      string
	run      results.Run
	bad      []error           // faults of the run, if run.json can be read
	unread   error             // why the folder itself cannot be read; nil: it can, or there is none
	badInfo  error             // why run.json cannot be read; nil: it can, or there is none
	badCurve error             // why curve.csv cannot be read; nil: it can, or there is none
	names    []string          // of the run's files, see [names]
	aside    []string          // the folders of what was moved aside, the last first
	newest   *checkpoint.About // of the newest checkpoint that is whole; nil: not looked at
}

// look reads what lies in a folder. It reads no checkpoint.
func look(dir string) *found {
	f := &found{dir: dir}
	f.names, f.unread = names(dir)
	f.aside = asides(dir)
	f.run.Dir = dir
	if f.empty() {
		return f
	}
	info, err := results.ReadRunInfo(filepath.Join(dir, results.RunFile))
	switch {
	case err == nil:
		f.run, f.bad = results.ReadRunFolder(dir)
		if f.run.Info == nil { // it contradicts the curve, which is among the faults
			f.run.Info = &info
		}
		if f.bad == nil || f.finished() {
			return f
		}
	case !errors.Is(err, fs.ErrNotExist):
		f.badInfo = err
	}
	// The checkpoint of an unfinished run has its curve, too, so that one that cannot be read is no fault of the run.
	f.run.Curve, err = results.ReadCurve(filepath.Join(dir, results.CurveFile))
	if err != nil {
		f.run.Curve, f.bad = nil, nil
		if !errors.Is(err, fs.ErrNotExist) {
			f.badCurve = err
		}
	}
	return f
}

// finished reports whether run.json says that nothing of the run is left to do.
func (f *found) finished() bool {
	return f.run.Info != nil && (f.run.Info.Status == results.RunComplete || f.run.Info.Status == results.RunDiverged)
}

// empty reports whether nothing of a run is there.
func (f *found) empty() bool { return len(f.names) == 0 }

const checkpointPattern = "checkpoint-*.safetensors"

// patterns match the names of the files of a run, run.json the last.
var patterns = slices.Concat([]string{checkpointPattern, "model*.safetensors", events.File}, results.RunFiles)

// names returns the names in a folder that are those of a run's files, run.json the last.
func names(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a file is for who makes folders to report
		return nil, nil
	}
	for _, pattern := range patterns {
		for _, e := range entries {
			if matches, _ := filepath.Match(pattern, e.Name()); matches { // no pattern here is malformed
				names = append(names, e.Name())
			}
		}
	}
	return names, err
}

// Begun reports whether anything of a run is in its folder.
func Begun(dir string) bool {
	there, _ := names(dir) // none, or the run itself reports the error
	return len(there) > 0
}

// Stamp tells one content of a run's folder from another.
type Stamp struct {
	Begun bool   // there is anything of a run, be it in a folder of what was moved aside
	info  string // run.json, which changes whenever a run ends
}

// StampOf returns the stamp of a folder as it is now.
func StampOf(dir string) Stamp {
	// Of an error the run itself reports.
	text, _ := files.ReadUpTo(filepath.Join(dir, results.RunFile), results.MostInfo)
	_, moving := os.Lstat(filepath.Join(dir, movingName))
	return Stamp{Begun(dir) || moving == nil || len(asides(dir)) > 0, string(text)}
}

// The folders below that of a run. Hidden ones are no folders of runs for anybody else.
const (
	asideName  = ".old"        // work that was moved aside; later ones are .old-2, .old-3, …
	movingName = ".old-moving" // an asideName until all files are in it: those that are not yet belong to it, too
	backName   = ".old-back"   // an asideName that is moved back
)

var asidePattern = regexp.MustCompile(`^\.old(?:-(\d+))?$`)

// asides returns the names of the folders of what was moved aside, the last first.
func asides(dir string) (folders []string) {
	entries, _ := os.ReadDir(dir) // none, or the run itself reports the error
	numbers := map[string]int{}
	for _, e := range entries {
		if m := asidePattern.FindStringSubmatch(e.Name()); m != nil && e.IsDir() {
			numbers[e.Name()], _ = strconv.Atoi(m[1]) // 0 for the first
			folders = append(folders, e.Name())
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return numbers[b] - numbers[a] })
	return folders
}
