package settings

import (
	"math"
	"slices"
	"strconv"

	"rollcall/algos"
	"rollcall/algos/availability"
)

// published are the papers' settings of the processes.
var published = availability.Defaults(nil, 0)

// number writes the default of a number.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// processRows say when the clients are there.
var processRows = []Row{
	{
		Param: algos.Param{
			Name: "period", Kind: algos.Whole, Default: strconv.Itoa(published.Period), Range: algos.Between(1, math.MaxInt32),
			Help: "rounds per cycle of the process",
		},
		Field: func(s *Settings) any { return &s.Period }, For: onProcesses("staircase", "sine", "interleaved-sine"),
	},
	{
		Param: algos.Param{
			Name: "gamma", Kind: algos.Number, Default: number(published.Gamma), Range: algos.Between(0, 1),
			Help: "amplitude of the sine",
		},
		Field: func(s *Settings) any { return &s.Gamma }, For: onProcesses("sine", "interleaved-sine"),
	},
	{
		Param: algos.Param{
			Name: "cutoff", Kind: algos.Number, Default: number(published.Cutoff), Range: algos.Between(0, 1),
			Help: "the interleaved sine is 0 below this probability",
		},
		Field: func(s *Settings) any { return &s.Cutoff }, For: onProcesses("interleaved-sine"),
	},
	{
		Param: algos.Param{
			Name: "low", Kind: algos.Number, Default: number(published.Low), Range: algos.Between(0, 1),
			Help: "factor of the staircase's lower step",
		},
		Field: func(s *Settings) any { return &s.Low }, For: onProcesses("staircase"),
	},
	{
		Param: algos.Param{
			Name: "p", Kind: algos.Number, None: true, Default: "none", Range: algos.Between(0, 1),
			Help: "every client's availability p_i, or none: from the classes it holds",
		},
		Field: func(s *Settings) any { return &s.P }, For: onProcesses("stationary", "staircase", "sine", "interleaved-sine"),
	},
	{
		Param: algos.Param{
			Name: "g", Kind: algos.Number, Default: number(published.G),
			Help: "markov, clusters: availability of the classes is 1/2 + g and 1/2 − g",
		},
		Field: func(s *Settings) any { return &s.G }, For: onProcesses("markov", "clusters"),
	},
	{
		Param: algos.Param{
			Name: "nu", Kind: algos.Number, Default: number(published.Nu), Help: "markov: λ of the correlated clients",
		},
		Field: func(s *Settings) any { return &s.Nu }, For: onProcesses("markov"),
	},
	{
		Param: algos.Param{
			Name: "epsilon", Kind: algos.Number, Default: number(published.Epsilon), Range: algos.AtLeast(0),
			Help: "markov: spread of the λ of the others",
		},
		Field: func(s *Settings) any { return &s.Epsilon }, For: onProcesses("markov"),
	},
	{
		Param: algos.Param{
			Name: "clusters", Kind: algos.Whole, Default: strconv.Itoa(published.Clusters),
			Help: "clusters: groups of clients that share a chain",
		},
		Field: func(s *Settings) any { return &s.Clusters },
		For: &use{"--availability clusters or --split clusters", func(s *Settings) bool {
			return s.Availability == "clusters" || s.Split == "clusters"
		}},
	},
	{
		Param: algos.Param{
			Name: "p-min", Kind: algos.Number, Default: number(published.PMin),
			Help: "uniform: smallest availability; the largest is 1",
		},
		Field: func(s *Settings) any { return &s.PMin }, For: onProcesses("uniform"),
	},
	{
		Param: algos.Param{Name: "trace", Kind: algos.Word, Help: "trace: CSV file with columns client,start,end"},
		Field: func(s *Settings) any { return &s.Trace }, For: onProcesses("trace"),
	},
	{
		Param: algos.Param{
			Name: "round-seconds", Kind: algos.Number, None: true, Default: "none", Range: algos.Above(0),
			Help: "trace: seconds per round, or none if the file counts rounds",
		},
		Field: func(s *Settings) any { return &s.RoundSeconds }, For: onProcesses("trace"),
	},
}

// Chained reports whether the process has an availability of its own, in place of one from the clients' classes.
func (s *Settings) Chained() bool {
	return slices.Contains([]string{"markov", "clusters", "uniform", "trace"}, s.Availability)
}
