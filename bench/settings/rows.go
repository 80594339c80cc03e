package settings

import (
	"cmp"
	"math"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/datasets"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/papers"
)

// Upper bounds against slips of the finger, which should not cost all memory. Nobody needs more.
const (
	maxClients      = 1_000_000
	maxBatch        = 8192      // every thread holds the activations of a batch
	maxLocalSamples = 1 << 22   // E·B, the length of a client's batch plan for a round
	maxGenerated    = 1_000_000 // pictures of the synthetic data, 3 KB each
)

// runRows say which run it is: method, data, net, availability, and its size. The defaults of the rows are what the
// tables of FedAWE use. Where another paper has other values, package papers sets them.
func runRows() []Row {
	return []Row{
		word("method", "fedawe", algos.Names(), "federated method: "+strings.Join(algos.Names(), ", "),
			func(s *Settings) any { return &s.Method }).column(),
		word("preset", algos.Presets()[0], algos.Presets(),
			"code: as the authors' released code; paper: as the paper's text; code-no-momentum: as CA-Fed's code, but "+
				"with plain SGD"+defaultOf(algos.Presets()[0], firstPreset),
			func(s *Settings) any { return &s.Preset }).quiet().column(),
		word("data", "cifar10", nil, "data set: "+strings.Join(datasets.Names(), ", "),
			func(s *Settings) any { return &s.Data }).column(),
		word("net", "", models.Names(), "network: "+strings.Join(models.Names(), ", ")+" (default: the data set's)",
			func(s *Settings) any { return &s.Net }).column(),
		word("init", string(models.Kaiming), []string{string(models.Kaiming), string(models.Torch)},
			"initial weights: kaiming, normal as FedAWE's released code draws them, or torch, PyTorch's default"+
				defaultOf(string(models.Kaiming), func(method string) string {
					return papers.TrainsAs(method, firstPreset(method), "", "").Get("init")
				}),
			func(s *Settings) any { return &s.Init }).quiet().
			only(&use{"a net that is not linear and without --init-from", func(s *Settings) bool {
				return !strings.HasPrefix(s.Net, "linear-") && s.InitFrom == ""
			}}),
		word("init-from", "", nil, "safetensors file with the initial weights of the net, in place of --init",
			func(s *Settings) any { return &s.InitFrom }).
			only(&use{"a file", func(s *Settings) bool { return s.InitFrom != "" }}),
		word("availability", "stationary", availability.Names(),
			"availability model: "+strings.Join(availability.Names(), ", "),
			func(s *Settings) any { return &s.Availability }).column(),
		word("draws", "philox", []string{"philox", "numpy"},
			"philox, or numpy: split and availability exactly as FedAWE's released code draws them from the same seed",
			func(s *Settings) any { return &s.Draws }),
		whole("clients", "100", algos.Between(1, maxClients), "number of clients N",
			func(s *Settings) any { return &s.Clients }).column(),
		whole("rounds", "2000", algos.Between(1, math.MaxInt32), "rounds T",
			func(s *Settings) any { return &s.Rounds }),
	}
}

// trainingRows say how the clients train, and what the server does with their updates. The default 0 of lr and of
// server-lr is never used: a method has its own, see [Defaults], or must be given them.
func trainingRows() []Row {
	return []Row{
		whole("local-steps", "10", algos.Between(1, maxLocalSamples), "local steps E of a client per round",
			func(s *Settings) any { return &s.LocalSteps }).implies("local-epochs", "none").
			only(&use{"--local-epochs none", func(s *Settings) bool { return s.LocalEpochs.Value == nil }}),
		whole("local-epochs", "none", algos.Between(1, math.MaxInt32),
			"passes of a client over its samples per round, in place of local steps, or none",
			func(s *Settings) any { return &s.LocalEpochs }).orNone(),
		whole("batch", "128", algos.Between(1, maxBatch), "samples B per local step",
			func(s *Settings) any { return &s.Batch }),
		number("lr", "0", algos.Above(0), "local learning rate of the first round (default: the method's in its paper)",
			func(s *Settings) any { return &s.LR }),
		word("lr-schedule", "decay", []string{"decay", "constant"},
			"decay: round t has lr/sqrt(t/10+1); constant: every round has lr (default: as in the method's paper)",
			func(s *Settings) any { return &s.LRSchedule }).quiet(),
		number("server-lr", "0", algos.Above(0), "server learning rate (default: the method's in its paper)",
			func(s *Settings) any { return &s.ServerLR }),
		word("weights", "equal", []string{"equal", "size"},
			"target importance of the clients, equal or size (number of samples); "+
				list(Weighted(), " and ")+" aim at it",
			func(s *Settings) any { return &s.Weights }).
			only(onMethods(append(Weighted(), programs()...)...)),
		word("augment", "", []string{"batch", "sample", "none"},
			"crops and flips drawn per batch or per sample, or none (default: the preset's; none for mnist)",
			func(s *Settings) any { return &s.Augment }).only(&use{"images", (*Settings).images}),
		number("clip", "none", algos.Above(0), "largest norm of a local gradient, or none (default: the preset's)",
			func(s *Settings) any { return &s.Clip }).orNone().quiet(),
		number("weight-decay", "0", algos.AtLeast(0), "weight decay of the local steps",
			func(s *Settings) any { return &s.Decay }),
		number("momentum", "0", algos.AtLeastBelow(0, 1),
			"momentum of the local steps; a client's momentum lasts across rounds",
			func(s *Settings) any { return &s.Momentum }),
	}
}

// evaluationRows say when the model is evaluated, and on which samples. --eval-last is 2 because FedAWE's code
// evaluates every second of the last 50 rounds.
var evaluationRows = []Row{
	whole("eval-every", "10", algos.Between(1, math.MaxInt32), "evaluate every so many rounds, and after the last",
		func(s *Settings) any { return &s.EvalEvery }).implies("eval-last", "none"),
	whole("eval-last", "2", algos.Between(1, math.MaxInt32),
		"evaluate every so many rounds among the last 50, whose mean a table prints, or none "+
			"(default 2, none with --eval-every)",
		func(s *Settings) any { return &s.EvalLast }).orNone().quiet(),
	{
		Param: &algos.Param{
			Name: "eval-train", Kind: algos.Switch, Default: "true",
			Help: "evaluate on the whole training set as well, as the papers do",
		},
		Field: func(s *Settings) any { return &s.EvalTrain },
	},
}

// defaultOf returns the end of the help of a setting whose default depends on the method, " (default: torch for fedar
// and scaffold, else kaiming)". of returns the default of a method, empty for usual.
func defaultOf(usual string, of func(method string) string) string {
	values, methods := results.Grouped(algos.Names(), func(method string) string { return cmp.Or(of(method), usual) })
	var words []string
	for _, value := range values {
		if value != usual {
			words = append(words, value+" for "+list(methods[value], " and "))
		}
	}
	return " (default: " + strings.Join(append(words, "else "+usual), ", ") + ")"
}

// firstPreset returns the default preset of a method.
func firstPreset(method string) string { return papers.Presets(method)[0] }
