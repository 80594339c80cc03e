package settings

import (
	"strconv"

	"github.com/spf13/pflag"

	"rollcall/results/papers"
)

// EntryFlags are replaced.
type EntryFlags struct {
	Preset                     string
	Rounds, Clients, EvalEvery int
}

// Settings is replaced.
func (e *EntryFlags) Settings(of string, rounds int, column papers.Column, method string, given *pflag.FlagSet) (Settings, error) {
	c := Changes{Preset: e.Preset}
	if given.Changed("eval-every") {
		c.Given = append(c.Given, algosSetting("eval-every", e.EvalEvery))
	}
	if given.Changed("clients") {
		c.Given = append(c.Given, algosSetting("clients", e.Clients))
	}
	return c.Entry(of, rounds, column, method)
}

func algosSetting(name string, n int) (s struct{ Name, Value string }) {
	s.Name, s.Value = name, strconv.Itoa(n)
	return s
}
