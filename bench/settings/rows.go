package settings

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/algos/availability/trace"
	"rollcall/datasets"
	"rollcall/internal/files"
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
			func(s *Settings) any { return &s.Method }).column().below(Usual),
		word("preset", algos.Presets()[0], algos.Presets(),
			"code: as the authors' released code; paper: as the paper's text; code-no-momentum: as CA-Fed's code, but "+
				"with plain SGD"+defaultOf(algos.Presets()[0], firstPreset),
			func(s *Settings) any { return &s.Preset }).quiet().column(),
		word("data", "cifar10", nil, "data set: "+strings.Join(datasets.Names(), ", ")+", or npz:FILE, arrays of NumPy",
			func(s *Settings) any { return &s.Data }).column().below(Usual),
		word("net", "", models.Names(), NetHelp()+" (default: the data set's)",
			func(s *Settings) any { return &s.Net }).column().below(Usual),
		word("init", string(models.Kaiming), []string{string(models.Kaiming), string(models.Torch)},
			"initial weights: kaiming, normal as FedAWE's released code draws them, or torch, PyTorch's default"+
				defaultOf(string(models.Kaiming), func(method string) string {
					return papers.TrainsAs(method, firstPreset(method), "", "").Get("init")
				}),
			func(s *Settings) any { return &s.Init }).quiet().
			only(&use{in: "a net that is not linear and without --init-from", by: func(s *Settings) bool {
				return !models.Linear(s.Net) && s.InitFrom == ""
			}}),
		word("init-from", "", nil, "safetensors file with the initial weights of the net, in place of --init",
			func(s *Settings) any { return &s.InitFrom }).
			only(&use{in: "a file", by: func(s *Settings) bool { return s.InitFrom != "" }}),
		word("availability", "stationary", availability.Names(),
			"availability model: "+strings.Join(availability.Names(), ", "),
			func(s *Settings) any { return &s.Availability }).column().below(Usual),
		word("draws", "philox", []string{"philox", "numpy"},
			"philox, or numpy: split and availability exactly as FedAWE's released code draws them from the same seed",
			func(s *Settings) any { return &s.Draws }).below(DataSplit),
		whole("clients", "100", algos.Between(1, maxClients), "number of clients N",
			func(s *Settings) any { return &s.Clients }).column().below(Usual),
		whole("rounds", "2000", algos.Between(1, math.MaxInt32), "rounds T",
			func(s *Settings) any { return &s.Rounds }).below(Usual),
	}
}

// NetHelp says what a flag of a net takes.
func NetHelp() string {
	return "network: " + strings.Join(models.Names(), ", ") + ", or the layers of your own, as a text or a file"
}

// trainingRows say how the clients train, and what the server does with their updates. The default 0 of lr and of
// server-lr is never used: a method has its own, see [Defaults], or must be given them.
func trainingRows() []Row {
	return []Row{
		whole("local-steps", "10", algos.Between(1, maxLocalSamples), "local steps E of a client per round",
			func(s *Settings) any { return &s.LocalSteps }).implies("local-epochs", "none").
			only(&use{in: "--local-epochs none", by: func(s *Settings) bool { return !s.LocalEpochs.Valid }}),
		whole("local-epochs", "none", algos.Between(1, math.MaxInt32),
			"passes of a client over its samples per round, in place of local steps, or none",
			func(s *Settings) any { return &s.LocalEpochs }).orNone(),
		whole("batch", "128", algos.Between(1, maxBatch), "samples B per local step",
			func(s *Settings) any { return &s.Batch }),
		number("lr", "0", algos.Above(0), "local learning rate of the first round (default: the method's in its paper)",
			func(s *Settings) any { return &s.LR }).below(Usual),
		word("lr-schedule", "decay", []string{"decay", "constant"},
			"decay: round t has lr/sqrt(t/10+1); constant: every round has lr (default: as in the method's paper)",
			func(s *Settings) any { return &s.LRSchedule }).quiet(),
		number("server-lr", "0", algos.Above(0), "server learning rate (default: the method's in its paper)",
			func(s *Settings) any { return &s.ServerLR }),
		word("weights", "equal", []string{"equal", "size"},
			"target importance of the clients, equal or size (number of samples); "+
				files.Listed(Weighted(), "and")+" aim at it",
			func(s *Settings) any { return &s.Weights }).
			only(onMethods(append(Weighted(), programs()...)...)),
		word("augment", "", []string{"batch", "sample", "none"},
			"crops and flips drawn per batch or per sample, or none (default: the preset's; none for mnist)",
			func(s *Settings) any { return &s.Augment }).only(&use{in: "images", by: (*Settings).images}),
		number("clip", "none", algos.Above(0), "largest norm of a local gradient, or none (default: the preset's)",
			func(s *Settings) any { return &s.Clip }).orNone().quiet(),
		number("weight-decay", "0", algos.AtLeast(0), "weight decay of the local steps",
			func(s *Settings) any { return &s.Decay }),
		number("momentum", "0", algos.AtLeastBelow(0, 1),
			"momentum of the local steps; a client's momentum lasts across rounds",
			func(s *Settings) any { return &s.Momentum }),
	}
}

