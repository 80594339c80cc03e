package settings

import (
	"slices"
	"sort"

	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

// Settings is everything that decides what a run computes; together with the seed it names the run.
type Settings struct {
	Method       string `json:"method"`
	Preset       string `json:"preset"`
	Data         string `json:"data"`
	Net          string `json:"net"`
	Init         string `json:"init"` // kaiming or torch
	Availability string `json:"availability"`

	Draws   string   `json:"draws"`   // where split and availability come from
	Clients int      `json:"clients"` // N
	Alpha   float64  `json:"alpha"`   // of the Dirichlet split
	Period  int      `json:"period"`  // P of the processes
	Gamma   float64  `json:"gamma"`   // of the sine
	Cutoff  float64  `json:"cutoff"`  // δ_0 of the interleaved sine
	Low     float64  `json:"low"`     // step of the staircase
	P       Optional `json:"p"`       // p_i of every client; none: from the classes it holds

	Rounds      int      `json:"rounds"`       // T
	LocalSteps  int      `json:"local-steps"`  // E
	LocalEpochs Optional `json:"local-epochs"` // in place of steps; none: steps
	Batch       int      `json:"batch"`        // B
	LR          float64  `json:"lr"`           // η_0
	LRSchedule  string   `json:"lr-schedule"`  // decay or constant
	ServerLR    float64  `json:"server-lr"`    // η_g
	Weights     string   `json:"weights"`      // target importance: equal or size
	Augment     string   `json:"augment"`      // batch, sample or none
	Clip        Optional `json:"clip"`         // largest norm of a local gradient
	Decay       float64  `json:"weight-decay"`
	Momentum    float64  `json:"momentum"`

	FedAWEClip  Optional `json:"fedawe-clip"`
	FedAWEModel string   `json:"fedawe-model"`
	FedAUCutoff int      `json:"fedau-cutoff"`
	F3ASTBeta   float64  `json:"f3ast-beta"`
	F3ASTLimit  Optional `json:"f3ast-limit"`
	F3ASTMean   bool     `json:"f3ast-mean"`

	DataSettings
	CorrelatedSettings
	FedAR FedARSettings `json:"fedar,omitzero"`

	EvalEvery int      `json:"eval-every"`
	EvalLast  Optional `json:"eval-last"` // every so many rounds among the last 50
	EvalTrain bool     `json:"eval-train"`
	TrainSize int      `json:"train-size"` // of the synthetic data
	TestSize  int      `json:"test-size"`
}

// Ways to weigh clients and to augment.
var (
	Weightings = []string{"equal", "size"}
	Augments   = []string{"batch", "sample", "none"}
	drawings   = []string{"philox", "numpy"}
	schedules  = []string{"decay", "constant"}
	inits      = []string{string(nets.Kaiming), string(nets.Torch)}
)

// Defaults returns the papers' settings for a method, a preset and a data set; the other fields are the same for all.
func Defaults(method, preset, data string) (Settings, error) {
	if err := OneOf("method", method, algos.Names()); err != nil {
		return Settings{}, err
	}
	if err := OneOf("preset", preset, algos.Presets()); err != nil {
		return Settings{}, err
	}
	if err := DataKnown(data); err != nil {
		return Settings{}, err
	}
	lr, serverLR, err := algos.DefaultLR(method)
	if err != nil {
		return Settings{}, err
	}
	about, err := datasets.About(data)
	if err != nil {
		return Settings{}, err
	}
	p := algos.Preset(preset)
	process, method0 := availability.Defaults(nil, 0), algos.Defaults(p)
	evalLast := 2.0 // as FedAWE's released code does
	s := Settings{
		Method: method, Preset: preset, Data: data, Net: about.Net, Init: string(nets.Kaiming), Availability: "stationary",
		Draws: "philox", Clients: 100, Alpha: 0.1, Period: process.Period, Gamma: process.Gamma, Cutoff: process.Cutoff, Low: process.Low,
		Rounds: 2000, LocalSteps: 10, Batch: 128, LR: lr, LRSchedule: "decay", ServerLR: serverLR, Weights: "equal",
		Augment: augmentName(p.Augment()), Clip: Optional{p.LocalClip()},
		FedAWEClip: Optional{method0.FedAWEClip}, FedAWEModel: string(method0.FedAWEModel), FedAUCutoff: method0.FedAUCutoff,
		F3ASTBeta: method0.F3ASTBeta, F3ASTMean: method0.F3ASTMean,
		EvalEvery: 10, EvalLast: Optional{&evalLast}, EvalTrain: true, TrainSize: datasets.SyntheticTrain, TestSize: datasets.SyntheticTest,
	}
	s.DataSettings, s.CorrelatedSettings = defaultData(), defaultCorrelated(p)
	s.FedAR = defaultFedAR()
	s.asCAFed(p)
	s.asFedAR()
	if !about.Augmented {
		s.Augment = augmentName(plan.AugmentNone)
	}
	return s, nil
}

func augmentName(a plan.Augment) string {
	switch a {
	case plan.AugmentPerBatch:
		return "batch"
	case plan.AugmentPerSample:
		return "sample"
	default:
		return "none"
	}
}

func (s *Settings) Augmentation() plan.Augment {
	switch s.Augment {
	case "batch":
		return plan.AugmentPerBatch
	case "sample":
		return plan.AugmentPerSample
	default:
		return plan.AugmentNone
	}
}

// Columns are the settings that have a CSV column of their own.
var Columns = []string{"method", "preset", "data", "net", "availability", "clients", "alpha"}

// Params returns the sorted key=value;… of the settings that differ from the preset and have no column of their own.
func (s Settings) Params() results.Params {
	base, err := Defaults(s.Method, s.Preset, s.Data)
	if err != nil {
		return ""
	}
	var out []string
	was, is := base.Values(), s.Values()
	for name, v := range is {
		if was[name] != v && !slices.Contains(Columns, name) {
			out = append(out, name+"="+v)
		}
	}
	sort.Strings(out)
	return results.NewParams(out...)
}

// Values returns every setting by the name of its flag.
func (s Settings) Values() map[string]string {
	m := map[string]string{}
	s.Flags().VisitAll(func(f *pflag.Flag) { m[f.Name] = f.Value.String() })
	return m
}

// Evaluates reports whether the model is looked at after so many rounds.
func (s *Settings) Evaluates(round int) bool {
	if round == s.Rounds || round%s.EvalEvery == 0 {
		return true
	}
	return s.EvalLast.Value != nil && round > s.Rounds-results.ProtocolRounds && round%int(*s.EvalLast.Value) == 0
}

// MethodOptions returns the method's own settings.
func (s *Settings) MethodOptions() algos.Options {
	o := algos.Options{
		FedAUCutoff: s.FedAUCutoff, F3ASTBeta: s.F3ASTBeta, F3ASTMean: s.F3ASTMean,
		FedAWEModel: algos.FedAWEModel(s.FedAWEModel), FedAWEClip: s.FedAWEClip.Value,
	}
	if s.F3ASTLimit.Value != nil {
		limit := int(*s.F3ASTLimit.Value)
		o.F3ASTLimit = &limit
	}
	s.correlatedOptions(&o)
	s.fedarOptions(&o)
	return o
}

// Cell names the cell of a table these settings are.
func (s *Settings) Cell(table string) results.Cell {
	c := results.Cell{Table: table, Method: s.Method, Preset: s.Preset, Data: s.Data, Net: s.Net, Availability: s.Availability, Clients: s.Clients}
	if s.cut() {
		c.Alpha = files.Some(s.Alpha)
	}
	return c
}

// Rate returns the local learning rate of round t.
func (s *Settings) Rate(t int) float64 {
	if s.LRSchedule == "decay" {
		return algos.DecayedLR(s.LR, t)
	}
	return s.LR
}
