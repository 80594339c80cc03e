package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Likeness holds what must be equal, besides the cell, for runs to share a mean. Version, engine and device may differ,
// since Numerics and Revisions say whether they compute the same numbers.
type Likeness struct {
	Schema    int
	Settings  string // hash
	Numerics  string
	Revisions Revisions
	Checksum  string // of the data files that were read; empty if the data were generated from the seed
}

// Likeness returns the likeness of the run that this file describes.
func (i *RunInfo) Likeness() Likeness {
	l := Likeness{i.Schema, i.SettingsHash, i.Numerics, i.Revisions, i.DataChecksum}
	if IsOfSeed(l.Checksum) {
		l.Checksum = ""
	}
	return l
}

// Unlike lists the fields in which two differ, each with both values: "settings 1a and 2b". It is nil if they are
// equal.
func (l Likeness) Unlike(other Likeness) (differ []string) {
	return l.differences(other, "%s %v and %v")
}

// Unwanted lists the fields in which l is not as it is wanted, "method revision 1, want 2"; nil: it is.
func (l Likeness) Unwanted(want Likeness) (differ []string) {
	return l.differences(want, "%s %v, want %v")
}

func (l Likeness) differences(other Likeness, format string) (differ []string) {
	for _, d := range []struct {
		what string
		a, b any
	}{
		{"schema", l.Schema, other.Schema},
		{"settings", l.Settings, other.Settings},
		{"numerics", l.Numerics, other.Numerics},
		{"method revision", l.Revisions.Method, other.Revisions.Method},
		{"availability model revision", l.Revisions.Availability, other.Revisions.Availability},
		{"data revision", l.Revisions.Data, other.Revisions.Data},
		{"net revision", l.Revisions.Net, other.Revisions.Net},
		{"engine revision", l.Revisions.Engine, other.Revisions.Engine},
		{"data checksum", l.Checksum, other.Checksum},
	} {
		if d.a != d.b {
			differ = append(differ, fmt.Sprintf(format, d.what, d.a, d.b))
		}
	}
	return differ
}

// SameConditions reports whether runs of two methods were made under the same conditions.
func (l Likeness) SameConditions(other Likeness) bool {
	l.Settings, other.Settings, l.Revisions.Method, other.Revisions.Method = "", "", 0, 0
	return l == other
}

// group returns the fields that separate the runs of a cell: all of them, or, if the user asked for means over unlike
// runs, only the fields that can never be mixed.
func (l Likeness) group(mixed bool) Likeness {
	if mixed {
		return Likeness{Schema: l.Schema, Settings: l.Settings}
	}
	return l
}

// Conditions are the fields of a [Likeness] that a [SummaryRow] has too. Two rows of one cell may differ in them.
type Conditions struct{ Numerics, Revisions, Checksum string }

// Conditions returns the conditions of runs with this likeness.
func (l Likeness) Conditions() Conditions {
	return Conditions{l.Numerics, l.Revisions.String(), l.Checksum}
}

// Conditions returns the conditions of the row's runs.
func (r *SummaryRow) Conditions() Conditions { return Conditions{r.Numerics, r.Revisions, r.Checksum} }

// Apart names the conditions in which c differs from at least one of the others, "cuda-sm90-tf32, data 3f2a1b…"; empty
// if all are equal.
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

// shortSum returns the first digits of a checksum, enough for people to tell a few checksums apart.
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

// MixedWords names the conditions in which runs differ, "cpu-fp32 and cuda-fp32"; empty if they are alike.
func MixedWords(infos []*RunInfo) string {
	var words []string
	for _, value := range []func(l Likeness) string{
		func(l Likeness) string { return l.Numerics },
		func(l Likeness) string { return "revisions " + l.Revisions.String() },
		func(l Likeness) string { return "data " + l.Checksum },
	} {
		if text := all(infos, func(i *RunInfo) string { return value(i.Likeness()) }); strings.Contains(text, And) {
			words = append(words, text)
		}
	}
	return strings.Join(words, ", ")
}

// all returns the values that the runs have, each once, sorted: "cpu-avx2 and cpu-avx512".
func all(infos []*RunInfo, value func(*RunInfo) string) string {
	different, _ := Grouped(infos, value)
	slices.Sort(different)
	return strings.Join(different, And)
}

// same returns the value that all runs share, or [mixedText].
func same(infos []*RunInfo, value func(*RunInfo) string) string {
	different, _ := Grouped(infos, value)
	if len(different) > 1 {
		return mixedText
	}
	return cmp.Or(append(different, "")...)
}

// About sets the columns that say how the row's runs were made, and the status if the runs are mixed or unverified.
func (r *SummaryRow) About(infos []*RunInfo) {
	r.Version = all(infos, func(i *RunInfo) string { return i.Version })
	r.Engine = all(infos, func(i *RunInfo) string { return i.Engine })
	r.Precision = all(infos, func(i *RunInfo) string { return i.Precision })
	r.Device = all(infos, func(i *RunInfo) string { return i.Device })
	for _, i := range infos {
		r.Subset = i.Subset // the same in all runs of a cell
	}
	r.Numerics = same(infos, func(i *RunInfo) string { return i.Numerics })
	r.Revisions = same(infos, func(i *RunInfo) string { return i.Revisions.String() })
	r.Checksum = same(infos, func(i *RunInfo) string { return i.Likeness().Checksum })
	if words := MixedWords(infos); words != "" && r.Status == CellOK {
		r.Status, r.Error = CellMixed, words
	}
	if r.Status == CellOK && slices.ContainsFunc(infos, func(i *RunInfo) bool { return i.Schema < Schema }) {
		r.Status, r.Error = CellUnverified, fmt.Sprintf("run.json of schema 1, want %d", Schema)
	}
}
