package asm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// TestGenerated compares the .s files with what the generator writes.
func TestGenerated(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil || testing.Short() {
		t.Skip("needs the go command, and seconds")
	}
	dir := t.TempDir()
	if out, err := exec.Command(goTool, "run", "../gen", "-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("go run ../gen: %v\n%s", err, out)
	}
	names := func(dir string) []string {
		paths := must.Get(filepath.Glob(filepath.Join(dir, "*_amd64.s")))(t)
		for i, p := range paths {
			paths[i] = filepath.Base(p)
		}
		return paths
	}
	got, want := names("."), names(dir)
	if !slices.Equal(got, want) {
		t.Errorf("assembly files: got %v, want %v: run go generate", got, want)
	}
	for _, name := range want {
		want := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes (%v): run go generate", name, err)
		}
	}
}
