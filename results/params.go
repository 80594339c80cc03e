package results

import (
	"iter"
	"slices"
	"strings"
)

// paramsSeparator stands between two settings of [Params].
const paramsSeparator = ";"

// Params are settings of a run as text: name=value pairs, the name being a flag of `rollcall run`, with semicolons
// between them. In CSV they are sorted and hold what differs from the preset and has no column of its own; in a table
// of a paper they hold what its experiments set, in any order, and of a name that is there twice the later value
// counts.
type Params string

// NewParams returns settings, each a name=value pair or several with semicolons between them.
func NewParams(settings ...string) Params {
	return Params(strings.Join(slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return s == "" }),
		paramsSeparator))
}

// All goes through names and values, in order.
func (p Params) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, setting := range p.list() {
			if name, value, _ := strings.Cut(setting, "="); !yield(name, value) {
				return
			}
		}
	}
}

// And returns p with more behind it.
func (p Params) And(more ...Params) Params {
	all := []string{string(p)}
	for _, m := range more {
		all = append(all, string(m))
	}
	return NewParams(all...)
}

// Get returns the value of a setting; "" where there is none.
func (p Params) Get(name string) (value string) {
	for n, v := range p.All() {
		if n == name {
			value = v
		}
	}
	return value
}

// Names returns the names, in order.
func (p Params) Names() (names []string) {
	for name := range p.All() {
		names = append(names, name)
	}
	return names
}

// Only returns the settings that have one of the names.
func (p Params) Only(names ...string) Params {
	return p.keep(func(setting string) bool { return slices.Contains(names, nameOf(setting)) })
}

// Without returns the settings that have none of the names.
func (p Params) Without(names ...string) Params {
	return p.keep(func(setting string) bool { return !slices.Contains(names, nameOf(setting)) })
}

// Minus returns the settings that more does not have with the same value.
func (p Params) Minus(more Params) Params {
	drop := more.list()
	return p.keep(func(setting string) bool { return !slices.Contains(drop, setting) })
}

// Words returns the settings with something else between them, for people.
func (p Params) Words(separator string) string { return strings.Join(p.list(), separator) }

// CommonParams returns the settings that all rows have, in the order of the first; params returns those of a row.
func CommonParams[T any](rows []T, params func(T) Params) (common Params) {
	for i, row := range rows {
		all := params(row).list()
		if i == 0 {
			common = params(row)
			continue
		}
		common = common.keep(func(setting string) bool { return slices.Contains(all, setting) })
	}
	return common
}

func (p Params) keep(wanted func(setting string) bool) Params {
	return NewParams(slices.DeleteFunc(p.list(), func(s string) bool { return !wanted(s) })...)
}

// list returns the name=value pairs.
func (p Params) list() []string {
	if p == "" {
		return nil
	}
	return strings.Split(string(p), paramsSeparator)
}

func nameOf(setting string) string {
	name, _, _ := strings.Cut(setting, "=")
	return name
}
