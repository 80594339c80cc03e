package rng

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// family is a row of the table of streams.go.
type family struct {
	purpose string
	counter [3]string // round, client, step
	files   []string  // slashed, from the root of the repository
}

func (f family) String() string {
	return fmt.Sprintf("%s (%s)", f.purpose, strings.Join(f.counter[:], ", "))
}

// overlaps reports whether some counter belongs to both families.
func (f family) overlaps(g family) bool {
	for k := range f.counter {
		low, high := numbers(f.counter[k])
		low2, high2 := numbers(g.counter[k])
		if high < low2 || high2 < low {
			return false
		}
	}
	return f.purpose == g.purpose
}

// numbers returns the least and the greatest number that a word of a counter stands for.
func numbers(word string) (low, high uint64) {
	switch word {
	case "t", "i", "j", "e", "g":
		return 0, math.MaxUint32
	case "t+1":
		return 1, math.MaxUint32
	case "p":
		return 0, 1
	}
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		panic(err)
	}
	return n, n
}

// readTable returns the rows of the table in streams.go.
func readTable(t *testing.T) (table []family) {
	t.Helper()
	text := must.Get(os.ReadFile("streams.go"))(t)
	_, rows, _ := strings.Cut(string(text), "what is drawn\n")
	for line := range strings.Lines(rows) {
		row, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		f := strings.Fields(row)
		switch {
		case row[0] != ' ' && len(f) > 5:
			table = append(table, family{f[0], [3]string(f[1:4]), f[4:5]})
		case row[0] == ' ' && len(f) > 1 && len(table) > 0:
			last := &table[len(table)-1]
			last.files = append(last.files, f[0])
		default:
			t.Fatalf("row %q: want purpose, round, client, step, file, what is drawn", row)
		}
	}
	return table
}

// drawing returns the files of the repository, tests and this package apart, that call Stream or Block of a [Key].
func drawing(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Skip("no sources here: ", err)
	}
	var files []string
	must.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "rng") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if draws, err := callsKey(path); err != nil || !draws {
			return err
		}
		relative, err := filepath.Rel(root, path)
		files = append(files, filepath.ToSlash(relative))
		return err
	}))
	return files
}

// callsKey reports whether a file imports this package, or has a key from drawsOf of package availability, and calls a
// method Stream of three arguments or Block of four.
func callsKey(path string) (bool, error) {
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"rollcall/datasets/rng"`) &&
		!strings.Contains(string(text), "drawsOf(") {
		return false, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	draws := false
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok {
				name, args := method.Sel.Name, len(call.Args)
				draws = draws || name == "Stream" && args == 3 || name == "Block" && args == 4
			}
		}
		return true
	})
	return draws, nil
}

// The table of streams.go has every purpose, no two families that share a counter, and exactly the files that draw.
func TestStreams(t *testing.T) {
	table := readTable(t)
	if f := table[0]; !f.overlaps(f) || f.overlaps(table[len(table)-1]) {
		t.Errorf("%v overlaps itself: %t, and %v: %t, want the former alone", f, f.overlaps(f), table[len(table)-1],
			f.overlaps(table[len(table)-1]))
	}
	purposes, named := map[string]bool{}, map[string]bool{}
	for i, f := range table {
		purposes[f.purpose] = true
		for _, file := range f.files {
			named[file] = true
		}
		for _, other := range table[:i] {
			if f.overlaps(other) {
				t.Errorf("%v of %v and %v of %v overlap: the same numbers for two things",
					other, other.files, f, f.files)
			}
		}
	}
	want := []string{"Availability", "Augmentation", "Batches", "Dropout", "Generated", "Init", "Sampling", "Split"}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(purposes)); !slices.Equal(got, want) {
		t.Errorf("purposes %v, want %v", got, want)
	}
	files := drawing(t)
	for _, file := range files {
		if !named[file] {
			t.Errorf("%s draws: want it in the table of datasets/rng/streams.go, with its family", file)
		}
		delete(named, file)
	}
	for file := range named {
		t.Errorf("%s is in the table of datasets/rng/streams.go, but does not draw: want its row changed", file)
	}
}
