package settings

import (
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/nets/models"
)

// minAlpha is the smallest Dirichlet parameter. Below it, the logarithms of the shares overflow.
const minAlpha = 1e-300

// Validate reports the first impossible setting, by the name of its flag, or the first that cannot be together.
func (s *Settings) Validate() error {
	if err := s.checkRates(); err != nil {
		return err
	}
	for _, r := range rows() {
		if err := r.check(s); err != nil {
			return err
		}
	}
	// The ranges come first: the checks below divide by the batch size, and look up nets and availability models.
	for _, check := range []func(*Settings) error{
		(*Settings).checkTraining, (*Settings).checkData, (*Settings).checkNet, (*Settings).checkMethod,
		(*Settings).checkAvailability, (*Settings).checkSeeds,
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

// checkRates reports a learning rate that nothing sets: neither the method, nor its paper, nor the user.
func (s *Settings) checkRates() error {
	if s.LR != 0 && s.ServerLR != 0 {
		return nil
	}
	own, err := Defaults(s.Method, s.Preset, s.Data)
	switch {
	case err != nil:
		return err
	case s.LR == 0 && own.LR == 0:
		return Usagef("%s has no default learning rate: give --lr", s.Method)
	case s.ServerLR == 0 && own.ServerLR == 0:
		return Usagef("%s has no default server learning rate: give --server-lr", s.Method)
	}
	return nil
}

// checkTraining checks numbers of the local steps that their ranges do not.
func (s *Settings) checkTraining() error {
	if s.Alpha < minAlpha {
		return Usagef("--alpha %g: want %g or more", s.Alpha, minAlpha)
	}
	if s.LocalSteps > maxLocalSamples/s.Batch {
		return Usagef("--local-steps %d --batch %d: want a product of at most %d",
			s.LocalSteps, s.Batch, maxLocalSamples)
	}
	return nil
}

// checkData checks that the data set can be split among the clients as the settings say.
func (s *Settings) checkData() error {
	about, err := datasets.About(s.Data)
	if err != nil {
		return err
	}
	classes := about.Shape.Classes
	// Each pair takes two classes of its own, so that the range depends on the data set.
	if most := classes / 2; s.SwapPairs < 0 || s.SwapPairs > most {
		return Usagef("--swap-pairs %d: want 0 … %d, of the %d classes of %s", s.SwapPairs, most, classes, s.Data)
	}
	tests := datasets.LeastSizes(s.Data, datasets.Options{})[1]
	if file, _ := datasets.Own(s.Data); file != "" && s.HoldOut == 0 && tests == 0 {
		return Usagef("--data %s: the file has no test set, want one, x_test and y_test, or --hold-out above 0", file)
	}
	if s.SwapPairs > 0 && slices.Contains(ownSplit, s.Data) {
		return Usagef("--swap-pairs %d: with --data %s, want images", s.SwapPairs, s.Data)
	}
	if s.Data == "leaf" && s.LeafAugmentation && !s.inClasses() {
		return Usagef("--leaf-augmentation: with --availability %s --g %g no client is known to be more available, "+
			"want markov or clusters, and --g above 0", s.Availability, s.G)
	}
	byCode := algos.Preset(s.Preset).Reading() == algos.Code
	if inTwo := s.SwapPairs > 0 || s.Data == "binary" && byCode; inTwo && s.Clients%2 != 0 {
		return Usagef("--clients %d: in two groups of equal size, want an even number", s.Clients)
	}
	if s.Draws == "numpy" && (s.SplitAway() || s.Split != string(datasets.SplitClients)) {
		return Usagef("--draws numpy: with --data %s --split %s, want FedAWE's split: --split clients", s.Data, s.Split)
	}
	if s.Draws == "numpy" && s.Sizes()[0] > 0 {
		return Usagef("--draws numpy: with --train-size %d, want FedAWE's split of all samples: --train-size 0",
			s.TrainSize)
	}
	for _, size := range []struct {
		flag string
		n    int
	}{{"train-size", s.TrainSize}, {"test-size", s.TestSize}} {
		if s.Data == "synthetic" && size.n == 0 {
			return Usagef("--%s 0: with --data synthetic, want 1 … %d", size.flag, maxGenerated)
		}
	}
	if s.splitByFile() && s.SplitFile == "" {
		return Usagef("--split file: want the file, --split file:FILE")
	}
	if s.Draws == "numpy" && s.HoldOut > 0 {
		return Usagef("--draws numpy: with --hold-out %g, want FedAWE's split of all samples: --hold-out 0", s.HoldOut)
	}
	if s.Split == string(datasets.SplitNatural) && !s.SplitAway() && !about.Natural {
		return Usagef("--split natural: with --data %s, whose images are of no known writers, want femnist", s.Data)
	}
	if s.Split == string(datasets.SplitClusters) && (s.Clusters < 1 || s.Clients%s.Clusters != 0) {
		return Usagef("--split clusters: %d clusters for %d clients, want a divisor of %d",
			s.Clusters, s.Clients, s.Clients)
	}
	return nil
}

// checkNet checks that the net takes the samples of the data set.
func (s *Settings) checkNet() error {
	if _, err := s.Model(); err != nil {
		return Usagef("--net %s: with --data %s: %w", s.Net, s.Data, err)
	}
	return nil
}

// Model returns the net of the run, for samples as the data set has.
func (s *Settings) Model() (*models.Model, error) {
	about, err := datasets.About(s.Data)
	if err != nil {
		return nil, err
	}
	return models.Shaped(s.Net, about.Shape)
}

// checkMethod checks the parameters of methods that need a certain net or data.
func (s *Settings) checkMethod() error {
	if solved := s.Get("fstar") == algos.FStarSolved; solved && !models.Linear(s.Net) {
		return Usagef("--fstar solved: with --net %s, want a linear net", s.Net)
	} else if about, _ := datasets.About(s.Data); solved && about.Shape.Classes == 2 && s.Net != "linear-binary" {
		return Usagef("--fstar solved: with --net %s, want linear-binary, which has one output for two classes", s.Net)
	}
	if s.Get("losses") == algos.LossesHeldOut && s.Validation == 0 && !s.OwnTests() {
		return Usagef(
			"--losses held-out: no samples of a client's own are held out of %s, want --validation above 0", s.Data)
	}
	return nil
}

// checkAvailability checks the availability model by making it once, for clients that are always available: package
// availability knows what it can make.
func (s *Settings) checkAvailability() error {
	for _, f := range []struct{ flag, path string }{
		{"trace", s.Trace}, {"chain", s.Chain}, {"init-from", s.InitFrom}, {"split file:FILE", s.SplitFile},
	} {
		if isModel := availability.Of(f.flag).Name != ""; isModel && (s.Availability == f.flag) != (f.path != "") {
			return Usagef("--availability %s --%s %q: want both %s and a file, or neither", s.Availability, f.flag,
				f.path, f.flag)
		}
		if strings.ContainsAny(f.path, ";\r\n") {
			return Usagef("--%s %q: want a path without ; and line breaks, which separate settings in CSV",
				f.flag, f.path)
		}
	}
	for _, f := range []struct {
		flag string
		n    files.Optional
	}{{"trace-sample", s.TraceSample}, {"chain-sample", s.ChainSample}} {
		if f.n.Valid && int(f.n.Value) != s.Clients {
			return Usagef("--%s %.0f: with --clients %d, want the same number", f.flag, f.n.Value, s.Clients)
		}
	}
	if s.Draws == "numpy" && (s.Chained() || s.P.Valid || !s.independent()) {
		return Usagef("--draws numpy: with --availability %s --p %s, want one of FedAWE's availability models and p "+
			"from the clients' classes", s.Availability, s.Get("p"))
	}
	if s.Draws == "numpy" && (s.Population != none || s.Separation != 0 || s.Outages != none) {
		return Usagef("--draws numpy: with --population, --min-separation or --outages, want none of them: FedAWE's " +
			"code has none")
	}
	// The p_i of the real clients are only known once the data are split, and files are read later.
	always := slices.Repeat([]float64{1}, s.Clients)
	if err := availability.Check(s.Availability, s.AvailabilityOptions(always)); err != nil {
		return Usagef("%w", err)
	}
	return nil
}

// check reports a value that is out of the setting's range, or none of its words.
func (r *Row) check(s *Settings) error {
	text := r.text(s)
	switch {
	case r.Kind == algos.Switch, r.Kind == algos.Word && r.Words == nil: // any text
		return nil
	case r.Kind == algos.Word:
		return OneOf(r.Name, text, r.Words)
	}
	err := r.CheckFor(text, s.Clients)
	if err == nil {
		return nil
	}
	if r.Kind == algos.Whole && !r.None { // the value is a whole number, only out of range
		return Usagef("--%s %s: want %s", r.Name, text, r.Range)
	}
	return Usagef("--%s %s: %w", r.Name, text, err)
}
