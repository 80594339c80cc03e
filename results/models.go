package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// ModelFile is the name of a run's last model, beside the curve, where it was saved.
const ModelFile = "model.safetensors"

// ClientModelFile is the name of a model that clients keep of their own, of which client is the smallest.
func ClientModelFile(client int) string { return fmt.Sprintf("model-client-%d.safetensors", client) }

// ModelFiles returns the names of the saved models in a run's folder, sorted; none where there is no folder.
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

// isModelFile reports whether a name in a run's folder is a saved model's.
func isModelFile(name string) bool {
	is, _ := path.Match("model*.safetensors", name) // the pattern is well formed
	return is
}

// models returns the names of the models that the run has, or should have by its run.json, sorted.
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
