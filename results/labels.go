package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// The files beside the summary of a table or a sweep that say how its runs came about: what tables show of its cells,
// the command lines that have made its runs, and the last file of an experiment.
const (
	LabelsFile     = "labels.csv"
	CommandFile    = "command.txt"
	ExperimentFile = "experiment.yaml"
)

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

// mostCommands is how long a command file may be, in bytes: an older one that is longer begins anew.
const mostCommands = 1 << 20

// AddCommands adds command lines to the command file of a folder, unless they are there.
func AddCommands(dir string, lines ...string) error {
	path := filepath.Join(dir, CommandFile)
	all := Commands(dir)
	before := len(all)
	for _, line := range lines {
		if !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	if len(all) == before {
		return nil
	}
	return files.WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(all, ""))
		return err
	})
}

// Commands returns the lines of the command file of a folder, each with its line break; nil without one that a person
// would read.
func Commands(dir string) []string {
	text, err := files.ReadUpTo(filepath.Join(dir, CommandFile), mostCommands)
	if err != nil {
		return nil
	}
	return slices.Collect(strings.Lines(string(text)))
}
