package settings

import (
	"slices"

	"rollcall/algos"
)

// Row is one setting of a run: a flag of `rollcall run`, a key of run.json, a name in params.
type Row struct {
	*algos.Param // name, kind, default, range or words, help

	// where the value is kept: a *string, *int, *float64, *bool or *Optional; nil: in OfMethods
	Field  func(*Settings) any
	For    *use // the runs that look at it; nil: all
	Column bool // it has a column of its own in CSV, and is not in params
	Quiet  bool // the usage text says the default itself, or it depends on other settings
}

// rows are all settings: those of every run, and then those of single methods.
var rows []Row

func init() { // at declaration, rows would refer to itself: whether a row is of use depends on other rows
	rows = slices.Concat(runRows, trainingRows, dataRows, processRows, evaluationRows, methodRows())
}

// Rows returns all settings.
func Rows() []Row { return slices.Clone(rows) }

// rowOf returns the setting of that name; nil if there is none.
func rowOf(name string) *Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name }); i >= 0 {
		return &rows[i]
	}
	return nil
}

// The functions below make rows: name, default as on a command line, possible values, usage text, and where it is kept.

func word(name, value string, words []string, help string, field func(*Settings) any) Row {
	return Row{
		Param: &algos.Param{Name: name, Kind: algos.Word, Default: value, Words: words, Help: help}, Field: field,
	}
}

func number(name, value string, of algos.Range, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Number, Default: value, Range: of, Help: help}, Field: field}
}

func whole(name, value string, of algos.Range, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Whole, Default: value, Range: of, Help: help}, Field: field}
}

// orNone is a row whose value can be none as well.
func (r Row) orNone() Row {
	r.None = true
	return r
}

// column is a row that has a column of its own in CSV.
func (r Row) column() Row {
	r.Column = true
	return r
}

// quiet is a row whose default the usage does not add to its text.
func (r Row) quiet() Row {
	r.Quiet = true
	return r
}

// only is a row that other runs pay no attention to.
func (r Row) only(of *use) Row {
	r.For = of
	return r
}

// implies is a row that sets another one where a command line gives it, and not the other.
func (r Row) implies(name, value string) Row {
	r.Overrides = append(r.Overrides, algos.Setting{Name: name, Value: value})
	return r
}

// methodRows are the parameters that methods declare.
func methodRows() (list []Row) {
	for _, p := range algos.Params() {
		of := onMethods(p.Methods()...)
		if p.Only.Other != nil {
			methods := of.by
			of.in += " " + p.Only.Text
			of.by = func(s *Settings) bool { return methods(s) && p.HasSay(s.MethodOptions()) }
		}
		list = append(list, Row{Param: p, For: of, Quiet: p.Paper != "" && p.Paper != p.Default})
	}
	return list
}
