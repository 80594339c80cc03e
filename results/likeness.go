package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Likeness is what the runs of a mean have alike, beside the columns of their cell. Version, engine and device may
// differ: the same class of numbers comes of them.
type Likeness struct {
	Schema    int
	Settings  string // hash
	Numerics  string
	Revisions Revisions
	Checksum  string // of the files that were read; empty of data made from the seed
}

// Likeness returns that of the run.
func (i *RunInfo) Likeness() Likeness {
	l := Likeness{i.Schema, i.SettingsHash, i.Numerics, i.Revisions, i.DataChecksum}
	if strings.HasPrefix(l.Checksum, ofSeedKind) {
		l.Checksum = ""
	}
	return l
}

// Unlike says in what two differ, each with both values; nil: in nothing.
func (l Likeness) Unlike(other Likeness) (differ []string) {
	for _, d := range []struct {
		what string
		a, b any
	}{
		{"schema", l.Schema, other.Schema},
		{"settings", l.Settings, other.Settings},
		{"numerics", l.Numerics, other.Numerics},
		{"method revision", l.Revisions.Method, other.Revisions.Method},
		{"process revision", l.Revisions.Process, other.Revisions.Process},
		{"data revision", l.Revisions.Data, other.Revisions.Data},
		{"net revision", l.Revisions.Net, other.Revisions.Net},
		{"engine revision", l.Revisions.Engine, other.Revisions.Engine},
		{"data checksum", l.Checksum, other.Checksum},
	} {
		if d.a != d.b {
			differ = append(differ, fmt.Sprintf("%s %v and %v", d.what, d.a, d.b))
		}
	}
	return differ
}

// SameConditions reports whether runs of two methods were made under the same conditions.
func (l Likeness) SameConditions(other Likeness) bool {
	l.Settings, other.Settings, l.Revisions.Method, other.Revisions.Method = "", "", 0, 0
	return l == other
}

// group returns what the run is grouped by: all of its likeness, or, where unlike runs are wanted in one mean, what
// cannot be put into one even then.
func (l Likeness) group(mixed bool) Likeness {
	if mixed {
		return Likeness{Schema: l.Schema, Settings: l.Settings}
	}
	return l
}

// Conditions is what of a [Likeness] may set the rows of one cell apart, as a [SummaryRow] has it.
type Conditions struct{ Numerics, Revisions, Checksum string }

// Conditions returns those of runs that are alike.
func (l Likeness) Conditions() Conditions {
	return Conditions{l.Numerics, l.Revisions.String(), l.Checksum}
}

// Conditions returns those of the row's runs.
func (r *SummaryRow) Conditions() Conditions { return Conditions{r.Numerics, r.Revisions, r.Checksum} }

// Apart says in few words what is not so of all others, "cuda-sm90-tf32, data 3f2a1b…"; empty: nothing.
func (c Conditions) Apart(others []Conditions) string {
	var words []string
	for _, part := range []struct {
		name, own string
		of        func(Conditions) string
	}{
		{"numerics", c.Numerics, func(o Conditions) string { return o.Numerics }},
		{"revisions", "revisions " + c.Revisions, func(o Conditions) string { return o.Revisions }},
		{"data", "data " + shortSum(c.Checksum), func(o Conditions) string { return o.Checksum }},
	} {
		switch {
		case !slices.ContainsFunc(others, func(o Conditions) bool { return part.of(o) != part.of(c) }):
		case part.of(c) == "":
			words = append(words, part.name+" unknown")
		default:
			words = append(words, part.own)
		}
	}
	return strings.Join(words, ", ")
}

// shortSum is the beginning of a checksum, enough to tell some apart.
func shortSum(checksum string) string {
	const digits = 6
	if _, sum, ok := strings.Cut(checksum, ":"); ok {
		checksum = sum
	}
	if len(checksum) > digits {
		return checksum[:digits] + "…"
	}
	return checksum
}

// MixedWords says what is mixed in the runs, "cpu-fp32 and cuda-fp32"; empty where they are alike.
func MixedWords(of []*RunInfo) string {
	var words []string
	for _, value := range []func(l Likeness) string{
		func(l Likeness) string { return l.Numerics },
		func(l Likeness) string { return "revisions " + l.Revisions.String() },
		func(l Likeness) string { return "data " + l.Checksum },
	} {
		different, _ := Grouped(of, func(i *RunInfo) string { return value(i.Likeness()) })
		slices.Sort(different)
		if len(different) > 1 {
			words = append(words, strings.Join(different, " and "))
		}
	}
	return strings.Join(words, ", ")
}

// same returns what all runs have, or [Mixed].
func same(of []*RunInfo, value func(*RunInfo) string) string {
	different, _ := Grouped(of, value)
	if len(different) > 1 {
		return Mixed
	}
	return cmp.Or(append(different, "")...)
}

// About puts into the row how its runs came about.
func (r *SummaryRow) About(of []*RunInfo) {
	r.Version = same(of, func(i *RunInfo) string { return i.Version })
	r.Engine = same(of, func(i *RunInfo) string { return i.Engine })
	r.Precision = same(of, func(i *RunInfo) string { return i.Precision })
	r.Device = same(of, func(i *RunInfo) string { return i.Device })
	r.Numerics = same(of, func(i *RunInfo) string { return i.Numerics })
	r.Revisions = same(of, func(i *RunInfo) string { return i.Revisions.String() })
	r.Checksum = same(of, func(i *RunInfo) string { return i.Likeness().Checksum })
	if words := MixedWords(of); words != "" && r.Status == CellOK {
		r.Status, r.Error = CellMixed, words
	}
	if r.Status == CellOK && slices.ContainsFunc(of, func(i *RunInfo) bool { return i.Schema < Schema }) {
		r.Status, r.Error = CellUnverified, fmt.Sprintf("run.json of schema 1, want %d", Schema)
	}
}