// The values of --eval-train-rounds.
const (
	EvalTrainAll  = "all"
	EvalTrainLast = "last"
)

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
	word("eval-train-rounds", EvalTrainAll, []string{EvalTrainAll, EvalTrainLast},
		"all: the training set is in every evaluation; last: in those among the last 50 rounds, which tables read "+
			"(default all; last in a sweep)",
		func(s *Settings) any { return &s.EvalTrainRounds }).quiet().
		only(&use{in: "--eval-train", by: func(s *Settings) bool { return s.EvalTrain }}).apart(),
}

// defaultOf returns the end of the help of a setting whose default depends on the method, " (default: torch for fedar
// and scaffold, else kaiming)". of returns the default of a method, empty for usual.
func defaultOf(usual string, of func(method string) string) string {
	values, methods := results.Grouped(algos.Names(), func(method string) string { return cmp.Or(of(method), usual) })
	var words []string
	for _, value := range values {
		if value != usual {
			words = append(words, value+" for "+files.Listed(methods[value], "and"))
		}
	}
	return " (default: " + strings.Join(append(words, "else "+usual), ", ") + ")"
}

// firstPreset returns the default preset of a method.
func firstPreset(method string) string { return papers.Presets(method)[0] }

// dataRows say what the clients hold. The defaults γ = δ = 0.5 come from ToN, section V-A.
var dataRows = []Row{
	word("split", string(datasets.SplitClients), datasets.SplitKinds(),
		"how samples are cut: clients, each a Dirichlet draw of classes; classes, each a Dirichlet draw of clients; "+
			"clusters, as classes, but of --clusters whose clients share alike; even; two-class, as many of two "+
			"classes at each client; natural, each client one writer of femnist with its own test samples, of whom "+
			"--clients are drawn; file:FILE, as a CSV file client,index says (default: as in the method's paper)",
		func(s *Settings) any { return &s.Split }).quiet().
		only(&use{in: "images without --swap-pairs", by: func(s *Settings) bool { return !s.SplitAway() }}),
	word("split-file", "", nil, "the FILE of --split file:FILE",
		func(s *Settings) any { return &s.SplitFile }).implies("split", splitFile).
		only(&use{in: "--split file", by: (*Settings).splitByFile}),
	number("alpha", "0.1", algos.Above(0), "Dirichlet parameter of the split among clients",
		func(s *Settings) any { return &s.Alpha }).column().
		only(&use{in: "--split clients, classes or clusters", by: (*Settings).TakesAlpha}),
	number("leaf-gamma", "0.5", algos.AtLeast(0), "leaf: γ, how much the clients' models differ, "+
		"with --leaf-shared; without it γ adds the same to all scores of a client, and changes no label",
		func(s *Settings) any { return &s.LeafGamma }).only(onData("leaf")),
	number("leaf-delta", "0.5", algos.AtLeast(0), "leaf: δ, how much the clients' samples differ",
		func(s *Settings) any { return &s.LeafDelta }).only(onData("leaf")),
	onOff("leaf-augmentation", "leaf: 7000 samples, ten times as many at a more available client as at another, as "+
		"CA-Fed's released generator has it with --augmentation",
		func(s *Settings) any { return &s.LeafAugmentation }).
		only(&use{in: "--data leaf and true", by: func(s *Settings) bool {
			return s.Data == "leaf" && s.LeafAugmentation
		}}),
	onOff("leaf-iid", "leaf: all clients share one model, and a client's samples lie around B_k in every feature, as "+
		"CA-Fed's released generator has it with --iid",
		func(s *Settings) any { return &s.LeafIID }).
		only(&use{in: "--data leaf and true", by: func(s *Settings) bool { return s.Data == "leaf" && s.LeafIID }}),
	onOff("leaf-shared", "leaf: the clients' models lie around a shared one, with variance γ, and their samples "+
		"around 0",
		func(s *Settings) any { return &s.LeafShared }).
		only(&use{in: "--data leaf without --leaf-iid, and true", by: func(s *Settings) bool {
			return s.Data == "leaf" && s.LeafShared && !s.LeafIID
		}}),
	whole("swap-pairs", "0", algos.Range{},
		"images: cut the samples evenly and swap so many pairs of labels at every client of a second group; "+
			"0: true labels, cut as --split says",
		func(s *Settings) any { return &s.SwapPairs }),
	number("validation", "0", algos.AtLeastBelow(0, 1), "share of each client's samples kept back from training",
		func(s *Settings) any { return &s.Validation }),
	number("hold-out", "0", algos.AtLeastBelow(0, 1),
		"share of the training samples that go to no client and replace the test set; tune chooses rates by them",
		func(s *Settings) any { return &s.HoldOut }).
		only(&use{in: "a share above 0", by: func(s *Settings) bool { return s.HoldOut > 0 }}),
	whole("train-size", "0", algos.Between(0, maxGenerated),
		fmt.Sprintf("training samples: so many are drawn from the set, or generated of --data synthetic (default %d); "+
			"0: all of the set", datasets.SyntheticTrain),
		func(s *Settings) any { return &s.TrainSize }).quiet().later().
		only(&use{in: "--data synthetic, or other images without --swap-pairs", by: func(s *Settings) bool {
			return s.Data == "synthetic" || !s.SplitAway()
		}}),
	whole("test-size", "0", algos.Between(0, maxGenerated),
		fmt.Sprintf("test samples, likewise (--data synthetic: default %d)", datasets.SyntheticTest),
		func(s *Settings) any { return &s.TestSize }).quiet().later().
		only(&use{
			in: "--data synthetic, or other images without --swap-pairs and --hold-out",
			by: func(s *Settings) bool { return s.Data == "synthetic" || !s.SplitAway() && s.HoldOut == 0 },
		}),
}

