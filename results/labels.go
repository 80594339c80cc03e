package results

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"rollcall/internal/files"
)

// LabelsFile is beside the summary of a sweep that gives its cells names.
const LabelsFile = "labels.csv"

// Label is what a table shows of a cell of a sweep in place of some of its settings.
type Label struct {
	CellKey
	Label Params `csv:"label"` // a name of the user's, and perhaps settings
	Apart Params `csv:"apart"` // the names of the settings in whose place it stands
}

// ReadLabels returns the labels in the folder of a sweep; nil without any.
func ReadLabels(dir string) ([]Label, error) {
	labels, err := files.ReadCSVFile[Label](filepath.Join(dir, LabelsFile), files.MostTable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return labels, err
}

// AddLabels writes labels to the folder of a sweep, beside those of other cells that are there.
func AddLabels(dir string, labels []Label) error {
	old, err := ReadLabels(dir)
	if err != nil {
		return fmt.Errorf("%w (without this file the cells have no names)", err)
	}
	for _, l := range old {
		if !slices.ContainsFunc(labels, func(new Label) bool { return new.CellKey == l.CellKey }) {
			labels = append(labels, l)
		}
	}
	return files.WriteCSVFile(filepath.Join(dir, LabelsFile), labels)
}
