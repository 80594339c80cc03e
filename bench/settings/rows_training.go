package settings

import (
	"math"

	"rollcall/algos"
)

// trainingRows say how the clients train, and what the server makes of it.
var trainingRows = []Row{
	{
		Param: algos.Param{
			Name: "local-steps", Kind: algos.Whole, Default: "10", Range: algos.Between(1, maxLocalSamples),
			Help:      "local steps E of a client per round",
			Overrides: []algos.Setting{{Name: "local-epochs", Value: "none"}},
		},
		Field: func(s *Settings) any { return &s.LocalSteps },
		For:   &use{"--local-epochs none", func(s *Settings) bool { return s.LocalEpochs.Value == nil }},
	},
	{
		Param: algos.Param{
			Name: "local-epochs", Kind: algos.Whole, None: true, Default: "none", Range: algos.Between(1, math.MaxInt32),
			Help: "passes of a client over its samples per round, in place of local steps, or none",
		},
		Field: func(s *Settings) any { return &s.LocalEpochs },
	},
	{
		Param: algos.Param{
			Name: "batch", Kind: algos.Whole, Default: "128", Range: algos.Between(1, maxBatch), Help: "samples B per local step",
		},
		Field: func(s *Settings) any { return &s.Batch },
	},
	{
		Param: algos.Param{
			Name: "lr", Kind: algos.Number, Default: "0", Range: algos.Above(0),
			Help: "local learning rate of the first round (default: the method's in its paper)",
		},
		Field: func(s *Settings) any { return &s.LR },
	},
	{
		Param: algos.Param{
			Name: "lr-schedule", Kind: algos.Word, Default: "decay", Words: []string{"decay", "constant"},
			Help: "decay: round t has lr/sqrt(t/10+1); constant: every round has lr (default: as in the method's paper)",
		},
		Field: func(s *Settings) any { return &s.LRSchedule }, Quiet: true,
	},
	{
		Param: algos.Param{
			Name: "server-lr", Kind: algos.Number, Default: "0", Range: algos.Above(0),
			Help: "server learning rate (default: the method's in its paper)",
		},
		Field: func(s *Settings) any { return &s.ServerLR },
	},
	{
		Param: algos.Param{
			Name: "weights", Kind: algos.Word, Default: "equal", Words: []string{"equal", "size"},
			Help: "target importance of the clients, equal or size (number of samples); " +
				"f3ast, unbiased, more-available, adafed and ca-fed aim at it",
		},
		Field: func(s *Settings) any { return &s.Weights },
		For:   onMethods(Weighted()...),
	},
	{
		Param: algos.Param{
			Name: "augment", Kind: algos.Word, Words: []string{"batch", "sample", "none"},
			Help: "crops and flips drawn per batch or per sample, or none (default: the preset's; none for mnist)",
		},
		Field: func(s *Settings) any { return &s.Augment },
	},
	{
		Param: algos.Param{
			Name: "clip", Kind: algos.Number, None: true, Default: "none", Range: algos.Above(0),
			Help: "largest norm of a local gradient, or none (default: the preset's)",
		},
		Field: func(s *Settings) any { return &s.Clip }, Quiet: true,
	},
	{
		Param: algos.Param{
			Name: "weight-decay", Kind: algos.Number, Default: "0", Range: algos.AtLeast(0), Help: "weight decay of the local steps",
		},
		Field: func(s *Settings) any { return &s.Decay },
	},
	{
		Param: algos.Param{
			Name: "momentum", Kind: algos.Number, Default: "0", Range: algos.AtLeastBelow(0, 1),
			Help: "momentum of the local steps; a client's momentum lasts across rounds",
		},
		Field: func(s *Settings) any { return &s.Momentum },
	},
}
