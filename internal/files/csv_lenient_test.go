package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// What is whole is read, and what is not is named by file, line and column.
func TestReadCSVLenient(t *testing.T) {
	type row struct {
		A int     `csv:"a"`
		B float64 `csv:"b"`
	}
	for name, c := range map[string]struct {
		text string
		rows string
		bad  []string
	}{
		"all well":       {"a,b\n1,0.5\n2,1\n", "[{1 0.5} {2 1}]", nil},
		"other order":    {"b,a\n0.5,1\n", "[{1 0.5}]", nil},
		"no file at all": {"", "[]", []string{"f.csv: line 1: empty, want the header a,b"}},
		"column missing": {"a\n1\n", "[]", []string{`f.csv: line 1: no column "b"`}},
		"other schema":   {"a,c\n1,2\n", "[]", []string{`f.csv: line 1: unknown column "c"`}},
		"no number":      {"a,b\n1,x\n2,1\n", "[{2 1}]", []string{`f.csv: line 2: column b: "x"`}},
		"half a line":    {"a,b\n1,0.5\n2", "[{1 0.5}]", []string{"f.csv: line 3: 1 columns, want 2"}},
		"cut in a value": {"a,b\n1,0.5\n2,0.7", "[{1 0.5}]", []string{"f.csv: line 3: no line break at its end"}},
		"two heads":      {"a,b\n1,0.5\na,b\n2,1\n", "[{1 0.5} {2 1}]", []string{`f.csv: line 3: column a: "a"`}},
		"open quote":     {"a,b\n1,0.5\n\"2,1\n", "[{1 0.5}]", []string{`line 3`}},
	} {
		path := filepath.Join(t.TempDir(), "f.csv")
		must.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		rows, lines, bad := ReadCSVFileLenient[row](path)
		if got := fmt.Sprint(rows); got != c.rows || len(lines) != len(rows) || len(bad) != len(c.bad) {
			t.Errorf("%s: %s in lines %v, %v, want %s and %d complaints", name, got, lines, bad, c.rows, len(c.bad))
			continue
		}
		for i, want := range c.bad {
			if !strings.Contains(bad[i].Error(), want) || !strings.Contains(bad[i].Error(), "f.csv") {
				t.Errorf("%s: %q, want %q in it", name, bad[i], want)
			}
		}
	}
}
