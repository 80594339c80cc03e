package settings

import (
	"math"
	"slices"
	"strconv"

	"rollcall/algos"
	"rollcall/algos/availability"
)

// published are the papers' parameters of the processes, which package availability keeps.
var published = availability.Defaults(nil, 0)

// processRows say when the clients are there. Package availability checks the rows without a range when it makes the
// process, see [Settings.checkProcess].
var processRows = []Row{
	whole("period", strconv.Itoa(published.Period), algos.Between(1, math.MaxInt32),
		"rounds per cycle of the availability",
		func(s *Settings) any { return &s.Period }).only(onProcesses("staircase", "sine", "interleaved-sine")),
	number("gamma", decimal(published.Gamma), algos.Between(0, 1), "amplitude of the sine",
		func(s *Settings) any { return &s.Gamma }).only(onProcesses("sine", "interleaved-sine")),
	number("cutoff", decimal(published.Cutoff), algos.Between(0, 1), "the interleaved sine is 0 below this probability",
		func(s *Settings) any { return &s.Cutoff }).only(onProcesses("interleaved-sine")),
	number("low", decimal(published.Low), algos.Between(0, 1), "factor of the staircase's lower step",
		func(s *Settings) any { return &s.Low }).only(onProcesses("staircase")),
	number("p", "none", algos.Between(0, 1), "every client's availability p_i, or none: from the classes it holds",
		func(s *Settings) any { return &s.P }).orNone().
		only(onProcesses("stationary", "staircase", "sine", "interleaved-sine")),
	number("g", decimal(published.G), algos.Range{},
		"markov, clusters: availability of the classes is 1/2 + g and 1/2 − g",
		func(s *Settings) any { return &s.G }).only(onProcesses("markov", "clusters")),
	number("nu", decimal(published.Nu), algos.Range{}, "markov: λ of the correlated clients",
		func(s *Settings) any { return &s.Nu }).only(onProcesses("markov")),
	number("epsilon", decimal(published.Epsilon), algos.AtLeast(0), "markov: spread of the λ of the others",
		func(s *Settings) any { return &s.Epsilon }).only(onProcesses("markov")),
	word("classes", "exact", []string{"exact", classesDrawn},
		"markov: exact, every class of availability has its share of the clients; drawn, each client draws its class",
		func(s *Settings) any { return &s.Classes }).
		only(&use{"--availability markov and drawn", func(s *Settings) bool {
			return s.Availability == "markov" && s.Classes == classesDrawn
		}}),
	whole("clusters", strconv.Itoa(published.Clusters), algos.Range{}, "clusters: groups of clients that share a chain",
		func(s *Settings) any { return &s.Clusters }).
		only(&use{"--availability clusters or --split clusters", func(s *Settings) bool {
			return s.Availability == "clusters" || s.Split == "clusters"
		}}),
	number("p-min", decimal(published.PMin), algos.Range{}, "uniform: smallest availability; the largest is 1",
		func(s *Settings) any { return &s.PMin }).only(onProcesses("uniform")),
	word("trace", "", nil, "trace: CSV file with columns client,start,end",
		func(s *Settings) any { return &s.Trace }).only(onProcesses("trace")),
	word("trace-end", traceEndError, []string{traceEndError, traceEndRepeat, traceEndStop, traceEndEmpty},
		"trace: of a run that is longer than its trace: error, it is refused; repeat, the trace starts again; stop, "+
			"the run ends with the trace; empty, no client is available any more",
		func(s *Settings) any { return &s.TraceEnd }).only(onProcesses("trace")),
	number("round-seconds", "none", algos.Above(0), "trace: seconds per round, or none if the file counts rounds",
		func(s *Settings) any { return &s.RoundSeconds }).orNone().only(onProcesses("trace")),
}

// classesDrawn is the value of --classes that changes anything.
const classesDrawn = "drawn"

// The values of --trace-end.
const (
	traceEndError  = "error"
	traceEndRepeat = "repeat"
	traceEndStop   = "stop"
	traceEndEmpty  = "empty"
)

// Chained reports whether the process has its own availability p_i, and does not take it from the clients' classes: the
// Markov chains, and uniform and trace.
func (s *Settings) Chained() bool {
	return slices.Contains([]string{"markov", "clusters", "uniform", "trace"}, s.Availability)
}

// inClasses reports whether the process makes some clients more available than others, whatever samples they hold.
func (s *Settings) inClasses() bool {
	return slices.Contains([]string{"markov", "clusters"}, s.Availability) && s.G > 0
}
