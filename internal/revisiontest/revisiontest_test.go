package revisiontest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// What a changed digest, a changed number, both and neither lead to, without and with -update.
func TestRule(t *testing.T) {
	const recorded = "fedawe 2 aaaa\n"
	for _, c := range []struct {
		name     string
		revision int
		digest   string
		wrong    string // without -update; empty: nothing is
		refused  bool   // with -update it is wrong still
		written  string // of its line, with -update
	}{
		{"same", 2, "aaaa", "", false, "fedawe 2 aaaa"},
		{
			"numbers changed", 2, "bbbb", "fedawe: its numbers changed, but its revision is still 2: raise it in " +
				"fedawe.go, then run the test with -update", true, "fedawe 2 aaaa",
		},
		{"both", 3, "bbbb", "revision is 3, recorded is 2: run the test with -update", false, "fedawe 3 bbbb"},
		{"raised alone", 3, "aaaa", "revision is 3, recorded is 2: run", false, "fedawe 3 aaaa"},
		{"lower", 1, "aaaa", "is 1 in fedawe.go and was 2: a revision only rises", true, "fedawe 2 aaaa"},
		{"lower and changed", 1, "bbbb", "a revision only rises", true, "fedawe 2 aaaa"},
		{"none", 0, "aaaa", "want 1 or more", true, "fedawe 2 aaaa"},
		{"not computed", 2, "", "", false, "fedawe 2 aaaa"},
	} {
		entries := []Entry{{"fedawe", c.revision, "fedawe.go", c.digest}}
		t.Run(c.name, func(t *testing.T) {
			golden := filepath.Join(t.TempDir(), "golden")
			write(t, golden, header+recorded)
			wrong, err := check(golden, entries, false)
			if err != nil || (c.wrong == "") != (len(wrong) == 0) ||
				!strings.Contains(strings.Join(wrong, "\n"), c.wrong) {
				t.Errorf("without -update: %q, %v, want %q", wrong, err, c.wrong)
			}
			if got := read(t, golden); got != header+recorded {
				t.Errorf("without -update: wrote %q", got)
			}
			wrong, err = check(golden, entries, true)
			if err != nil || c.refused != (len(wrong) == 1) {
				t.Errorf("with -update: %q, %v, want it refused: %v", wrong, err, c.refused)
			}
			if got := read(t, golden); got != header+c.written+"\n" {
				t.Errorf("with -update: wrote %q, want %q", got, c.written)
			}
		})
	}
}

// A new entry is written by -update alone, beside one that is refused; a line that nothing computes is said.
func TestNamesOfTheGolden(t *testing.T) {
	golden := filepath.Join(t.TempDir(), "golden")
	entries := []Entry{{"b", 1, "b.go", "bb"}, {"a", 1, "a.go", "aa"}}
	if _, err := check(golden, entries, false); err == nil {
		t.Error("no golden: no error, want one")
	}
	if wrong, err := check(golden, entries, true); len(wrong) != 0 || err != nil {
		t.Errorf("no golden, -update: %q, %v, want it written", wrong, err)
	}
	if got, want := read(t, golden), header+"a 1 aa\nb 1 bb\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	entries = []Entry{{"b", 1, "b.go", "changed"}, {"c", 1, "c.go", "cc"}}
	wrong, err := check(golden, entries, true)
	if got := strings.Join(wrong, "; "); err != nil || len(wrong) != 2 ||
		!strings.Contains(got, "a: nothing has this name") || !strings.Contains(got, "b: its numbers changed") {
		t.Errorf("%q, %v, want a and b to be wrong", got, err)
	}
	if got, want := read(t, golden), header+"a 1 aa\nb 1 bb\nc 1 cc\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	if _, err := check(golden, append(entries, entries[0]), false); err == nil {
		t.Error("two entries of one name: no error, want one")
	}
	for _, text := range []string{"a 1\n", "a one aa\n", "a 1 aa\na 2 bb\n"} {
		write(t, golden, text)
		if _, err := check(golden, entries, false); err == nil {
			t.Errorf("golden %q: no error, want one", text)
		}
	}
}

// One bit, one place and one boundary make another digest.
func TestDigest(t *testing.T) {
	of := func(values ...any) string {
		var d Digest
		d.Add(values...)
		return d.String()
	}
	seen := map[string]string{}
	for _, values := range [][]any{
		{1.0},
		{math.Nextafter(1, 2)},
		{float32(1)},
		{0.0},
		{math.Copysign(0, -1)},
		{[]float32{1, 2}, []float32{3}},
		{[]float32{1}, []float32{2, 3}},
		{[]float32{1, 2, 3}},
		{[]float32{1, 3, 2}},
		{[]int{1, 2}, 3},
		{[]int{1}, 2, 3},
		{"ab", "c"},
		{"a", "bc"},
		{[]string{"a", "bc"}},
		{[][]int32{{1}, {2}}},
		{[][]int32{{1, 2}, {}}},
		{[]uint8{1, 2}},
		{true},
		{false},
	} {
		digest := of(values...)
		if digest != of(values...) || len(digest) != 16 {
			t.Errorf("%v: digests %s, %s, want one of 16 digits", values, digest, of(values...))
		}
		if other := seen[digest]; other != "" {
			t.Errorf("%v and %s have the digest %s", values, other, digest)
		}
		seen[digest] = fmt.Sprint(values)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must.OK(t, os.WriteFile(name, []byte(text), 0o644))
}

func read(t *testing.T, name string) string {
	t.Helper()
	b := must.Get(os.ReadFile(name))(t)
	return string(b)
}
