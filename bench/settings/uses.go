package settings

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// use says which runs a flag makes a difference to; flags without one matter to all.
type use struct {
	flags []string
	in    string // the runs, as a command line asks for them
	by    func(*Settings) bool
}

// uses are the flags that not every run looks at.
var uses = []use{
	onMethods([]string{"fedawe-clip", "fedawe-model"}, "fedawe"),
	onMethods([]string{"fedau-cutoff"}, "fedau"),
	onMethods([]string{"f3ast-beta", "f3ast-limit", "f3ast-mean", "f3ast-memoryless"}, "f3ast"),
	onMethods([]string{"weights", "prior", "server-momentum", "server-weight-decay"}, Weighted...),
	onMethods([]string{"bias-const", "ca-fed-beta", "ca-fed-tau", "fstar", "losses"}, "ca-fed"),
	{[]string{"kappa"}, "--method ca-fed --bias-const none", func(s *Settings) bool { return s.Method == "ca-fed" && s.BiasConst.Value == nil }},
	onMethods([]string{"fedar-rho", "fedar-t0"}, "fedar"),
	{[]string{"fedar-b"}, "--method fedar with --fedar-t0", func(s *Settings) bool { return s.Method == "fedar" && s.FedAR.T0.Value != nil }},
	onMethods([]string{"fedavg-s-limit"}, "fedavg-s"),

	onProcesses([]string{"period"}, "staircase", "sine", "interleaved-sine"),
	onProcesses([]string{"low"}, "staircase"),
	onProcesses([]string{"gamma"}, "sine", "interleaved-sine"),
	onProcesses([]string{"cutoff"}, "interleaved-sine"),
	onProcesses([]string{"p"}, "stationary", "staircase", "sine", "interleaved-sine"),
	onProcesses([]string{"g"}, "markov", "clusters"),
	onProcesses([]string{"nu", "epsilon"}, "markov"),
	onProcesses([]string{"p-min"}, "uniform"),
	onProcesses([]string{"trace", "round-seconds"}, "trace"),

	{[]string{"clusters"}, "--availability clusters or --split clusters", func(s *Settings) bool { return s.Availability == "clusters" || s.Split == SplitClusters }},
	{[]string{"alpha"}, "--split clients, classes or clusters", (*Settings).cut},
	{[]string{"split"}, "images without --swap-pairs", func(s *Settings) bool { return !s.SplitAway() }},
	{[]string{"leaf-gamma", "leaf-delta"}, "--data leaf", func(s *Settings) bool { return s.Data == "leaf" }},
	{[]string{"train-size", "test-size"}, "--data synthetic", func(s *Settings) bool { return s.Data == "synthetic" }},
	{[]string{"local-steps"}, "--local-epochs none", func(s *Settings) bool { return s.LocalEpochs.Value == nil }},
}

func onMethods(flags []string, methods ...string) use {
	return use{flags, "--method " + OrList(methods), func(s *Settings) bool { return slices.Contains(methods, s.Method) }}
}

func onProcesses(flags []string, processes ...string) use {
	return use{flags, "--availability " + OrList(processes), func(s *Settings) bool { return slices.Contains(processes, s.Availability) }}
}

// OrList reads "a", "a or b", "a, b or c".
func OrList(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Uses reports whether a flag makes a difference to this run, and if not, to which it would.
func (s *Settings) Uses(flag string) (in string, ok bool) {
	for _, u := range uses {
		if slices.Contains(u.flags, flag) && !u.by(s) {
			return u.in, false
		}
	}
	return "", true
}

// refuseUnused reports the first flag on the command line that this run would pay no attention to.
func (s *Settings) refuseUnused(given *pflag.FlagSet) error {
	var first error
	given.Visit(func(f *pflag.Flag) {
		if in, ok := s.Uses(f.Name); !ok && first == nil {
			first = Usagef("--%s %s: of no use with --method %s --data %s --availability %s, want it with %s, or not at all",
				f.Name, f.Value, s.Method, s.Data, s.Availability, in)
		}
	})
	return first
}
