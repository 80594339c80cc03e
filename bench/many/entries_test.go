package many

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// Every entry of every table and figure is settings that a run can have, in all its presets, and they have the hash
// they had when commit 24feb20 made them: finished runs of the papers' tables stay found. The hashes of CA-Fed's
// entries that changed since, and those of code-no-momentum, are of the commit that gave its papers a third reading.
// mifa and fedvarp have --memory since.
func TestEntriesResolve(t *testing.T) {
	text, err := os.ReadFile("testdata/entries.txt") // table-or-figure preset column-or-run method hash
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndex(strings.TrimSpace(line), " ")
		want[line[:at]] = strings.TrimSpace(line[at:])
	}
	entry := func(id, preset string, rounds, i int, column papers.Column, method string) {
		w := Wanted{Preset: preset}
		s, err := w.settings(id, rounds, column, method)
		if err != nil {
			t.Errorf("%s, preset %s, entry %d, %s: %v", id, preset, i, method, err)
			return
		}
		key := strings.Join([]string{id, preset, strconv.Itoa(i), method}, " ")
		if hash := want[key]; hash != results.Hash(s) {
			t.Errorf("%s: hash %s, want %s", key, results.Hash(s), hash)
		}
		delete(want, key)
	}
	for _, id := range papers.TableNames() {
		table := must.Get(papers.TableByID(id))(t)
		for i, column := range table.Columns {
			for _, method := range table.Methods {
				for _, preset := range column.Presets() {
					entry(id, preset, table.Rounds, i, column, method)
				}
			}
		}
	}
	for _, figure := range papers.Figures() {
		for i, r := range figure.Runs {
			for _, preset := range r.Presets() {
				entry(figure.ID, preset, figure.Rounds, i, r.Column, r.Method)
			}
		}
	}
	for key := range want {
		t.Errorf("%s: no such entry, want it", key)
	}
}
