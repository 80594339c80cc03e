package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/datasets"
	"rollcall/nets"
	"rollcall/results/papers"
)

// SettingFlags are the flags that set a field of Settings. Flags whose default depends on others show it in their usage.
func SettingFlags(fs *pflag.FlagSet, s *Settings) {
	fs.StringVar(&s.Method, "method", "fedawe", "federated method: "+strings.Join(algos.Names(), ", "))
	fs.StringVar(&s.Preset, "preset", algos.Presets()[0], "code: as the authors' released code; paper: as the paper's text")
	fs.StringVar(&s.Data, "data", "cifar10", "data set: "+strings.Join(datasets.Names(), ", "))
	fs.StringVar(&s.Net, "net", "", "network: "+strings.Join(nets.ModelNames(), ", ")+" (default: the data set's)")
	fs.StringVar(&s.Init, "init", string(nets.Kaiming), "initial weights: kaiming, normal as FedAWE's released code draws them, or torch, PyTorch's default (default: torch for fedar, fedavg-is, fedavg-s and scaffold, else kaiming)")
	fs.StringVar(&s.Availability, "availability", "stationary", "availability process: "+strings.Join(availability.Names(), ", "))
	fs.StringVar(&s.Draws, "draws", "philox", "philox, or numpy: split and availability exactly as FedAWE's released code draws them from the same seed")
	fs.IntVar(&s.Clients, "clients", 100, "number of clients N")
	fs.Float64Var(&s.Alpha, "alpha", 0.1, "Dirichlet parameter of the split among clients")
	fs.IntVar(&s.Period, "period", 20, "rounds per cycle of the process")
	fs.Float64Var(&s.Gamma, "gamma", 0.3, "amplitude of the sine")
	fs.Float64Var(&s.Cutoff, "cutoff", 0.1, "the interleaved sine is 0 below this probability")
	fs.Float64Var(&s.Low, "low", 0.4, "factor of the staircase's lower step")
	fs.Var(&s.P, "p", "every client's availability p_i, or none: from the classes it holds")
	fs.IntVar(&s.Rounds, "rounds", 2000, "rounds T")
	fs.IntVar(&s.LocalSteps, "local-steps", 10, "local steps E of a client per round")
	fs.Var(&s.LocalEpochs, "local-epochs", "passes of a client over its samples per round, in place of local steps, or none")
	fs.IntVar(&s.Batch, "batch", 128, "samples B per local step")
	fs.Float64Var(&s.LR, "lr", 0, "local learning rate of the first round (default: the method's in its paper)")
	fs.StringVar(&s.LRSchedule, "lr-schedule", "decay", "decay: round t has lr/sqrt(t/10+1); constant: every round has lr (default: as in the method's paper)")
	fs.Float64Var(&s.ServerLR, "server-lr", 0, "server learning rate (default: the method's in its paper)")
	fs.StringVar(&s.Weights, "weights", "equal", "target importance of the clients, equal or size (number of samples); f3ast, unbiased, more-available, adafed and ca-fed aim at it")
	fs.StringVar(&s.Augment, "augment", "", "crops and flips drawn per batch or per sample, or none (default: the preset's; none for mnist)")
	fs.Var(&s.Clip, "clip", "largest norm of a local gradient, or none (default: the preset's)")
	fs.Float64Var(&s.Decay, "weight-decay", 0, "weight decay of the local steps")
	fs.Float64Var(&s.Momentum, "momentum", 0, "momentum of the local steps; a client's momentum lasts across rounds")
	fs.Var(&s.FedAWEClip, "fedawe-clip", "fedawe: largest norm of the averaged echoed update, or none (default: the preset's)")
	fs.StringVar(&s.FedAWEModel, "fedawe-model", string(algos.MeanOfAll), "fedawe: model evaluated, the mean of all clients' or the server's last: mean, last")
	fs.IntVar(&s.FedAUCutoff, "fedau-cutoff", 50, "fedau: longest interval counted, in rounds")
	fs.Float64Var(&s.F3ASTBeta, "f3ast-beta", 0.001, "f3ast: weight of the newest round in a client's rate")
	fs.Var(&s.F3ASTLimit, "f3ast-limit", "f3ast: at most so many clients per round, or none")
	fs.BoolVar(&s.F3ASTMean, "f3ast-mean", false, "f3ast: divide the update by the number of sampled clients once more, as its own code does")
	dataFlags(fs, &s.DataSettings)
	correlatedFlags(fs, &s.CorrelatedSettings)
	fedarFlags(fs, &s.FedAR)
	fs.IntVar(&s.EvalEvery, "eval-every", 10, "evaluate every so many rounds, and after the last")
	fs.Var(&s.EvalLast, "eval-last", "evaluate every so many rounds among the last 50, whose mean a table prints, or none (default 2, none with --eval-every)")
	fs.BoolVar(&s.EvalTrain, "eval-train", true, "evaluate on the whole training set as well, as the papers do")
	fs.IntVar(&s.TrainSize, "train-size", datasets.SyntheticTrain, "training images of --data synthetic")
	fs.IntVar(&s.TestSize, "test-size", datasets.SyntheticTest, "test images of --data synthetic")
	for _, name := range []string{"clip", "bias-const", "eval-last", "fedawe-clip", "lr-schedule", "init"} {
		fs.Lookup(name).DefValue = "" // the usage says it: the preset's
	}
}

// Resolve returns the settings a command line asks for: the defaults of its method, preset and data, and then its flags.
func Resolve(given *pflag.FlagSet) (Settings, error) {
	get := func(name string) string { return given.Lookup(name).Value.String() }
	s, err := Defaults(get("method"), get("preset"), get("data"))
	if err != nil {
		return s, err
	}
	if err := DataLoads(s.Data); err != nil {
		return s, err
	}
	if given.Changed("eval-every") {
		s.EvalLast = Optional{}
	}
	if given.Changed("local-steps") {
		s.LocalEpochs = Optional{}
	}
	if given.Changed("kappa") {
		s.BiasConst = Optional{}
	}
	if err := Overlay(&s, given); err != nil {
		return s, err
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	if err := s.refuseUnused(given); err != nil {
		return s, err
	}
	if s.Availability == "trace" {
		if _, err := s.ReadTrace(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Overlay puts the flags that were given into s.
func Overlay(s *Settings, given *pflag.FlagSet) error {
	into := s.Flags()
	var first error
	given.Visit(func(f *pflag.Flag) {
		if into.Lookup(f.Name) != nil && first == nil {
			first = into.Set(f.Name, f.Value.String())
		}
	})
	return first
}

// Set gives one setting, by the name of its flag, the value a command line would.
func (s *Settings) Set(flag, value string) error { return s.Flags().Set(flag, value) }

// Apply puts settings of a table or figure into s, but for those this run has no use for.
func (s *Settings) Apply(list []papers.Setting) error {
	whole := *s
	for _, run := range []*Settings{&whole, s} { // which flags are of use is known once all are set
		for _, set := range list {
			if _, ok := whole.Uses(set.Flag); run == s && !ok {
				continue
			}
			value := set.Value
			if value == papers.OneByRounds {
				value = strconv.FormatFloat(1/float64(s.Rounds), 'g', -1, 64)
			}
			if err := run.Set(set.Flag, value); err != nil {
				return fmt.Errorf("--%s %s: %w", set.Flag, value, err)
			}
		}
	}
	return nil
}

// Flags returns flags bound to s, which keeps its values.
func (s *Settings) Flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	keep := *s
	SettingFlags(fs, s) // puts the flags' own defaults into s
	*s = keep
	return fs
}