// splitFile is the --split that a file says.
const splitFile = string(datasets.SplitFile)

// published are the papers' parameters of the availability models, which package availability keeps.
var published = availability.Defaults(nil, 0)

// availabilityRows say when the clients are available. Package availability checks the rows without a range when it
// makes the model, see [Settings.checkAvailability].
var availabilityRows = []Row{
	whole("period", strconv.Itoa(published.Period), algos.Between(1, math.MaxInt32),
		"staircase, the sines, cyclic: rounds per cycle",
		func(s *Settings) any { return &s.Period }).
		only(onAvailability("staircase", "sine", "interleaved-sine", "log-normal-sine", "cyclic")),
	number("gamma", decimal(published.Gamma), algos.Between(0, 1), "sine, interleaved-sine: amplitude",
		func(s *Settings) any { return &s.Gamma }).only(onAvailability("sine", "interleaved-sine")),
	number("cutoff", decimal(published.Cutoff), algos.Between(0, 1),
		"interleaved-sine: the probability below which it is 0",
		func(s *Settings) any { return &s.Cutoff }).only(onAvailability("interleaved-sine")),
	number("low", decimal(published.Low), algos.Between(0, 1), "staircase: factor of the lower step",
		func(s *Settings) any { return &s.Low }).only(onAvailability("staircase")),
	number("p", "none", algos.Between(0, 1),
		"every client's p_i, or none: from the classes it holds",
		func(s *Settings) any { return &s.P }).orNone().only(onAvailability(fromClasses()...)),
	number("g", decimal(published.G), algos.Range{},
		"markov, clusters: availability of the classes is 1/2 + g and 1/2 − g",
		func(s *Settings) any { return &s.G }).only(onAvailability("markov", "clusters")),
	number("nu", decimal(published.Nu), algos.Range{}, "markov: λ of the correlated clients",
		func(s *Settings) any { return &s.Nu }).only(onAvailability("markov")),
	number("epsilon", decimal(published.Epsilon), algos.AtLeast(0), "markov: spread of the λ of the others",
		func(s *Settings) any { return &s.Epsilon }).only(onAvailability("markov")),
	word("classes", "exact", []string{"exact", classesDrawn},
		"markov: exact, every class of availability has its share of the clients; drawn, each client draws its class",
		func(s *Settings) any { return &s.Classes }).
		only(&use{
			in: "--availability markov and drawn", models: []string{"markov"},
			by: func(s *Settings) bool { return s.Availability == "markov" && s.Classes == classesDrawn },
		}),
	whole("clusters", strconv.Itoa(published.Clusters), algos.Range{}, "clusters: groups of clients that share a chain",
		func(s *Settings) any { return &s.Clusters }).
		only(&use{
			in: "--availability clusters or --split clusters", models: []string{"clusters"},
			by: func(s *Settings) bool { return s.Availability == "clusters" || s.Split == "clusters" },
		}),
	number("p-min", decimal(published.PMin), algos.Range{}, "uniform: smallest availability; the largest is 1",
		func(s *Settings) any { return &s.PMin }).only(onAvailability("uniform")),
	number("q", decimal(published.Q), algos.Range{}, "markov-q: probability that a client that is away comes back",
		func(s *Settings) any { return &s.Q }).only(onAvailability("markov-q")),
	whole("groups", strconv.Itoa(published.Turns), algos.Range{}, "periodic: groups of clients that take turns",
		func(s *Settings) any { return &s.Turns }).only(onAvailability("periodic")),
	whole("on", strconv.Itoa(published.On), algos.Range{}, "periodic: rounds of a group's turn",
		func(s *Settings) any { return &s.On }).only(onAvailability("periodic")),
	number("sigma", decimal(published.Sigma), algos.Range{}, "log-normal, log-normal-sine: spread of ln p_i",
		func(s *Settings) any { return &s.Sigma }).only(onAvailability("log-normal", "log-normal-sine")),
	number("size-power", decimal(published.SizePower), algos.Range{},
		"data-size: exponent; below 0, clients with few samples are there most",
		func(s *Settings) any { return &s.SizePower }).only(onAvailability("data-size")),
	word("chain", "", nil, "chain: CSV file with π and λ, or the transition probabilities, of each client",
		func(s *Settings) any { return &s.Chain }).only(onAvailability("chain")),
	whole("chain-sample", "none", algos.Between(1, maxClients),
		"chain: so many clients, each with the chain of a row that it draws, or none: client i has row i",
		func(s *Settings) any { return &s.ChainSample }).orNone().implies("clients", itself).
		only(onAvailability("chain")),
	word("trace", "", nil, "trace: file of who is there when, see --trace-format",
		func(s *Settings) any { return &s.Trace }).only(onAvailability("trace")),
	word("trace-format", traceAuto, append([]string{traceAuto}, trace.Formats()...),
		"trace: format of the file, "+traceAuto+", by its content, or "+OrList(trace.Formats()),
		func(s *Settings) any { return &s.TraceFormat }).later().only(onAvailability("trace")),
	whole("trace-sample", "none", algos.Between(1, maxClients),
		"trace: so many clients, drawn by the seed from those of the file, or none: all of them",
		func(s *Settings) any { return &s.TraceSample }).orNone().implies("clients", itself).later().
		only(onAvailability("trace")),
	number("trace-offset", "0", algos.AtLeast(0),
		"trace: where round 0 is in the file, in seconds with --round-seconds, else in rounds",
		func(s *Settings) any { return &s.TraceOffset }).later().only(onAvailability("trace")),
	word("trace-end", traceEndError, []string{traceEndError, traceEndRepeat, traceEndStop, traceEndEmpty},
		"trace: of a run that is longer than its trace: error, it is refused; repeat, the trace starts again; stop, "+
			"the run ends with the trace; empty, no client is available any more",
		func(s *Settings) any { return &s.TraceEnd }).only(onAvailability("trace")),
	number("round-seconds", "none", algos.Above(0), "trace: seconds per round, or none if the file counts rounds",
		func(s *Settings) any { return &s.RoundSeconds }).orNone().only(onAvailability("trace")),
	word("population", none, nil, "who belongs to the federation when, under any model: arrival:a:b, clients join "+
		"between shares a and b of the run, for ever; departure:a:b, they leave; window:c:o:I, c clients, of which "+
		"all but o change every I rounds; or none: everybody always",
		func(s *Settings) any { return &s.Population }).later(),
	whole("min-separation", "0", algos.Between(0, math.MaxInt32),
		"rounds for which a client is away after each round with it; "+OrList(independent()),
		func(s *Settings) any { return &s.Separation }).later().
		only(&use{in: "--availability " + OrList(independent()), by: (*Settings).independent}),
	word("outages", none, nil, "groups of clients that fail together, o:lambda:G: each of G groups is away in a "+
		"share o of the rounds, by a chain with eigenvalue lambda, or none; "+OrList(independent()),
		func(s *Settings) any { return &s.Outages }).later().
		only(&use{in: "--availability " + OrList(independent()), by: (*Settings).independent}),
}

// fromClasses returns the models whose p_i come from the classes that a client holds.
func fromClasses() []string {
	return modelsWho(func(d availability.Definition) bool { return d.FromClasses })
}

// independent returns the models of which no round depends on another.
func independent() []string {
	return modelsWho(func(d availability.Definition) bool { return d.Independent })
}

func modelsWho(is func(availability.Definition) bool) (names []string) {
	for _, name := range availability.Names() {
		if is(availability.Of(name)) {
			names = append(names, name)
		}
	}
	return names
}

// traceAuto is the --trace-format of a file that is told by its content.
const traceAuto = "auto"

// classesDrawn is the value of --classes that changes anything.
const classesDrawn = "drawn"

// The values of --trace-end.
const (
	traceEndError  = "error"
	traceEndRepeat = "repeat"
	traceEndStop   = "stop"
	traceEndEmpty  = "empty"
)
