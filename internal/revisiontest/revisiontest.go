// Package revisiontest makes sure that whoever changes the numbers of a method, a net or a data set raises its
// revision. A golden file has the revision and a digest of the numbers of every entry. A test fails if the digest has
// changed and the revision has not. Runs of different revisions are never in one mean, so that a forgotten revision
// would mix them.
package revisiontest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/host"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata of entries with a new revision")

// Entry is something whose numbers have a revision.
type Entry struct {
	Name     string // without white space
	Revision int    // at least 1
	Where    string // the file with the revision: "fedawe.go"
	Digest   string // the [Digest] of the numbers; empty: this machine cannot compute them
}

// Check compares entries with a golden, a file of lines "name revision digest". With -update it writes the lines of new
// entries and of entries with a raised revision, and no others. It skips the test on machines where Go rounds
// differently from the machines on which goldens are recorded.
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

// Recorded skips the test where goldens are not recorded. Check calls it; a long test calls it first.
func Recorded(t *testing.T) {
	t.Helper()
	if name := host.Name(); name != host.Reference {
		t.Skipf("numbers of %s are of a class of their own, goldens are recorded on %s", name, host.Reference)
	}
}

// check returns what is wrong with the entries, one line each. With update it writes the golden.
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

// compare returns what is wrong with an entry, given its line in the golden, and whether -update may replace that line.
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
		return fmt.Sprintf("its revision is %d, recorded is %d: run the test with -update",
			e.Revision, old.Revision), true
	case e.Digest != old.Digest:
		const kept = "its numbers changed, but its revision is still %d: raise it in %s, then run the test with -update"
		return fmt.Sprintf(kept, e.Revision, e.Where), false
	}
	return "", false
}

// header is the first line of every golden.
const header = "# name, revision, digest of the numbers; recorded on " + host.Reference +
	", rewritten with -update for what has a new revision\n"

// parse reads the lines of a golden, by name.
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

// format returns the text of a golden, sorted by name.
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

// Digest is the SHA-256 of numbers and words, bit by bit, so that −0 differs from 0. The zero value is ready to use.
type Digest struct{ sum hash.Hash }

// Add adds strings, ints, numbers of a fixed size, and slices of these, also nested ones. It adds the length of each
// too, so that ("ab", "c") and ("a", "bc") differ.
func (d *Digest) Add(values ...any) {
	for _, v := range values {
		d.add(reflect.ValueOf(v))
	}
}

func (d *Digest) add(v reflect.Value) {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	switch v.Kind() { // a blank ends every number, so that 1 23 and 12 3 differ
	case reflect.String:
		fmt.Fprintf(d.sum, "%d %s", v.Len(), v.String())
	case reflect.Int:
		fmt.Fprintf(d.sum, "%d ", v.Int())
	case reflect.Slice:
		fmt.Fprintf(d.sum, "%d ", v.Len())
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Int, reflect.Slice:
			for i := range v.Len() {
				d.add(v.Index(i))
			}
			return
		}
		fallthrough
	default:
		if err := binary.Write(d.sum, binary.LittleEndian, v.Interface()); err != nil {
			panic(err) // the type has no fixed size
		}
	}
}

// String returns the first 16 hex digits; "" if nothing was added.
func (d *Digest) String() string {
	if d.sum == nil {
		return ""
	}
	return hex.EncodeToString(d.sum.Sum(nil)[:8])
}
