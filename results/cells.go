package results

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"rollcall/results/files"
)

// Cell says which cell of which table a row belongs to; the first columns of every curve and summary.
// What else differs from the preset is in the Params of the row.
type Cell struct {
	Table        string         `csv:"table"`        // fedawe-2 and the like; empty for a single run
	Method       string         `csv:"method"`       // fedawe, fedavg-active, …
	Preset       string         `csv:"preset"`       // code or paper
	Data         string         `csv:"data"`         // what was really trained on: cifar10, synthetic, …
	Net          string         `csv:"net"`          // cnn-cifar10, …
	Availability string         `csv:"availability"` // stationary, sine, …
	Clients      int            `csv:"clients"`      // N
	Alpha        files.Optional `csv:"alpha"`        // Dirichlet parameter of the split; missing for other splits
}

// cellName is what a method, a data set, a table may be called. The name becomes part of the names of files, and stands
// in pages and in CSV, where a spreadsheet takes what begins with = + - @ for a formula.
var cellName = regexp.MustCompile(`^[\pL\pN(][\pL\pN ._+()-]*$`)

// Named reports the first name of the cell that is none. Each may be missing.
func (c Cell) Named() error {
	return named("table", c.Table, "method", c.Method, "preset", c.Preset, "data", c.Data, "net", c.Net,
		"availability", c.Availability)
}

// named takes columns and their texts.
func named(columns ...string) error {
	for i := 0; i < len(columns); i += 2 {
		if text := columns[i+1]; text != "" && !cellName.MatchString(text) {
			return fmt.Errorf("%s %q, want a name: a letter or a digit, then those, spaces and . _ + ( ) -",
				columns[i], text)
		}
	}
	return nil
}

// CellKey names a cell across tables, which share runs: everything that decides what is computed, but for the seed. Its
// columns are those of [Cell] without the table, and the params.
type CellKey struct {
	Method       string         `csv:"method"`
	Preset       string         `csv:"preset"`
	Data         string         `csv:"data"`
	Net          string         `csv:"net"`
	Availability string         `csv:"availability"`
	Clients      int            `csv:"clients"`
	Alpha        files.Optional `csv:"alpha"`
	Params       Params         `csv:"params"`
}

// Key returns the key of a cell that has these params.
func (c Cell) Key(params Params) CellKey {
	return CellKey{c.Method, c.Preset, c.Data, c.Net, c.Availability, c.Clients, c.Alpha, params}
}

// KeyColumns are the names of the columns of a [CellKey].
func KeyColumns() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[CellKey]()) {
		names = append(names, f.Tag.Get("csv"))
	}
	return names
}

// Ignoring blanks columns of a key.
func (k CellKey) Ignoring(columns []string) CellKey {
	for i, name := range KeyColumns() {
		if slices.Contains(columns, name) {
			reflect.ValueOf(&k).Elem().Field(i).SetZero()
		}
	}
	return k
}

func (k CellKey) String() string {
	words := []string{k.Method, k.Data, k.Availability, k.Preset, fmt.Sprintf("clients=%d", k.Clients)}
	if k.Alpha.Valid {
		words = append(words, "alpha="+k.Alpha.String())
	}
	if k.Params != "" {
		words = append(words, k.Params.Words(" "))
	}
	return strings.Join(words, " ")
}

// RunCell is the runs of one cell, of different seeds, that are alike.
type RunCell struct {
	CellKey
	Tables []string // that its runs were made for
	Runs   []Run    // ascending in their seeds
	// what sets it apart from other runs of the cell, [cuda-sm90-tf32], or what is mixed; as a rule empty
	Mark string
}

// Cells sorts runs by cell, in the order of the first of each. Runs of one cell that are not alike are cells of their
// own, unless they are to be mixed; those of which nobody knows, since they did not end, are with the first.
func Cells(runs []Run, mixed bool) (cells []RunCell) {
	type group struct {
		key  CellKey
		like Likeness
	}
	first := map[CellKey]Likeness{}
	for i := range runs {
		if _, known := first[runs[i].Key()]; !known && runs[i].Info != nil {
			first[runs[i].Key()] = runs[i].Likeness()
		}
	}
	keys, groups := Grouped(runs, func(r Run) group {
		like := r.Likeness()
		if r.Info == nil {
			like = first[r.Key()]
		}
		return group{r.Key(), like.group(mixed)}
	})
	for _, key := range keys {
		c := RunCell{CellKey: key.key, Runs: groups[key]}
		c.Tables, _ = Grouped(c.Runs, func(r Run) string { return r.Table })
		slices.SortStableFunc(c.Runs, func(a, b Run) int { return cmp.Compare(a.Seed, b.Seed) })
		var others []Likeness
		for _, other := range keys {
			if other.key == key.key && other.like.Schema == key.like.Schema {
				others = append(others, other.like)
			}
		}
		c.Mark = markOf(c.Runs, key.like, others)
		cells = append(cells, c)
	}
	return cells
}

// markOf says what sets the runs of a cell apart from others of it, or what is mixed in them.
func markOf(runs []Run, like Likeness, others []Likeness) string {
	var of []*RunInfo
	for i := range runs {
		if runs[i].Info != nil {
			of = append(of, runs[i].Info)
		}
	}
	var beside []Conditions
	settings := false // other ones, of the same columns: a default has changed
	for _, other := range others {
		beside = append(beside, other.Conditions())
		settings = settings || other.Settings != like.Settings
	}
	words, mixed := like.Conditions().Apart(beside), MixedWords(of)
	switch {
	case mixed != "":
		words = "mixed: " + mixed
	case like.Schema > 0 && like.Schema < Schema:
		words = string(CellUnverified)
	case words == "" && settings:
		words = "settings " + like.Settings
	}
	if words == "" {
		return ""
	}
	return "[" + words + "]"
}

// Complete returns the curves of the runs that are complete.
func (c *RunCell) Complete() (curves [][]CurveRow) {
	for i := range c.Runs {
		if c.Runs[i].Status() == RunComplete {
			curves = append(curves, c.Runs[i].Curve)
		}
	}
	return curves
}

// Status says how the runs of the cell ended: complete, or how many of them how.
func (c *RunCell) Status() string {
	counts := map[RunStatus]int{}
	for i := range c.Runs {
		counts[c.Runs[i].Status()]++
	}
	if len(counts) == 1 {
		return string(c.Runs[0].Status())
	}
	var parts []string
	for _, s := range RunStatuses() {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

// Settings returns every setting by its name; none where no run has a run.json.
func (c *RunCell) Settings() map[string]any {
	i := slices.IndexFunc(c.Runs, func(r Run) bool { return r.Info != nil })
	if i < 0 {
		return nil
	}
	settings, _ := c.Runs[i].Info.Settings.(map[string]any)
	return settings
}

// Grouped sorts rows by a key. Keys come in the order of the first row that has each.
func Grouped[T any, K comparable](rows []T, key func(T) K) (keys []K, groups map[K][]T) {
	groups = map[K][]T{}
	for _, r := range rows {
		k := key(r)
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], r)
	}
	return keys, groups
}
