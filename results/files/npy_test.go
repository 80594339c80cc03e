package files

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// npyGolden builds the file NumPy 1.24.2 writes: numpy.save gave these headers and these bytes of data.
func npyGolden(t *testing.T, dict, data string) string {
	t.Helper()
	raw, err := hex.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	return "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", 0x76-1-len(dict)) + "\n" + string(raw)
}

func checkNPY[T Element](t *testing.T, name string, shape []int, data []T, golden string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := WriteNPY(path, shape, data); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || string(raw) != golden {
		t.Errorf("%s: file\ngot  %q, %v\nwant %q", name, raw, err, golden)
	}
	gotShape, gotData, err := ReadNPY[T](path)
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
	checkNPY(t, "empty", []int{0, 4}, []float32{},
		npyGolden(t, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", ""))
}

// More elements than are encoded at a time, and a header of more than one block.
func TestNPYLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	shape := []int{npyChunk + 1, 3}
	for range 40 {
		shape = append(shape, 1)
	}
	data := make([]int32, 3*(npyChunk+1))
	for i := range data {
		data[i] = int32(i)
	}
	if err := WriteNPY(path, shape, data); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if start := int(info.Size()) - 4*len(data); start%npyAlign != 0 || start == 2*npyAlign {
		t.Errorf("data starts at %d, want a multiple of %d other than %d", start, npyAlign, 2*npyAlign)
	}
	gotShape, gotData, err := ReadNPY[int32](path)
	if err != nil || !reflect.DeepEqual(gotShape, shape) || !reflect.DeepEqual(gotData, data) {
		t.Errorf("read back: shape %v, %d elements, %v", gotShape, len(gotData), err)
	}
}

func TestWriteNPYRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	for _, test := range []struct {
		name  string
		shape []int
		n     int
		want  string
	}{
		{"too few", []int{2, 3}, 5, "npy: 5 elements, want 6 for shape [2 3]"},
		{"scalar of two", nil, 2, "npy: 2 elements, want 1 for shape []"},
		{"negative", []int{-1, -1}, 1, "npy: shape [-1 -1], want no negative dimension"},
		{"overflow", []int{math.MaxInt, 2, 0}, 0, fmt.Sprintf("npy: shape [%d 2 0], want at most %d elements", math.MaxInt, math.MaxInt)},
	} {
		err := WriteNPY(path, test.shape, make([]float32, test.n))
		if want := "results: " + path + ": " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", test.name, err, want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("%s: a file was written, want none", test.name)
		}
	}
}

func TestReadNPYMalformed(t *testing.T) {
	good := npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", "01000000feffffff2c010000")
	swap := func(old, by string) string { return strings.Replace(good, old, by, 1) }
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "first bytes are not NumPy's"},
		{"other file", "PK\x03\x04" + good, "first bytes are not NumPy's"},
		{"version 2", swap("\x01\x00", "\x02\x00"), "first bytes are not NumPy's, want version 1.0"},
		{"magic alone", good[:8], "8 bytes, want the whole header"},
		{"header cut off", good[:60], "60 bytes, want the whole header"},
		{"other type", swap("<i4", "<i8"), `descr "<i8", want "<i4"`},
		{"big endian", swap("<i4", ">i4"), `descr ">i4", want "<i4"`},
		{"Fortran order", npyGolden(t, "{'descr': '<i4', 'fortran_order': True, 'shape': (3,), }", ""), "Fortran order, want C order"},
		{"negative dimension", npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (-3,), }", ""), "want descr, fortran_order and shape"},
		{"no number", npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,x), }", ""), "want descr, fortran_order and shape"},
		{"dimension too large", npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }", ""), "value out of range"},
		{"product too large", npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", ""), "want at most"},
		{"more than memory", npyGolden(t, "{'descr': '<i4', 'fortran_order': False, 'shape': (999999999999,), }", ""), "0 bytes of data, want 999999999999 elements"},
		{"data cut off", good[:len(good)-1], "11 bytes of data, want 3 elements of 4 for shape [3]"},
		{"data too long", good + "....", "16 bytes of data, want 3 elements of 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.text == good {
				t.Fatal("the text was not changed")
			}
			shape, data, err := decodeNPY[int32]([]byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v %v, %v, want an error with %s", shape, data, err, test.want)
			}
		})
	}
	if _, _, err := ReadNPY[int32](filepath.Join(t.TempDir(), "none.npy")); err == nil {
		t.Error("missing file: got no error, want one")
	}
}

// FuzzReadNPY: whatever is read without an error has the elements its shape says.
func FuzzReadNPY(f *testing.F) {
	f.Add([]byte("\x93NUMPY\x01\x00\x3c\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }  \n\x01\x02"))
	f.Add([]byte("\x93NUMPY\x01\x00\x3c\x00{'descr': '|u1', 'fortran_order': False, 'shape': (,2,0),}  \n"))
	f.Add([]byte("\x93NUMPY\x01\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		shape, data, err := decodeNPY[uint8](raw)
		if err != nil {
			return
		}
		if n, err := elements(shape); err != nil || n != len(data) {
			t.Errorf("shape %v (%v) and %d elements", shape, err, len(data))
		}
	})
}
