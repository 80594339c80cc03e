package settings

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/algos"
)

// use says which runs a setting makes a difference to.
type use struct {
	in string // the runs, as a command line asks for them
	by func(*Settings) bool
}

func onMethods(methods ...string) *use {
	return &use{"--method " + OrList(methods), func(s *Settings) bool { return slices.Contains(methods, s.Method) }}
}

func onProcesses(processes ...string) *use {
	return &use{
		"--availability " + OrList(processes),
		func(s *Settings) bool { return slices.Contains(processes, s.Availability) },
	}
}

func onData(data string) *use {
	return &use{"--data " + data, func(s *Settings) bool { return s.Data == data }}
}

// Weighted are the methods that weigh clients by their importance and availability: those with an estimator of it.
func Weighted() []string {
	for _, p := range algos.Params() {
		if p.Name == "prior" {
			return p.Methods()
		}
	}
	return nil
}

// OrList reads "a", "a or b", "a, b or c".
func OrList(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Uses reports whether a setting makes a difference to this run, and if not, to which it would.
func (s *Settings) Uses(name string) (in string, ok bool) {
	if r := rowOf(name); r != nil && r.For != nil && !r.For.by(s) {
		return r.For.in, false
	}
	return "", true
}

// refuseUnused reports the first setting of a command line that this run would pay no attention to.
func (s *Settings) refuseUnused(given Given) error {
	return s.RefuseUnused(given, fmt.Sprintf("--method %s --data %s --availability %s", s.Method, s.Data,
		s.Availability))
}

// RefuseUnused is for commands that are no run: of says what s is, as their command lines do.
func (s *Settings) RefuseUnused(given Given, of string) error {
	for name, value := range given.All() {
		if in, ok := s.Uses(name); !ok {
			return Usagef("--%s %s: of no use with %s, want it with %s, or not at all", name, value, of, in)
		}
	}
	return nil
}
