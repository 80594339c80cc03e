package settings

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/algos"
)

// AddFlags adds a flag for every setting to a command, except for the settings named in but.
func AddFlags(fs *pflag.FlagSet, but ...string) {
	addFlags(fs, but, func(r *Row) pflag.Value { return &flagValue{row: r, text: r.Default} })
}

// AddLists adds a flag for every setting that takes one value or several, except for the settings named in but. Of a
// setting that may be any text, a comma is a part of the value: several values are several flags.
func AddLists(fs *pflag.FlagSet, but ...string) {
	addFlags(fs, but, func(r *Row) pflag.Value { return newSettingList(r, &[]string{r.Default}) })
}

func addFlags(fs *pflag.FlagSet, but []string, value func(r *Row) pflag.Value) {
	for _, r := range rows() {
		if slices.Contains(but, r.Name) {
			continue
		}
		f := fs.VarPF(value(&r), r.Name, "", r.Help)
		f.DefValue = r.Default
		setGroup(f, r.Group)
		if r.Kind == algos.Switch {
			f.NoOptDefVal = "true" // the value of a flag that is given without one
		}
		if r.Quiet {
			f.DefValue = "" // usage texts add no default then
		}
	}
}

// flagValue is a setting on a command line. It checks that the text is of the setting's kind. Validate checks the rest,
// once all settings are known.
type flagValue struct {
	row  *Row
	text string
}

func (v *flagValue) String() string { return v.text }

func (v *flagValue) Set(text string) (err error) {
	v.text, err = v.row.parse(text)
	return err
}

// Type implements [pflag.Value]. It returns the kind of value, which usage texts and errors print.
func (v *flagValue) Type() string {
	switch {
	case v.row.None:
		return "number|none"
	case v.row.Kind == algos.Number:
		return "float64"
	case v.row.Kind == algos.Whole:
		return "int"
	case v.row.Kind == algos.Switch:
		return "bool"
	}
	return "string"
}

// List is a setting with its values, of which a sweep makes a cell each.
type List struct {
	Name   string
	Values []string
}

// String returns the list as a command line has it, but for the dashes: alpha 0.1,0.3.
func (l List) String() string { return l.Name + " " + strings.Join(l.Values, ",") }

// settingList is a setting on a command line of [AddLists].
type settingList struct{ listValue[string] }

func newSettingList(r *Row, values *[]string) *settingList {
	kind := (&flagValue{row: r}).Type()
	return &settingList{listValue[string]{
		values: values, kind: cmp.Or(map[string]string{
			"float64": "floats", "int": "ints", "bool": "bools", "number|none": "numbers|none", "string": "strings",
		}[kind], kind), whole: r.anyText(),
		add: func(values []string, text string) ([]string, error) {
			one, err := r.parse(text)
			return append(values, one), err
		},
		format: func(text string) string { return text },
	}}
}

// Set implements [pflag.Value]. As of a setting with one value, of a flag that is repeated the last counts, unless only
// several flags can give several values.
func (l *settingList) Set(text string) error {
	l.given = l.given && l.whole
	return l.listValue.Set(text)
}

// anyText reports whether a value may be any text, with commas in it.
func (r *Row) anyText() bool { return r.Kind == algos.Word && r.Words == nil }

// kinds says what the values of a list are.
func (r *Row) kinds() string {
	words := map[algos.Kind]string{algos.Whole: "whole numbers", algos.Switch: "true, false or both"}[r.Kind]
	if words = cmp.Or(words, "numbers"); r.None {
		words += " or none"
	}
	return words + ", separated by commas"
}

// NewList returns a setting with the values in some texts, each of which is as the command line of a sweep has it.
func NewList(name string, texts ...string) (List, error) {
	r := rowOf(name)
	if r == nil {
		return List{}, Usagef("--%s: unknown setting", name)
	}
	l := List{Name: name}
	flag := newSettingList(r, &l.Values)
	for _, text := range texts {
		if err := flag.Append(text); err != nil {
			return l, Usagef("--%s %s: want %s", name, strings.Join(texts, ","), r.kinds())
		}
	}
	return l, Once(name, l.Values)
}

// Given is the settings that a command line gives, sorted by name.
type Given []algos.Setting

// IsSetting reports whether a flag is one of [AddFlags] or [AddLists].
func IsSetting(f *pflag.Flag) bool {
	_, one := f.Value.(*flagValue)
	_, several := f.Value.(*settingList)
	return one || several
}

// TakesCommas reports whether a flag is a setting of [AddLists] with commas in its values.
func TakesCommas(f *pflag.Flag) bool {
	l, is := f.Value.(*settingList)
	return is && l.whole
}

// ListsBy returns the settings among the flags of [AddLists] that were given: those with one value, and the lists.
func ListsBy(fs *pflag.FlagSet) (given Given, lists []List) {
	fs.Visit(func(f *pflag.Flag) {
		l, is := f.Value.(*settingList)
		switch {
		case !is:
		case len(*l.values) == 1:
			given = append(given, algos.Setting{Name: f.Name, Value: (*l.values)[0]})
		default:
			lists = append(lists, List{f.Name, *l.values})
		}
	})
	return given, lists
}

// GivenBy returns the settings among the flags of [AddFlags] that were given.
func GivenBy(fs *pflag.FlagSet) (given Given) {
	fs.Visit(func(f *pflag.Flag) {
		if _, one := f.Value.(*flagValue); one {
			given = append(given, algos.Setting{Name: f.Name, Value: f.Value.String()})
		}
	})
	return given
}

// All iterates over names and values.
func (g Given) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, s := range g {
			if !yield(s.Name, s.Value) {
				return
			}
		}
	}
}

// Get returns the value of a setting, or other if it was not given.
func (g Given) Get(name, other string) string {
	if i := slices.IndexFunc(g, func(s algos.Setting) bool { return s.Name == name }); i >= 0 {
		return g[i].Value
	}
	return other
}
