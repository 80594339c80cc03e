package papers

import (
	"strings"
	"testing"
)

// Every table and figure is an item of one paper, in the order in which the paper has it, and its title begins with the
// paper and the item. The slides show figures of the journal paper again.
func TestItems(t *testing.T) {
	seen := map[string]string{}
	for _, d := range Documents() {
		labels := map[string]bool{}
		for _, item := range d.Items {
			what := d.Name + ", " + item.Label
			if item.Label == "" || labels[item.Label] {
				t.Errorf("%s: the label is empty or there twice", what)
			}
			labels[item.Label] = true
			if item.ID == "" {
				if item.Shows == "" {
					t.Errorf("%s: want what it shows", what)
				}
				continue
			}
			if item.Nothing != "" || item.Shows != "" {
				t.Errorf("%s: %q and %q, want neither: %s says it", what, item.Nothing, item.Shows, item.ID)
			}
			title := ""
			if table, err := TableByID(item.ID); err == nil {
				title = table.Title
			} else if figure, err := FigureByID(item.ID); err == nil {
				title = figure.Title
			} else {
				t.Errorf("%s: %s is neither a table nor a figure", what, item.ID)
			}
			if d.Name == "CA-Fed, slides" && !strings.HasPrefix(title, d.Name) {
				continue // a figure of the ToN paper
			}
			if !strings.HasPrefix(title, what+": ") {
				t.Errorf("%s: title %q, want it to begin with the item", item.ID, title)
			}
			if seen[item.ID] != "" {
				t.Errorf("%s: is %s and %s", item.ID, seen[item.ID], what)
			}
			seen[item.ID] = what
		}
	}
	for _, id := range append(TableNames(), FigureNames()...) {
		if seen[id] == "" {
			t.Errorf("%s: in no document, want an item in items.go", id)
		}
	}
}
