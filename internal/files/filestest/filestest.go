// Package filestest helps tests compare numbers and files.
package filestest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// FileNames returns the names in a folder, so that tests see temporary files that were left behind.
func FileNames(t *testing.T, dir string) string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// Minor numbers of Linux's memory devices, for [Device].
const (
	Null = 3
	Full = 7 // takes nothing: a full disk
)

// Device makes a memory device at a path, which tests may replace, as /dev/null they may not. It skips the test where
// that is not permitted.
func Device(t *testing.T, path string, minor int) string {
	t.Helper()
	if err := makeDevice(path, minor); err != nil {
		t.Skipf("mknod of a device: %v", err)
	}
	return path
}

// Socket makes a socket at a path, which is there until the end of the test.
func Socket(t *testing.T, path string) {
	t.Helper()
	t.Chdir(filepath.Dir(path)) // the path of a socket has at most 107 bytes
	s := must.Get(net.Listen("unix", filepath.Base(path)))(t)
	t.Cleanup(func() { _ = s.Close() })
}

// SVG returns a figure as SVG, and fails the test if it is not well-formed XML.
func SVG(t *testing.T, f interface{ WriteSVG(w io.Writer) error }) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	in := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
}

var (
	polyline   = regexp.MustCompile(`M[-.\d][^"A-Zl]*(l[^"A-Za-z]+)?`)
	coordinate = regexp.MustCompile(`-?(\d+(\.\d*)?|\.\d+)(e-?\d+)?`)
)

// Points returns the first point of each of an SVG's paths, which is absolute, and those of lines from there, which are
// relative, in the order in which they are drawn, x and y.
func Points(t *testing.T, svg string) (points [][2]float64) {
	t.Helper()
	for _, path := range polyline.FindAllString(svg, -1) {
		var at [2]float64
		for i, number := range coordinate.FindAllString(path, -1) {
			at[i%2] += must.Get(strconv.ParseFloat(number, 64))(t)
			if i%2 == 1 {
				points = append(points, at)
			}
		}
	}
	return points
}

// Append adds a text to an existing file, as a damaged or cut-off line.
func Append(t *testing.T, path, text string) {
	t.Helper()
	old := must.Get(os.ReadFile(path))(t)
	if err := os.WriteFile(path, append(old, text...), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Near reports whether two numbers are equal up to a few rounding errors. Tests compute their expected values by hand,
// in decimal. NaN equals NaN.
func Near(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return a == b || math.IsNaN(a) && math.IsNaN(b)
	}
	return math.Abs(a-b) <= 1e-14*max(1, math.Abs(a), math.Abs(b))
}

// SameOptional reports whether two numbers are both missing, or both present and [Near].
func SameOptional(a, b files.Optional) bool { return a.Valid == b.Valid && Near(a.Value, b.Value) }

// ReadNPY reads what [files.WriteNPY] wrote. It is an error if the file has elements of another type than T.
func ReadNPY[T files.Element](path string) (shape []int, data []T, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return decodeNPY[T](path, raw)
}

// ReadNPZ reads an array of what [files.NPZ] wrote, which has to be stored without compression.
func ReadNPZ[T files.Element](path, name string) (shape []int, data []T, err error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = archive.Close() }() // nothing was written
	for _, f := range archive.File {
		if f.Name != name+".npy" {
			continue
		}
		if f.Method != zip.Store {
			return nil, nil, fmt.Errorf("%s: %s: method %d, want it stored", path, f.Name, f.Method)
		}
		r, err := f.Open()
		if err != nil {
			return nil, nil, err
		}
		raw, err := io.ReadAll(r) // and checks the sum
		if err != nil {
			return nil, nil, err
		}
		return decodeNPY[T](path+"/"+f.Name, raw)
	}
	return nil, nil, fmt.Errorf("%s: no array %s", path, name)
}

// decodeNPY reads an .npy file; path is its name in errors.
func decodeNPY[T files.Element](path string, raw []byte) (shape []int, data []T, err error) {
	const begin = 10 // magic, version, length of the header
	end := begin + int(binary.LittleEndian.Uint16(raw[begin-2:]))
	var zero T
	element := files.NPYType[T]()
	dict, found := strings.CutPrefix(string(raw[begin:end]),
		"{'descr': '"+element+"', 'fortran_order': False, 'shape': (")
	dims, _, closed := strings.Cut(dict, ")")
	if !found || !closed {
		return nil, nil, fmt.Errorf("%s: %q, want elements %s", path, raw[begin:end], element)
	}
	n := 1
	for _, d := range strings.FieldsFunc(dims, func(r rune) bool { return r == ',' || r == ' ' }) {
		size, err := strconv.Atoi(d)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: shape: %w", path, err)
		}
		shape, n = append(shape, size), n*size
	}
	if len(raw)-end != n*binary.Size(zero) {
		return nil, nil, fmt.Errorf("%s: %d bytes of data, want those of shape %v", path, len(raw)-end, shape)
	}
	data = make([]T, n)
	_, err = binary.Decode(raw[end:], binary.LittleEndian, data)
	return shape, data, err
}
