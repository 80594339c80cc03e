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

// RunFiles are the files of a run that are copied with it behind its models, in the order in which they are: run.json,
// which makes a result of the others, comes last.
var RunFiles = []string{CurveFile, DecisionsFile, ClientsFile, RunFile}

// CopyRun copies the files of a run as they are, its models among them. Other files in its folder stay behind.
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

// Adopt copies a finished run into the folder of another table, as that table's.
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
