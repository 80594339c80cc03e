package track

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// docs/tracking.md gives the header to those who write or read histories with programs of their own: its table has the
// columns of a file in their order, and the fields of the fingerprint in theirs.
func TestHeaderIsThatOfTheDocs(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/tracking.md"))(t)
	_, below, ok := strings.Cut(string(text),
		"The header is exactly this, in this order:\n\n| column | holds |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/tracking.md: no table of the header, want one")
	}
	var listed []string
	for line := range strings.Lines(below) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			break
		}
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			listed = append(listed, name[1])
		}
	}
	columns := files.CSVHeader[row]()
	if !slices.Equal(listed, columns) {
		t.Errorf("docs/tracking.md lists the columns\n%s, want\n%s", strings.Join(listed, ","), header())
	}
	fields := strings.Join(files.CSVHeader[Machine](), ",")
	if want := "in this order: `" + fields + "`"; !strings.Contains(string(text), want) {
		t.Errorf("docs/tracking.md: %q is not there, want it", want)
	}
}
