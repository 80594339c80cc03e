package many

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results/papers"
)

// Wanted is the part of a table or figure that a command line asks for, and the settings that differ from the paper's.
// A nil list stands for everything the table has, nil Rounds for the paper's rounds. No list has a value twice.
type Wanted struct {
	Methods, Data, Availability []string
	Also                        []string // methods that the table does not have
	Columns                     []string // settings that distinguish columns: p-min=0.1
	Seeds                       []uint32
	Preset                      string
	Readings                    []string // names of [papers.Reading]
	Rounds                      *int
	Given                       settings.Given // settings for all runs
	Rates                       *Rates         // in place of the paper's rates; nil: the paper's
}

// settings returns the settings of a method in a column of a table or figure. of names that table or figure in errors.
func (w *Wanted) settings(of string, rounds int, column papers.Column, method string) (settings.Settings, error) {
	return w.settingsLike(of, rounds, column, method, method)
}

// settingsLike returns the settings of a method that trains as one of the table does, but at its own learning rates.
func (w *Wanted) settingsLike(
	of string, rounds int, column papers.Column, method, like string,
) (settings.Settings, error) {
	own, err := settings.Defaults(method, w.Preset, column.Data)
	if err != nil {
		return own, err
	}
	s, err := settings.Defaults(like, w.Preset, column.Data)
	if err != nil {
		return s, err
	}
	s.Method = method
	if known := column.Presets(); !slices.Contains(known, w.Preset) {
		return s, settings.Usagef("--preset %s: %s has no such reading, want %s", w.Preset, of, settings.OrList(known))
	}
	for name, value := range w.Given.All() {
		if slices.Contains(column.Set.Names(), name) { // the table names its columns after this setting's values
			return s, settings.Usagef("--%s %s: %s varies %s itself, want it without", name, value, of, name)
		}
	}
	if column, err = column.Read(w.Readings); err != nil {
		return s, settings.Usagef("%s: %w", of, err)
	}
	// First the paper's settings for the column, then the user's.
	s.Availability, s.Rounds = column.Availability, rounds
	if err := s.Apply(column.Settings(method, w.Preset).All()); err != nil {
		return s, fmt.Errorf("%s: %w", of, err)
	}
	if method != like { // the column may set the rates of its own methods
		s.LR, s.ServerLR = own.LR, own.ServerLR
	}
	s.EvalTrainRounds = settings.EvalTrainLast // all that a table reads
	if err := s.Give(w.Given); err != nil {
		return s, err
	}
	if w.Rates != nil {
		w.Rates.Put(&s)
	}
	if s.LR == 0 || s.ServerLR == 0 {
		return s, settings.Usagef("%s has no default learning rates: give --rates a file with rates of %s",
			method, RatesKeyOf(&s))
	}
	return s, s.Validate()
}

// validateAlso reports the first impossible method among those that the table does not have.
func (w *Wanted) validateAlso(t *papers.Table) error {
	if w.Also != nil && len(w.Also) == 0 {
		return settings.Usagef("--also: empty, want at least one of %s", strings.Join(algos.Names(), ", "))
	}
	for _, name := range w.Also {
		if err := settings.OneOf("also", name, algos.Names()); err != nil {
			return err
		}
		if t.Has(name) {
			return settings.Usagef("--also %s: table %s has it already, want it with --methods, or not at all",
				name, t.ID)
		}
	}
	return nil
}

// Figure puts the wanted seeds and rounds into a figure.
func (w *Wanted) Figure(f *papers.Figure) error {
	if w.Seeds != nil {
		f.Seeds = w.Seeds
	}
	if f.OneSeed && len(f.Seeds) > 1 {
		return settings.Usagef("--seeds: %d seeds, want one: figure %s shows a single run", len(f.Seeds), f.ID)
	}
	if len(f.Runs) > 0 {
		rounds, err := f.Runs[0].ReadRounds(w.Readings, f.Rounds)
		if err != nil {
			return settings.Usagef("figure %s: %w", f.ID, err)
		}
		f.Rounds = rounds
	}
	if w.Rounds != nil {
		if *w.Rounds < 1 || *w.Rounds > math.MaxInt32 {
			return settings.Usagef("--rounds %d: want 1 … %d", *w.Rounds, math.MaxInt32)
		}
		f.Rounds = *w.Rounds
	}
	return nil
}

// table puts the wanted seeds and rounds into a table.
func (w *Wanted) table(t *papers.Table) error {
	if w.Seeds != nil {
		t.Seeds = w.Seeds
	}
	rounds, err := t.Columns[0].ReadRounds(w.Readings, t.Rounds)
	if err != nil {
		return settings.Usagef("table %s: %w", t.ID, err)
	}
	t.Rounds = rounds
	if w.Rounds != nil {
		t.Rounds = *w.Rounds
	}
	if t.Rounds < t.MinRounds {
		return settings.Usagef("--rounds %d: want at least %d, of whose second half table %s prints the spread",
			t.Rounds, t.MinRounds, t.ID)
	}
	return nil
}

// column returns a filter for columns: it passes those with one of the wanted settings, or every column if none is
// wanted. of names the table or figure, which has the known columns, in errors.
func (w *Wanted) column(of string, known []papers.Column) (func(c *papers.Column) bool, error) {
	settingsOf := func(c *papers.Column) (list []string) {
		for name, value := range c.Set.All() {
			list = append(list, name+"="+value)
		}
		return list
	}
	var all []string
	for i := range known {
		all = append(all, settingsOf(&known[i])...)
	}
	if w.Columns != nil && all == nil {
		return nil, settings.Usagef("--column: of no use with %s, which has no columns that differ in a setting", of)
	}
	pass, err := narrow("column", w.Columns, all)
	if err != nil {
		return nil, err
	}
	return func(c *papers.Column) bool {
		return w.Columns == nil || slices.ContainsFunc(settingsOf(c), pass)
	}, nil
}

// narrow returns a filter for a flag that lists names: it passes the wanted names, or every name if the flag was not
// given. A wanted name that is not known is an error.
func narrow(flag string, wanted, known []string) (func(name string) bool, error) {
	if wanted == nil {
		return func(string) bool { return true }, nil
	}
	known = files.Unique(known)
	for _, name := range wanted {
		if err := settings.OneOf(flag, name, known); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, settings.Usagef("--%s: empty, want at least one of %s", flag, strings.Join(known, ", "))
	}
	return func(name string) bool { return slices.Contains(wanted, name) }, nil
}
