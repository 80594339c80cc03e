package settings

import (
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/datasets"
)

// use says which runs read a setting.
type use struct {
	in string // the flags that make a run read it, for messages
	by func(*Settings) bool
}

// onMethods is the use of a setting that only runs of some methods read.
func onMethods(methods ...string) *use {
	return &use{"--method " + OrList(methods), func(s *Settings) bool { return slices.Contains(methods, s.Method) }}
}

// onAvailability is the use of a setting that only runs under some availability models read.
func onAvailability(names ...string) *use {
	return &use{
		"--availability " + OrList(names),
		func(s *Settings) bool { return slices.Contains(names, s.Availability) },
	}
}

// onData is the use of a setting that only runs on one data set read.
func onData(data string) *use {
	return &use{"--data " + data, func(s *Settings) bool { return s.Data == data }}
}

// Weighted returns the methods that weight clients by importance and availability: those with an estimator of
// availability.
func Weighted() []string {
	for _, p := range algos.Params() {
		if p.Name == "prior" {
			return p.Methods()
		}
	}
	return nil
}

// programs returns the methods that are programs of their own. All may read the target importance.
func programs() []string {
	return slices.DeleteFunc(algos.Names(), func(method string) bool { return algos.Of(method).Program == "" })
}

// OrList returns names as a list: "a", "a or b", "a, b or c".
func OrList(names []string) string { return list(names, " or ") }

// list returns names with commas between them, and before the last one another word.
func list(names []string, last string) string {
	n := len(names) - 1
	if n < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + last + names[n]
}

// Uses reports whether this run reads a setting. If it does not, in says which flags make a run read it. Every run
// reads what is no setting: the caller has looked the name up.
func (s *Settings) Uses(name string) (in string, ok bool) {
	if r := rowOf(name); r != nil && r.For != nil && !r.For.by(s) {
		return r.For.in, false
	}
	return "", true
}

// RefuseUnused reports the first given setting that this run does not read: a user who gives it expects an effect. of
// says what s is, as the command line does.
func (s *Settings) RefuseUnused(given Given, of string) error {
	for name, value := range given.All() {
		if in, ok := s.Uses(name); !ok {
			return Usagef("--%s %s: of no use with %s, want it with %s, or not at all", name, value, of, in)
		}
	}
	return nil
}

// ownSplit are the data sets that are generated client by client, so that there is nothing to split.
var ownSplit = []string{"leaf", "binary"}

// images reports whether the samples are pictures, which can be cropped and mirrored.
func (s *Settings) images() bool { return !slices.Contains(ownSplit, s.Data) }

// SplitAway reports whether the samples come to the clients without --split: generated for each, or evenly for
// --swap-pairs.
func (s *Settings) SplitAway() bool { return !s.images() || s.SwapPairs > 0 }

// TakesAlpha reports whether the split reads --alpha.
func (s *Settings) TakesAlpha() bool {
	return !s.SplitAway() && datasets.SplitKind(s.Split).TakesAlpha()
}

// Chained reports whether the availability model has its own p_i, and does not take it from the clients' classes: the
// Markov chains, and uniform and trace.
func (s *Settings) Chained() bool {
	return slices.Contains([]string{"markov", "clusters", "uniform", "trace"}, s.Availability)
}

// inClasses reports whether the availability model makes some clients more available than others, whatever samples they
// hold.
func (s *Settings) inClasses() bool {
	return slices.Contains([]string{"markov", "clusters"}, s.Availability) && s.G > 0
}
