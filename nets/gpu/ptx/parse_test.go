package ptx

import (
	"os"
	"path/filepath"
	"testing"
)

// Every committed text parses.
func TestParseKernels(t *testing.T) {
	files, err := filepath.Glob("../kernels/ptx/*.ptx")
	if err != nil {
		t.Fatal(err)
	}
	kernels := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kernels += len(m.Kernels)
	}
	if len(files) != 23 || kernels != 93 {
		t.Errorf("got %d kernels in %d files, want 93 in 23", kernels, len(files))
	}
}
