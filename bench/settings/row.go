package settings

import (
	"slices"
	"sync"

	"rollcall/algos"
)

// Row is one setting of a run: a flag of `rollcall run`, a key of run.json, a name in the column params.
type Row struct {
	*algos.Param // name, kind, default, range or words, help

	// Field returns where the value is kept: a *string, *int, *float64, *bool or *Optional. nil: in OfMethods.
	Field  func(*Settings) any
	For    *use // the runs that read it; nil: all
	Column bool // it has its own column in CSV, and is not in params
	Quiet  bool // the help states the default itself, or the default depends on other settings
}

// made are all settings, as long as no method is added. Use [rows].
var made struct {
	sync.Mutex
	rows []Row
	of   int // [algos.Registered] when they were made
}

// rows returns all settings: first those of every run, then the parameters of methods.
func rows() []Row {
	made.Lock()
	defer made.Unlock()
	if n := algos.Registered(); made.rows == nil || made.of != n {
		made.rows, made.of = slices.Concat(runRows(), trainingRows(), dataRows, processRows, seedRows(), evaluationRows,
			methodRows()), n
	}
	return made.rows
}

// Rows returns all settings: first those of every run, then the parameters of methods.
func Rows() []Row { return slices.Clone(rows()) }

// rowOf returns the setting of a name; nil if there is none.
func rowOf(name string) *Row {
	if i := slices.IndexFunc(rows(), func(r Row) bool { return r.Name == name }); i >= 0 {
		return &rows()[i]
	}
	return nil
}

// The functions below make rows. Their arguments: name, default as on a command line, possible values, help, and where
// the value is kept.

// word returns the row of a setting that is one of some words; nil words: any text.
func word(name, value string, words []string, help string, field func(*Settings) any) Row {
	return Row{
		Param: &algos.Param{Name: name, Kind: algos.Word, Default: value, Words: words, Help: help}, Field: field,
	}
}

// number returns the row of a setting that is a number in a range; the zero Range: every finite number.
func number(name, value string, of algos.Range, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Number, Default: value, Range: of, Help: help}, Field: field}
}

// whole returns the row of a setting that is a whole number in a range; the zero Range: every whole number.
func whole(name, value string, of algos.Range, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Whole, Default: value, Range: of, Help: help}, Field: field}
}

// onOff returns the row of a setting that is true or false, and false by default.
func onOff(name, help string, field func(*Settings) any) Row {
	return Row{Param: &algos.Param{Name: name, Kind: algos.Switch, Default: "false", Help: help}, Field: field}
}

// orNone returns the row with "none" as a further value.
func (r Row) orNone() Row {
	r.None = true
	return r
}

// column returns the row as one with its own column in CSV.
func (r Row) column() Row {
	r.Column = true
	return r
}

// quiet returns the row as one whose default is not added to its help.
func (r Row) quiet() Row {
	r.Quiet = true
	return r
}

// only returns the row as one that only some runs read.
func (r Row) only(of *use) Row {
	r.For = of
	return r
}

// implies returns the row as one that also sets another row, if a command line gives this row and not the other.
func (r Row) implies(name, value string) Row {
	r.Overrides = append(r.Overrides, algos.Setting{Name: name, Value: value})
	return r
}

// methodRows returns a row for every parameter that a method declares.
func methodRows() (list []Row) {
	for _, p := range algos.Params() {
		of := onMethods(p.Methods()...)
		if p.Only.Other != nil {
			methods := of.by // whether the method reads it, to which the condition below adds
			of.in += " " + p.Only.Text
			of.by = func(s *Settings) bool { return methods(s) && p.HasSay(s.MethodOptions()) }
		}
		list = append(list, Row{Param: p, For: of, Quiet: p.Paper != "" && p.Paper != p.Default})
	}
	return list
}
