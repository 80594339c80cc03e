package results

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// paramsSeparator stands between two settings of [Params].
const paramsSeparator = ";"

// Params are settings of a run as text: name=value pairs with semicolons between them, where the name is a flag of
// `rollcall run`. In CSV files they are sorted, and hold the settings that differ from the preset and have no column.
// In a table of a paper they hold the settings of its experiments in any order; the last value of a name counts.
type Params string

// Rates are the learning rates: settings that are chosen for each method, and sometimes for each column of a table, so
// that the method is compared at its best.
var Rates = []string{"lr", "server-lr"}

// NewParams joins settings. Each argument is a name=value pair, several pairs with semicolons between them, or empty.
func NewParams(settings ...string) Params {
	given := slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return s == "" })
	return Params(strings.Join(given, paramsSeparator))
}

// All yields the names and values in order.
func (p Params) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, setting := range p.list() {
			if name, value, _ := strings.Cut(setting, "="); !yield(name, value) {
				return
			}
		}
	}
}

// And returns the settings of p followed by the settings of more.
func (p Params) And(more ...Params) Params {
	all := []string{string(p)}
	for _, m := range more {
		all = append(all, string(m))
	}
	return NewParams(all...)
}

// Get returns the last value of a setting; "" if there is none.
func (p Params) Get(name string) (value string) {
	for n, v := range p.All() {
		if n == name {
			value = v
		}
	}
	return value
}

// Names returns the names of the settings in order, repeated ones too.
func (p Params) Names() (names []string) {
	for name := range p.All() {
		names = append(names, name)
	}
	return names
}

// Only returns the settings with one of the names.
func (p Params) Only(names ...string) Params {
	return p.keep(func(setting string) bool { return slices.Contains(names, nameOf(setting)) })
}

// Without returns the settings with none of the names.
func (p Params) Without(names ...string) Params {
	return p.keep(func(setting string) bool { return !slices.Contains(names, nameOf(setting)) })
}

// Unnamed returns the settings without the names of files, whose content names a run: see [FileSettings].
func (p Params) Unnamed() Params { return p.Without(slices.Collect(maps.Keys(FileSettings))...) }

// Files returns the settings that name files.
func (p Params) Files() Params { return p.Only(slices.Collect(maps.Keys(FileSettings))...) }

// Minus returns the settings that are not also in more with the same value.
func (p Params) Minus(more Params) Params {
	drop := more.list()
	return p.keep(func(setting string) bool { return !slices.Contains(drop, setting) })
}

// Words returns the settings with the given separator, with all digits.
func (p Params) Words(separator string) string { return strings.Join(p.list(), separator) }

// Short is Words for labels: it rounds a computed number, such as 0.006666666666666667, to 0.00667, or to as many
// digits as tell it from the other values of the setting in among, the params of the labels beside it.
func (p Params) Short(separator string, among ...Params) string {
	list := p.list()
	for i, setting := range list {
		name, value, has := strings.Cut(setting, "=")
		if !has || significant(value) <= typedDigits {
			continue
		}
		var others []string
		for _, other := range among {
			if v := other.Get(name); v != "" && v != value {
				others = append(others, v)
			}
		}
		list[i] = name + "=" + rounded(value, others)
	}
	return strings.Join(list, separator)
}

// typedDigits is the most significant digits of a fraction that a person types: numbers with more were computed.
const typedDigits = 6

// significant returns how many significant digits a decimal fraction has; 0 for other texts.
func significant(value string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(value), "e")
	if _, err := strconv.ParseFloat(value, 64); err != nil || !strings.Contains(mantissa, ".") {
		return 0
	}
	return len(strings.TrimLeft(strings.NewReplacer(".", "", "-", "", "+", "").Replace(mantissa), "0"))
}

// rounded returns a fraction with three significant digits, or as many more as tell it from the others.
func rounded(value string, others []string) string {
	to := func(value string, digits int) string {
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || significant(value) <= typedDigits {
			return value
		}
		return strconv.FormatFloat(x, 'g', digits, 64)
	}
	whole, _, _ := strings.Cut(strings.TrimLeft(value, "-"), ".")
	for digits := max(3, len(whole)); digits < significant(value); digits++ {
		text := to(value, digits)
		if !slices.ContainsFunc(others, func(other string) bool { return to(other, digits) == text }) {
			return text
		}
	}
	return value
}

// AllParams returns the settings of all rows, for [Params.Short]; params returns a row's settings.
func AllParams[T any](rows []T, params func(T) Params) (all []Params) {
	for _, row := range rows {
		all = append(all, params(row))
	}
	return all
}

// CommonParams returns the settings that all rows share, in the order of the first row; params returns a row's
// settings.
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

// keep returns the settings, each a name=value pair, that are wanted.
func (p Params) keep(wanted func(setting string) bool) Params {
	return NewParams(slices.DeleteFunc(p.list(), func(s string) bool { return !wanted(s) })...)
}

// list returns the name=value pairs in order; nil for none.
func (p Params) list() []string {
	if p == "" {
		return nil
	}
	return strings.Split(string(p), paramsSeparator)
}

// nameOf returns the name in a name=value pair.
func nameOf(setting string) string {
	name, _, _ := strings.Cut(setting, "=")
	return name
}
