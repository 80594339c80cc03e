package settings

import (
	"slices"
	"strconv"

	"rollcall/algos"
	"rollcall/datasets"
)

// dataRows say what the clients hold. γ = δ = 0.5 are ToN's (section V-A).
var dataRows = []Row{
	{
		Param: algos.Param{
			Name: "split", Kind: algos.Word, Default: string(datasets.SplitClients), Words: datasets.SplitKinds(),
			Help: "how samples are cut: clients, each a Dirichlet draw of classes; classes, each a Dirichlet draw of clients; " +
				"clusters, as classes, but of --clusters whose clients share alike; even; two-class, as many of two classes " +
				"at each client (default: as in the method's paper)",
		},
		Field: func(s *Settings) any { return &s.Split },
		For:   &use{"images without --swap-pairs", func(s *Settings) bool { return !s.SplitAway() }},
	},
	{
		Param: algos.Param{
			Name: "alpha", Kind: algos.Number, Default: "0.1", Range: algos.Above(0),
			Help: "Dirichlet parameter of the split among clients",
		},
		Field: func(s *Settings) any { return &s.Alpha }, Column: true,
		For: &use{"--split clients, classes or clusters", (*Settings).TakesAlpha},
	},
	{
		Param: algos.Param{
			Name: "leaf-gamma", Kind: algos.Number, Default: "0.5", Range: algos.AtLeast(0),
			Help: "leaf: γ, how much the clients' models differ",
		},
		Field: func(s *Settings) any { return &s.LeafGamma }, For: onData("leaf"),
	},
	{
		Param: algos.Param{
			Name: "leaf-delta", Kind: algos.Number, Default: "0.5", Range: algos.AtLeast(0),
			Help: "leaf: δ, how much the clients' samples differ",
		},
		Field: func(s *Settings) any { return &s.LeafDelta }, For: onData("leaf"),
	},
	{
		Param: algos.Param{
			Name: "swap-pairs", Kind: algos.Whole, Default: "0",
			Help: "images: cut the samples evenly and swap so many pairs of labels at every client of a second group; " +
				"0: true labels, cut as --split says",
		},
		Field: func(s *Settings) any { return &s.SwapPairs },
	},
	{
		Param: algos.Param{
			Name: "validation", Kind: algos.Number, Default: "0", Range: algos.AtLeastBelow(0, 1),
			Help: "share of each client's samples kept back from training",
		},
		Field: func(s *Settings) any { return &s.Validation },
	},
	{
		Param: algos.Param{
			Name: "train-size", Kind: algos.Whole, Default: strconv.Itoa(datasets.SyntheticTrain), Range: algos.Between(1, maxGenerated),
			Help: "training images of --data synthetic",
		},
		Field: func(s *Settings) any { return &s.TrainSize }, For: onData("synthetic"),
	},
	{
		Param: algos.Param{
			Name: "test-size", Kind: algos.Whole, Default: strconv.Itoa(datasets.SyntheticTest), Range: algos.Between(1, maxGenerated),
			Help: "test images of --data synthetic",
		},
		Field: func(s *Settings) any { return &s.TestSize }, For: onData("synthetic"),
	},
}

// ownSplit are the data sets that are generated client by client.
var ownSplit = []string{"leaf", "binary"}

// SplitAway reports whether the samples come to the clients without --split.
func (s *Settings) SplitAway() bool { return slices.Contains(ownSplit, s.Data) || s.SwapPairs > 0 }

// TakesAlpha reports whether a Dirichlet parameter has a say in the split.
func (s *Settings) TakesAlpha() bool {
	return !s.SplitAway() && datasets.SplitKind(s.Split).TakesAlpha()
}

// TwoClass reports whether every client has samples of two classes, as in FedAR.
func (s *Settings) TwoClass() bool {
	return !s.SplitAway() && s.Split == string(datasets.SplitTwoClass)
}
