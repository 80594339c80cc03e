package settings

import (
	"slices"
	"strconv"

	"rollcall/algos"
	"rollcall/datasets"
)

// dataRows say what the clients hold. The defaults γ = δ = 0.5 come from ToN, section V-A.
var dataRows = []Row{
	word("split", string(datasets.SplitClients), datasets.SplitKinds(),
		"how samples are cut: clients, each a Dirichlet draw of classes; classes, each a Dirichlet draw of clients; "+
			"clusters, as classes, but of --clusters whose clients share alike; even; two-class, as many of two "+
			"classes at each client (default: as in the method's paper)",
		func(s *Settings) any { return &s.Split }).
		only(&use{"images without --swap-pairs", func(s *Settings) bool { return !s.SplitAway() }}),
	number("alpha", "0.1", algos.Above(0), "Dirichlet parameter of the split among clients",
		func(s *Settings) any { return &s.Alpha }).column().
		only(&use{"--split clients, classes or clusters", (*Settings).TakesAlpha}),
	number("leaf-gamma", "0.5", algos.AtLeast(0), "leaf: γ, how much the clients' models differ",
		func(s *Settings) any { return &s.LeafGamma }).only(onData("leaf")),
	number("leaf-delta", "0.5", algos.AtLeast(0), "leaf: δ, how much the clients' samples differ",
		func(s *Settings) any { return &s.LeafDelta }).only(onData("leaf")),
	onOff("leaf-augmentation", "leaf: 7000 samples, ten times as many at a more available client as at another, as "+
		"CA-Fed's released generator has it with --augmentation",
		func(s *Settings) any { return &s.LeafAugmentation }).
		only(&use{"--data leaf and true", func(s *Settings) bool { return s.Data == "leaf" && s.LeafAugmentation }}),
	onOff("leaf-iid", "leaf: all clients share one model, and a client's samples lie around B_k in every feature, as "+
		"CA-Fed's released generator has it with --iid",
		func(s *Settings) any { return &s.LeafIID }).
		only(&use{"--data leaf and true", func(s *Settings) bool { return s.Data == "leaf" && s.LeafIID }}),
	whole("swap-pairs", "0", algos.Range{},
		"images: cut the samples evenly and swap so many pairs of labels at every client of a second group; "+
			"0: true labels, cut as --split says",
		func(s *Settings) any { return &s.SwapPairs }),
	number("validation", "0", algos.AtLeastBelow(0, 1), "share of each client's samples kept back from training",
		func(s *Settings) any { return &s.Validation }),
	number("hold-out", "0", algos.AtLeastBelow(0, 1),
		"share of the training samples that go to no client and replace the test set; tune chooses rates by them",
		func(s *Settings) any { return &s.HoldOut }).
		only(&use{"a share above 0", func(s *Settings) bool { return s.HoldOut > 0 }}),
	whole("train-size", strconv.Itoa(datasets.SyntheticTrain), algos.Between(1, maxGenerated),
		"training images of --data synthetic",
		func(s *Settings) any { return &s.TrainSize }).only(onData("synthetic")),
	whole("test-size", strconv.Itoa(datasets.SyntheticTest), algos.Between(1, maxGenerated),
		"test images of --data synthetic",
		func(s *Settings) any { return &s.TestSize }).only(onData("synthetic")),
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
