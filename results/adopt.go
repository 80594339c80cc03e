package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"rollcall/results/files"
)

// RunFiles are the files of a run besides its models, in the order in which they are copied. run.json comes last: a
// folder without it is an unfinished run, so a copy that was cut short is not taken for a result.
var RunFiles = []string{CurveFile, DecisionsFile, ClientsFile, RunFile}

// CopyRun copies a run's models and its [RunFiles] into the folder to, byte for byte. It copies no other files.
func CopyRun(r *Run, to string) error {
	models, err := ModelFiles(r.Dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(models, RunFiles) {
		if err := copyFile(r, name, to); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies one file of a run into the folder to. Every file but the curve may be missing.
func copyFile(r *Run, name, to string) error {
	from, _, err := files.OpenRegular(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) && name != CurveFile {
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
	models, err := ModelFiles(r.Dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(models, []string{DecisionsFile, ClientsFile}) {
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
	return &copied, WriteRunInfo(filepath.Join(to, RunFile), *r.Info)
}
