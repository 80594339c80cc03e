// Package filestest helps tests compare numbers and files.
package filestest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
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
