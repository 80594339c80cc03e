// Package revisiontest holds what a package computes to its revisions: a golden has a digest of the numbers of every
// entry, and a test fails where the numbers changed and the revision did not.
package revisiontest

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/host"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata of what has a new revision")

// Entry is something whose numbers have a revision.
type Entry struct {
	Name     string // without white space
	Revision int    // at least 1
	Where    string // the file where the revision stands: "fedawe.go"
	Digest   string // of the numbers, see [Digest]; empty: this machine cannot compute them
}

// Check compares entries with a golden, a file of lines "name revision digest". With -update it writes the lines of new
// entries and of those whose revision was raised, and of no others. It skips the test where Go rounds otherwise than on
// the machines on which goldens are recorded.
func Check(t *testing.T, golden string, entries []Entry) {
	t.Helper()
	Recorded(t)
	wrong, err := check(golden, entries, *update)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range wrong {
		t.Errorf("%s: %s", golden, line)
	}
}

// Recorded skips the test where goldens are not recorded. Check does so itself; a test that computes for long asks
// before.
func Recorded(t *testing.T) {
	t.Helper()
	if name := host.Name(); name != host.Reference {
		t.Skipf("numbers of %s are of a class of their own, goldens are recorded on %s", name, host.Reference)
	}
}

// check says what is wrong with the entries. To update is to write what is right about them.
func check(golden string, entries []Entry, update bool) (wrong []string, err error) {
	b, err := os.ReadFile(golden)
	if err != nil && (!update || !errors.Is(err, fs.ErrNotExist)) {
		return nil, fmt.Errorf("revisiontest: %w", err)
	}
	recorded, err := parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("revisiontest: %s: %w", golden, err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Name == "" || strings.ContainsAny(e.Name, " \t\r\n#") || seen[e.Name] {
			return nil, fmt.Errorf("revisiontest: entry %q: want a word of its own", e.Name)
		}
		seen[e.Name] = true
		if e.Digest == "" {
			continue
		}
		old, known := recorded[e.Name]
		why, mayUpdate := e.compare(old, known)
		if mayUpdate && update {
			recorded[e.Name], why = e, ""
		}
		if why != "" {
			wrong = append(wrong, e.Name+": "+why)
		}
	}
	for name := range recorded {
		if !seen[name] {
			wrong = append(wrong, name+": nothing has this name: remove its line")
		}
	}
	slices.Sort(wrong)
	if text := format(recorded); update && text != string(b) {
		err = os.WriteFile(golden, []byte(text), 0o644)
	}
	return wrong, err
}

// compare says what is wrong with an entry, beside what was recorded of it, and whether it may be recorded anew.
func (e *Entry) compare(old Entry, known bool) (wrong string, mayUpdate bool) {
	switch {
	case e.Revision < 1:
		return fmt.Sprintf("its revision is %d in %s, want 1 or more", e.Revision, e.Where), false
	case !known:
		return "it is not recorded: run the test with -update", true
	case e.Revision < old.Revision:
		const low = "its revision is %d in %s and was %d: a revision only rises"
		return fmt.Sprintf(low, e.Revision, e.Where, old.Revision), false
	case e.Revision > old.Revision:
		return fmt.Sprintf("its revision is %d, recorded is %d: run the test with -update", e.Revision, old.Revision),
			true
	case e.Digest != old.Digest:
		const kept = "its numbers changed, but its revision is still %d: raise it in %s, then run the test with -update"
		return fmt.Sprintf(kept, e.Revision, e.Where), false
	}
	return "", false
}

const header = "# name, revision, digest of the numbers; recorded on " + host.Reference +
	", rewritten with -update for what has a new revision\n"

func parse(text string) (map[string]Entry, error) {
	entries := map[string]Entry{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var e Entry
		if n, err := fmt.Sscanf(line, "%s %d %s\n", &e.Name, &e.Revision, &e.Digest); n != 3 {
			return nil, fmt.Errorf("line %q: %w, want name, revision and digest", line, err)
		}
		if _, twice := entries[e.Name]; twice {
			return nil, fmt.Errorf("%s: two lines, want one", e.Name)
		}
		entries[e.Name] = e
	}
	return entries, nil
}

func format(entries map[string]Entry) string {
	var all []Entry
	for _, e := range entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	b := bytes.NewBufferString(header)
	for _, e := range all {
		fmt.Fprintf(b, "%s %d %s\n", e.Name, e.Revision, e.Digest)
	}
	return b.String()
}
