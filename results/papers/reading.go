package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
)

// Reading is a way to read what a paper leaves open: settings over those of a column in a preset. `rollcall table` and
// `rollcall figure` have --reading for it.
type Reading struct {
	Name string         // docs/presets.md says what it takes the paper to mean
	Set  results.Params // a setting that a run does not use is ignored
	// T, where the reading is about it; 0: the table's or figure's own
	Rounds int
	// It was chosen when the printed number was known, so that a verdict under it is weaker than one without.
	Late bool
}

// The readings of ToN's and INFOCOM's figures. The first three are about the preset paper.
var (
	// F̂* is the smallest loss that a client, or for a start any client, has reported; not 0, where F̂ starts.
	fstarMin = Reading{Name: "fstar-min", Set: "fstar=min"}
	// E, which ToN does not print, is one local step on all data sets, and not one pass over the samples.
	oneStep = Reading{Name: "one-step", Set: tonLocalStep, Late: true}
	// The factor of the bias is 1, as in the released code and INFOCOM, and not ToN's 4κ̄².
	bias1 = Reading{Name: "bias-1", Set: "bias-const=1", Late: true}
	// Synthetic's clients have models around a shared one, and inputs around 0: the printed generator's γ changes no
	// label.
	sharedModel = Reading{Name: "shared-model", Set: "leaf-shared=true", Late: true}
)

// The readings of FedAR's tables and figures.
var fedarReadings = []Reading{
	// g(t) is c·max(√t, √t_0), Theorem 2's for losses that are not convex, and not t_0 + t/b; c is not legible in our
	// text of the paper.
	{Name: "g-1", Set: "fedar-g=1"},
	{Name: "g-2", Set: "fedar-g=2"},
	{Name: "g-3", Set: "fedar-g=3"},
	// T, which is not printed, is 200, which the printed curves fit.
	{Name: "T-200", Rounds: 200, Late: true},
}

// readings returns those among list with these names. An error lists the known names.
func readings(list []Reading, names []string) (found []Reading, err error) {
	for _, name := range names {
		i := slices.IndexFunc(list, func(r Reading) bool { return r.Name == name })
		switch {
		case i >= 0:
			found = append(found, list[i])
		case list == nil:
			return nil, fmt.Errorf("--reading %s: of no use, as there is one reading alone", name)
		default:
			var known []string
			for _, r := range list {
				known = append(known, r.Name)
			}
			return nil, fmt.Errorf("--reading %s: unknown, want one of %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}

// Read returns the column in readings of these names, which must be among its own.
func (c Column) Read(names []string) (Column, error) {
	found, err := readings(c.Readings, names)
	for _, r := range found {
		c.read = c.read.And(r.Set)
	}
	return c, err
}

// ReadRounds returns T in readings of these names: rounds, unless one of them has another.
func (c Column) ReadRounds(names []string, rounds int) (int, error) {
	found, err := readings(c.Readings, names)
	for _, r := range found {
		rounds = cmp.Or(r.Rounds, rounds)
	}
	return rounds, err
}

// ReadingNames returns the names of all readings, in the order of the papers.
func ReadingNames() (names []string) {
	for _, list := range [][]Reading{{fstarMin, bias1, sharedModel, oneStep}, fedarReadings} {
		for _, r := range list {
			names = append(names, r.Name)
		}
	}
	return names
}

// AsRead returns the table in the readings that its rows are in, and their names: a reading whose settings one of them
// has, or whose number of rounds all of them have.
func (t *Table) AsRead(rows []results.SummaryRow) (read Table, names []string) {
	read = *t
	if len(t.Columns) == 0 || len(rows) == 0 {
		return read, nil
	}
	for _, r := range t.Columns[0].Readings {
		is := slices.ContainsFunc(rows, func(row results.SummaryRow) bool {
			return r.Set != "" && r.Set.Minus(row.Params) == ""
		})
		if r.Rounds > 0 {
			is = !slices.ContainsFunc(rows, func(row results.SummaryRow) bool {
				return row.N > 0 && row.Rounds != r.Rounds
			})
		}
		if !is {
			continue
		}
		names = append(names, r.Name)
		if r.Rounds > 0 { // t may have them already
			read.Rounds, read.Printed = r.Rounds, slices.Clone(t.Printed)
			for i := range read.Printed {
				read.Printed[i].Rounds = r.Rounds
			}
		}
	}
	return read, names
}

// Chosen reports whether a preset with readings was chosen when the printed numbers were known, and the names of the
// readings that had been before; it was not for a table or figure whose numbers do not depend on it.
func (c *Column) Chosen(preset string, names []string) (late bool, before []string) {
	list, err := readings(c.Readings, names)
	if err != nil {
		return false, nil
	}
	if was, changed := c.Late[preset]; changed && !slices.Contains(names, was) {
		late, before = true, append(before, was)
	}
	for _, r := range list {
		if r.Late {
			late = true
		} else {
			before = append(before, r.Name)
		}
	}
	return late, before
}
