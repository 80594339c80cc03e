package settings

import (
	"math"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/datasets"
	"rollcall/nets"
)

// Row is one setting of a run: a flag of `rollcall run`, a key of run.json, a name in params.
type Row struct {
	algos.Param // name, kind, default, range or words, help

	Field  func(*Settings) any // where the value is kept: a *string, *int, *float64, *bool or *Optional; nil: in OfMethods
	For    *use                // the runs that look at it; nil: all
	Column bool                // it has a column of its own in CSV, and is not in params
	Quiet  bool                // the usage text says the default itself, or it depends on other settings
}

// Bounds beyond which nobody means it: a slip of the finger should not cost all memory.
const (
	maxClients      = 1_000_000
	maxBatch        = 8192      // activations of so many samples are held per thread
	maxLocalSamples = 1 << 22   // E·B, the length of a client's plan of a round
	maxGenerated    = 1_000_000 // pictures of the synthetic data, 3 KB each
)

// rows are all settings: those of every run, and then those of single methods.
var rows []Row

func init() { // at declaration, rows would refer to itself: whether a row is of use depends on other rows
	rows = slices.Concat(runRows, trainingRows, dataRows, processRows, evaluationRows, methodRows())
}

// Rows returns all settings.
func Rows() []Row { return slices.Clone(rows) }

// runRows say which run it is.
var runRows = []Row{
	{
		Param: algos.Param{
			Name: "method", Kind: algos.Word, Default: "fedawe", Words: algos.Names(),
			Help: "federated method: " + strings.Join(algos.Names(), ", "),
		},
		Field: func(s *Settings) any { return &s.Method }, Column: true,
	},
	{
		Param: algos.Param{
			Name: "preset", Kind: algos.Word, Default: algos.Presets()[0], Words: algos.Presets(),
			Help: "code: as the authors' released code; paper: as the paper's text",
		},
		Field: func(s *Settings) any { return &s.Preset }, Column: true,
	},
	{
		Param: algos.Param{
			Name: "data", Kind: algos.Word, Default: "cifar10",
			Help: "data set: " + strings.Join(datasets.Names(), ", "),
		},
		Field: func(s *Settings) any { return &s.Data }, Column: true,
	},
	{
		Param: algos.Param{
			Name: "net", Kind: algos.Word, Words: nets.ModelNames(),
			Help: "network: " + strings.Join(nets.ModelNames(), ", ") + " (default: the data set's)",
		},
		Field: func(s *Settings) any { return &s.Net }, Column: true,
	},
	{
		Param: algos.Param{
			Name: "init", Kind: algos.Word, Default: string(nets.Kaiming), Words: []string{string(nets.Kaiming), string(nets.Torch)},
			Help: "initial weights: kaiming, normal as FedAWE's released code draws them, or torch, PyTorch's default " +
				"(default: torch for fedar, fedavg-is, fedavg-s and scaffold, else kaiming)",
		},
		Field: func(s *Settings) any { return &s.Init }, Quiet: true,
	},
	{
		Param: algos.Param{
			Name: "availability", Kind: algos.Word, Default: "stationary", Words: availability.Names(),
			Help: "availability process: " + strings.Join(availability.Names(), ", "),
		},
		Field: func(s *Settings) any { return &s.Availability }, Column: true,
	},
	{
		Param: algos.Param{
			Name: "draws", Kind: algos.Word, Default: "philox", Words: []string{"philox", "numpy"},
			Help: "philox, or numpy: split and availability exactly as FedAWE's released code draws them from the same seed",
		},
		Field: func(s *Settings) any { return &s.Draws },
	},
	{
		Param: algos.Param{
			Name: "clients", Kind: algos.Whole, Default: "100", Range: algos.Between(1, maxClients), Help: "number of clients N",
		},
		Field: func(s *Settings) any { return &s.Clients }, Column: true,
	},
	{
		Param: algos.Param{
			Name: "rounds", Kind: algos.Whole, Default: "2000", Range: algos.Between(1, math.MaxInt32), Help: "rounds T",
		},
		Field: func(s *Settings) any { return &s.Rounds },
	},
}

// evaluationRows say when the model is evaluated, and on what.
var evaluationRows = []Row{
	{
		Param: algos.Param{
			Name: "eval-every", Kind: algos.Whole, Default: "10", Range: algos.Between(1, math.MaxInt32),
			Help:      "evaluate every so many rounds, and after the last",
			Overrides: []algos.Setting{{Name: "eval-last", Value: "none"}},
		},
		Field: func(s *Settings) any { return &s.EvalEvery },
	},
	{
		Param: algos.Param{
			Name: "eval-last", Kind: algos.Whole, None: true, Default: "2", Range: algos.Between(1, math.MaxInt32), // as FedAWE's code
			Help: "evaluate every so many rounds among the last 50, whose mean a table prints, or none " +
				"(default 2, none with --eval-every)",
		},
		Field: func(s *Settings) any { return &s.EvalLast }, Quiet: true,
	},
	{
		Param: algos.Param{
			Name: "eval-train", Kind: algos.Switch, Default: "true",
			Help: "evaluate on the whole training set as well, as the papers do",
		},
		Field: func(s *Settings) any { return &s.EvalTrain },
	},
}

// methodRows are the parameters that methods declare.
func methodRows() (list []Row) {
	for _, p := range algos.Params() {
		of := onMethods(p.Methods()...)
		if p.Only.Other != nil {
			methods := of.by
			of.in += " " + p.Only.Text
			of.by = func(s *Settings) bool { return methods(s) && p.HasSay(s.MethodOptions()) }
		}
		list = append(list, Row{Param: *p, For: of, Quiet: p.Paper != "" && p.Paper != p.Default})
	}
	return list
}

// rowOf returns the setting of that name; nil if there is none.
func rowOf(name string) *Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name }); i >= 0 {
		return &rows[i]
	}
	return nil
}
