package settings

import (
	"iter"
	"slices"

	"github.com/spf13/pflag"

	"rollcall/algos"
)

// AddFlags adds a flag for every setting to a command, except for the settings named in but.
func AddFlags(fs *pflag.FlagSet, but ...string) {
	for _, r := range rows() {
		if slices.Contains(but, r.Name) {
			continue
		}
		f := fs.VarPF(&flagValue{row: &r, text: r.Default}, r.Name, "", r.Help)
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

// Given is the settings that a command line gives, sorted by name.
type Given []algos.Setting

// IsSetting reports whether a flag is one of [AddFlags].
func IsSetting(f *pflag.Flag) bool {
	_, is := f.Value.(*flagValue)
	return is
}

// GivenBy returns the settings among the flags that were given.
func GivenBy(fs *pflag.FlagSet) (given Given) {
	fs.Visit(func(f *pflag.Flag) {
		if IsSetting(f) {
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
