package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// ModelFile is the name of the file with the last model, in the folder of a run that saved it.
const ModelFile = "model.safetensors"

// ClientModelFile returns the file name of a personal model. Several clients may share one; client is the smallest of
// their numbers.
func ClientModelFile(client int) string { return fmt.Sprintf("model-client-%d.safetensors", client) }

// ModelFiles returns the sorted names of the saved models in a run's folder; nil if the folder does not exist.
func ModelFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("results: %w", err)
	}
	for _, e := range entries {
		if isModelFile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isModelFile reports whether a file of this name in a run's folder is a saved model.
func isModelFile(name string) bool {
	is, _ := path.Match("model*.safetensors", name) // the pattern is well formed
	return is
}

// models returns the sorted names of the models that the run's folder has, or should have according to run.json.
func (r *Run) models() ([]string, error) {
	names, err := ModelFiles(r.Dir)
	for name := range r.Info.Checksums {
		if isModelFile(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
