package checkpoint

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"rollcall/internal/files"
	"rollcall/results/safetensors"
)

// Newest returns the description in the newest checkpoint of a folder; nil: there is none. It reads the head of the
// file only and verifies no checksum, since it serves to show how far a run is.
func Newest(dir string) (*About, error) {
	rounds, err := Rounds(dir)
	if err != nil || len(rounds) == 0 {
		return nil, err
	}
	return Head(filepath.Join(dir, Name(rounds[0])))
}

// Head returns the description in a checkpoint. It reads the head of the file only, and verifies no checksum.
func Head(path string) (*About, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	tensors, err := safetensors.New(f, size)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	about := &About{}
	if err := json.Unmarshal([]byte(tensors.Metadata[aboutKey]), about); err != nil {
		return nil, fmt.Errorf("checkpoint: %s: metadata %q: %w", path, aboutKey, err)
	}
	return about, nil
}
