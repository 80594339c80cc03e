package files_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// npyGolden builds the file NumPy 1.24.2 writes: numpy.save gave these headers and these bytes of data.
func npyGolden(t *testing.T, dict, data string) string {
	t.Helper()
	raw := must.Get(hex.DecodeString(data))(t)
	return "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", 0x76-1-len(dict)) + "\n" + string(raw)
}

func checkNPY[T files.Element](t *testing.T, name string, shape []int, data []T, golden string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.npy")
	must.OK(t, files.WriteNPY(path, shape, data))
	raw, err := os.ReadFile(path)
	if err != nil || string(raw) != golden {
		t.Errorf("%s: file\ngot  %q, %v\nwant %q", name, raw, err, golden)
	}
	gotShape, gotData, err := filestest.ReadNPY[T](path)
	if err != nil || fmt.Sprint(gotShape) != fmt.Sprint(shape) || fmt.Sprint(gotData) != fmt.Sprint(data) {
		t.Errorf("%s: read back %v %v, %v, want %v %v", name, gotShape, gotData, err, shape, data)
	}
}

func TestNPY(t *testing.T) {
	checkNPY(t, "scalar", nil, []float32{0.05},
		npyGolden(t, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "cdcc4c3d"))
	checkNPY(t, "vector", []int{3}, []int32{1, -2, 300},
		npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", "01000000feffffff2c010000"))
	checkNPY(t, "matrix", []int{2, 3}, []uint8{0, 1, 2, 3, 4, 5},
		npyGolden(t, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "000102030405"))
	checkNPY(t, "infinite", []int{1, 2}, []float32{0.1, float32(math.Inf(-1))},
		npyGolden(t, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", "cdcccc3d000080ff"))
	checkNPY(t, "empty", []int{0, 4}, []float32{}, npyGolden(t, "{'descr': '<f4', 'fortran_order': False, 'shape': "+
		"(0, 4), }", ""))
}

// More elements than are encoded at a time, and a header of more than one block.
func TestNPYLarge(t *testing.T) {
	const npyChunk, npyAlign = 1 << 14, 64
	path := filepath.Join(t.TempDir(), "a.npy")
	shape := []int{npyChunk + 1, 3}
	for range 40 {
		shape = append(shape, 1)
	}
	data := make([]int32, 3*(npyChunk+1))
	for i := range data {
		data[i] = int32(i)
	}
	must.OK(t, files.WriteNPY(path, shape, data))
	info := must.Get(os.Stat(path))(t)
	if start := int(info.Size()) - 4*len(data); start%npyAlign != 0 || start == 2*npyAlign {
		t.Errorf("data starts at %d, want a multiple of %d other than %d", start, npyAlign, 2*npyAlign)
	}
	gotShape, gotData, err := filestest.ReadNPY[int32](path)
	if err != nil || !reflect.DeepEqual(gotShape, shape) || !reflect.DeepEqual(gotData, data) {
		t.Errorf("read back: shape %v, %d elements, %v", gotShape, len(gotData), err)
	}
}

func TestWriteNPYRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	err := files.WriteNPY(path, []int{2, 3}, make([]float32, 5))
	if want := "results: " + path + ": npy: 5 elements, want 6 for shape [2 3]"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written, want none")
	}
}

// What NumPy writes in each type is tested with the files of algos/availability/trace. Here: what this package writes,
// and the numbers that are not finite.
func TestNPYReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	n := 1<<14 + 3 // more elements than are read at a time
	data, want := make([]int32, 2*n), make([]float64, 2*n)
	for i := range data {
		data[i] = int32(i*7919) - 1e6
		want[i] = float64(data[i])
	}
	must.OK(t, files.WriteNPY(path, []int{2, n}, data))
	raw := must.Get(os.ReadFile(path))(t)
	r := must.Get(files.NewNPYReader(strings.NewReader(string(raw))))(t)
	got := make([]float64, r.Len())
	must.OK(t, r.Read(got))
	must.OK(t, r.End())
	if r.Type != "<i4" || r.Fortran || !reflect.DeepEqual(r.Shape, []int{2, n}) || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s %t %v, want <i4 false [2 %d] and the same numbers", r.Type, r.Fortran, r.Shape, n)
	}
	half := npyGolden(t, "{'descr': '<f2', 'fortran_order': True, 'shape': (6,), }", "007c00fc007effff0100ff7b")
	r = must.Get(files.NewNPYReader(strings.NewReader(half)))(t)
	got = make([]float64, 6)
	must.OK(t, r.Read(got))
	if s := fmt.Sprint(got); s != "[+Inf -Inf NaN NaN 5.960464477539063e-08 65504]" || !r.Fortran {
		t.Errorf("got %s, want the infinities, NaN twice, 2^-24 and 65504", s)
	}
}
