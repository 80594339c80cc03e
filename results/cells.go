package results

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// Setup says what was trained on what for a row, and for which table. Its fields are the first columns of
// every curve and summary. The row's Params hold all other settings that differ from the preset.
type Setup struct {
	Table        string         `csv:"table"`        // fedawe-2 and the like; empty for a single run
	Method       string         `csv:"method"`       // fedawe, fedavg-active, …
	Preset       string         `csv:"preset"`       // code, paper or code-no-momentum
	Data         string         `csv:"data"`         // the data set trained on: cifar10, synthetic, …
	Net          string         `csv:"net"`          // cnn-cifar10, …
	Availability string         `csv:"availability"` // stationary, sine, …
	Clients      int            `csv:"clients"`      // N
	Alpha        files.Optional `csv:"alpha"`        // Dirichlet parameter of the split; missing for other splits
}

// cellName matches the names that methods, data sets and tables may have. A name becomes part of file names, of pages
// and of CSV files, where spreadsheets take a text that begins with = + - @ for a formula.
var cellName = regexp.MustCompile(`^[\pL\pN(][\pL\pN ._+()-]*$`)

// Named returns an error for the first field that is not a valid name, or a number that no setting has. Empty fields
// are valid.
func (c Setup) Named() error {
	if c.Clients < 0 {
		return fmt.Errorf("clients %d, want 0 or more", c.Clients)
	}
	if c.Alpha.Valid && !(c.Alpha.Value > 0) {
		return fmt.Errorf("alpha %s, want a number above 0, or none", c.Alpha)
	}
	return named("table", c.Table, "method", c.Method, "preset", c.Preset, "data", c.Data, "net", c.Net,
		"availability", c.Availability)
}

// named checks pairs of a column and its text, for [Setup.Named] and for the columns that it does not have.
func named(columns ...string) error {
	for i := 0; i < len(columns); i += 2 {
		if text := columns[i+1]; text != "" && !cellName.MatchString(text) {
			return fmt.Errorf("%s %q, want a name: a letter or a digit, then those, spaces and . _ + ( ) -",
				columns[i], text)
		}
	}
	return nil
}

// CellKey names a cell in every table, because tables share runs. It holds every setting that decides what is computed,
// except the seed: the columns of [Setup] without the table, and the params.
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

// Key returns the key of the cell with the given params.
func (c Setup) Key(params Params) CellKey {
	return CellKey{c.Method, c.Preset, c.Data, c.Net, c.Availability, c.Clients, c.Alpha, params}
}

// KeyColumns returns the CSV names of the columns of a [CellKey], in order.
func KeyColumns() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[CellKey]()) {
		names = append(names, f.Tag.Get("csv"))
	}
	return names
}

// Ignoring returns the key with the named columns set to zero, so that cells which differ only there become equal.
func (k CellKey) Ignoring(columns []string) CellKey {
	for i, name := range KeyColumns() {
		if slices.Contains(columns, name) {
			reflect.ValueOf(&k).Elem().Field(i).SetZero()
		}
	}
	return k
}

// String returns the key as words for people: fedawe cifar10 sine code clients=100 alpha=0.1.
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

// Cell holds the runs of one cell that may share a mean: they differ in their seeds and are alike otherwise.
type Cell struct {
	CellKey
	Tables []string // the tables for which its runs were made
	Runs   []Run    // by ascending seed
	// how its runs differ from other runs of the same cell, "[cuda-sm90-tf32]", or in what they differ; usually empty
	Mark string
}

// Cells groups runs by cell, in the order of each cell's first run. Runs of one cell that are not alike become separate
// cells, unless mixed is true. A run that did not end has no run.json to tell; it joins the first group of its cell.
func Cells(runs []Run, mixed bool) (cells []Cell) {
	type group struct {
		key  CellKey
		like Likeness
	}
	// A run without run.json takes the likeness of the first run of its cell that has one.
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
		c := Cell{CellKey: key.key, Runs: groups[key]}
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

// markOf returns the Mark of a [Cell]: how its runs differ from the others of the same cell, which are like others.
func markOf(runs []Run, like Likeness, others []Likeness) string {
	var infos []*RunInfo
	for i := range runs {
		if runs[i].Info != nil {
			infos = append(infos, runs[i].Info)
		}
	}
	var conditions []Conditions
	settings := false // the same columns but other settings: a default has changed
	for _, other := range others {
		conditions = append(conditions, other.Conditions())
		settings = settings || other.Settings != like.Settings
	}
	words, mixed := like.Conditions().Apart(conditions), MixedWords(infos)
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

// Complete returns the curves of the runs whose status is [RunComplete], the only ones that count in a mean.
func (c *Cell) Complete() (curves [][]CurveRow) {
	for i := range c.Runs {
		if c.Runs[i].Status() == RunComplete {
			curves = append(curves, c.Runs[i].Curve)
		}
	}
	return curves
}

// Status returns what [CommonStatus] returns for the runs.
func (c *Cell) Status() string {
	var statuses []RunStatus
	for i := range c.Runs {
		statuses = append(statuses, c.Runs[i].Status())
	}
	return CommonStatus(statuses)
}

// CommonStatus returns the status that all runs share, or how many runs have which: "2 complete, 1 diverged". The
// statuses are those of [RunStatuses] or [RunRunning], one at least.
func CommonStatus(statuses []RunStatus) string {
	counts := map[RunStatus]int{}
	for _, s := range statuses {
		counts[s]++
	}
	if len(counts) == 1 {
		return string(statuses[0])
	}
	var parts []string
	for _, s := range slices.Insert(RunStatuses(), 1, RunRunning) { // after complete
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

// Settings returns every setting by its name, from the first run with a run.json; nil if there is no such run.
func (c *Cell) Settings() map[string]any {
	i := slices.IndexFunc(c.Runs, func(r Run) bool { return r.Info != nil })
	if i < 0 {
		return nil
	}
	return c.Runs[i].Settings()
}

// Grouped groups rows by a key. The keys are in the order in which they first occur.
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
