package files_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// addNPZ adds an array in parts of two elements, and returns what to look for in the file.
func addNPZ[T files.Element](t *testing.T, z *files.NPZ, name string, shape []int, data []T) (check func(path string)) {
	t.Helper()
	must.OK(t, files.AddNPZ(z, name, shape, slices.Chunk(data, 2)))
	return func(path string) {
		t.Helper()
		gotShape, got, err := filestest.ReadNPZ[T](path, name)
		if err != nil || fmt.Sprint(gotShape) != fmt.Sprint(shape) || !slices.Equal(got, data) {
			t.Errorf("%s: %v %v, %v, want %v %v", name, gotShape, got, err, shape, data)
		}
	}
}

// What NumPy makes of such a file is tested with the scenarios of bench/e2e.
func TestNPZ(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	var written [2]bytes.Buffer
	var checks []func(path string)
	for i := range written {
		z := files.NewNPZ(&written[i])
		checks = []func(path string){
			addNPZ(t, z, "conv1.weight", []int{1, 3}, []float32{0.5, -1, 3e38}),
			addNPZ(t, z, "p", []int{3}, []float64{0.1, 1e-300, 1}),
			addNPZ(t, z, "index", []int{2, 2}, []int32{-1, 0, 7, 1 << 30}),
			addNPZ(t, z, "offsets", []int{2}, []int64{0, 1 << 40}),
			addNPZ(t, z, "images", []int{5}, []uint8{0, 1, 2, 254, 255}),
			addNPZ(t, z, "active", []int{3, 1}, []bool{true, false, true}),
			addNPZ(t, z, "rate", []int{}, []float64{0.05}),
			addNPZ(t, z, "none", []int{0, 4}, []int32{}),
		}
		must.OK(t, z.Close())
	}
	if !bytes.Equal(written[0].Bytes(), written[1].Bytes()) {
		t.Error("the same arrays give other bytes")
	}
	must.OK(t, os.WriteFile(path, written[0].Bytes(), 0o666))
	for _, check := range checks {
		check(path)
	}
	archive := must.Get(zip.OpenReader(path))(t)
	defer archive.Close()
	for _, f := range archive.File {
		if f.Method != zip.Store || f.Modified.UTC().Year() != 1980 {
			t.Errorf("%s: method %d, time %v, want it stored in 1980", f.Name, f.Method, f.Modified)
		}
	}
}

func TestNPZRefuses(t *testing.T) {
	err := files.AddNPZ(files.NewNPZ(&bytes.Buffer{}), "a", []int{2, 3}, slices.Values([][]uint8{{1, 2}, {3}}))
	if want := "npy: 3 elements, want 6 for shape [2 3]"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	z := files.NewNPZ(fullDisk{})
	err = files.AddNPZ(z, "a", []int{1 << 20}, slices.Values([][]uint8{make([]uint8, 1<<20)}))
	if err = errors.Join(err, z.Close()); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("got %v, want that the disk is full", err)
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("full") }
