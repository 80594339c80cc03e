package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"rollcall/internal/files"
)

// RunFiles are the files that a run may write besides its models, in the order in which they are written. run.json
// comes last: a folder without it is an unfinished run.
var RunFiles = []string{CurveFile, DecisionsFile, ClientsFile, RunFile}

// Written returns the sorted names of the files that the run has written besides its curve and its run.json, and that
// are as they were written.
func (r *Run) Written() (names []string) {
	if r.Info == nil {
		return nil
	}
	for name := range r.Info.Checksums {
		if name != CurveFile && name != RunFile && r.Wrote(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// CopyRun copies the files of a run into the folder to, byte for byte, run.json last. It copies no other files.
func CopyRun(r *Run, to string) error {
	for _, name := range slices.Concat([]string{CurveFile}, r.Written(), []string{RunFile}) {
		if err := copyFile(r, name, to); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies one file of a run into the folder to. An unfinished run has no run.json.
func copyFile(r *Run, name, to string) error {
	from, _, err := files.OpenRegular(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) && name == RunFile {
		return nil
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	defer func() { _ = from.Close() }() // nothing was written
	return files.WriteFile(filepath.Join(to, name), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// Adopt copies a finished run into the folder to and makes it a run of the given table: the curve names that table, and
// run.json has the checksum of the new curve. Tables share cells, and a copy takes seconds where a run takes hours.
func Adopt(r *Run, to, table string) (*Run, error) {
	for _, name := range r.Written() {
		if err := copyFile(r, name, to); err != nil {
			return nil, err
		}
	}
	copied := *r
	copied.Dir, copied.Table, copied.Curve = to, table, slices.Clone(r.Curve)
	for i := range copied.Curve {
		copied.Curve[i].Table = table
	}
	if err := WriteCurve(filepath.Join(to, CurveFile), copied.Curve); err != nil {
		return nil, err
	}
	return &copied, WriteRunInfo(filepath.Join(to, RunFile), *r.Info, r.Written())
}
