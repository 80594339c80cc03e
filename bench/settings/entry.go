package settings

import (
	"fmt"

	"github.com/spf13/pflag"

	"rollcall/results/papers"
)

// EntryFlags are what tables and figures let a user change in all their entries.
type EntryFlags struct {
	Preset                     string
	Rounds, Clients, EvalEvery int
}

// Settings returns the settings of a method in a column of a table or figure, of so many rounds, as the flags given change them.
func (e *EntryFlags) Settings(of string, rounds int, column papers.Column, method string, given *pflag.FlagSet) (Settings, error) {
	s, err := Defaults(method, e.Preset, column.Data)
	if err != nil {
		return s, err
	}
	s.Availability, s.Rounds = column.Availability, rounds
	if err := s.Apply(column.Settings(method, e.Preset)); err != nil {
		return s, fmt.Errorf("%s: %w", of, err)
	}
	if given.Changed("eval-every") {
		s.EvalEvery, s.EvalLast = e.EvalEvery, Optional{}
	}
	if given.Changed("clients") {
		s.Clients = e.Clients
	}
	return s, s.Validate()
}
