package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"rollcall/results/papers"
)

// entryFlags are what tables and figures let a user change in all their entries.
type entryFlags struct {
	preset                     string
	rounds, clients, evalEvery int
}

// settings returns the settings of a method in a column of a table or figure, of so many rounds, as the flags given change them.
func (e *entryFlags) settings(of string, rounds int, column papers.Column, method string, given *pflag.FlagSet) (Settings, error) {
	s, err := defaults(method, e.preset, column.Data)
	if err != nil {
		return s, err
	}
	s.Availability, s.Rounds = column.Availability, rounds
	if err := s.apply(column.Settings(method, e.preset)); err != nil {
		return s, fmt.Errorf("%s: %w", of, err)
	}
	if given.Changed("eval-every") {
		s.EvalEvery, s.EvalLast = e.evalEvery, optional{}
	}
	if given.Changed("clients") {
		s.Clients = e.clients
	}
	return s, s.validate()
}
