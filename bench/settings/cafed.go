package settings

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
)

// CorrelatedSettings are the settings of the processes beyond FedAWE's, and of CA-Fed's methods.
type CorrelatedSettings struct {
	G            float64  `json:"g"`        // of the Markov chains' π
	Nu           float64  `json:"nu"`       // λ of the correlated ones
	Epsilon      float64  `json:"epsilon"`  // spread of the λ of the others
	Clusters     int      `json:"clusters"` // that share a chain
	PMin         float64  `json:"p-min"`    // of the uniform process
	Trace        string   `json:"-"`        // CSV of intervals; its content names the run
	TraceSum     string   `json:"trace-sha256"`
	RoundSeconds Optional `json:"round-seconds"`

	Prior           Optional `json:"prior"` // t' of the estimator
	Kappa           float64  `json:"kappa"` // κ̄²
	BiasConst       Optional `json:"bias-const"`
	CAFedBeta       float64  `json:"ca-fed-beta"`
	CAFedTau        float64  `json:"ca-fed-tau"`
	FStar           string   `json:"fstar"`
	Losses          string   `json:"losses"`
	F3ASTMemoryless bool     `json:"f3ast-memoryless"`
	ServerMomentum  float64  `json:"server-momentum"`
	ServerDecay     float64  `json:"server-weight-decay"`
}

// HeldOut is the choice of losses on samples the client does not train on: those kept back, or else its own test samples.
const HeldOut = "held-out"

// Choices of ca-fed, and the methods that weigh clients by their importance and availability.
var (
	fstars     = []string{string(algos.FStarMin), string(algos.FStarZero), string(algos.FStarSolved)}
	lossesFrom = []string{string(algos.FirstBatch), string(algos.AllSamples), HeldOut}
	Weighted   = []string{"unbiased", "more-available", "adafed", "ca-fed", "f3ast"}
)

func defaultCorrelated(p algos.Preset) CorrelatedSettings {
	process, cafed := availability.Defaults(nil, 0), algos.DefaultCAFed(p)
	return CorrelatedSettings{
		G: process.G, Nu: process.Nu, Epsilon: process.Epsilon, Clusters: process.Clusters, PMin: process.PMin,
		Kappa: cafed.KappaBar2, BiasConst: Optional{cafed.BiasConst}, CAFedBeta: cafed.Beta, CAFedTau: cafed.Tau, FStar: string(cafed.FStar), Losses: string(cafed.Losses),
	}
}

// asCAFed makes the settings of a method that is CA-Fed's alone those of CA-Fed's experiments (ToN, section V): ς = 0.5 in every
// class, batches of 32, the rates of its table II, constant [inferred], importance by size, a ridge of 10⁻² on linear nets; one
// pass over the samples a round, as the released code counts local work and ToN says nothing [inferred]. In the released code
// momentum 0.9 and weight decay 0.01 at clients and server everywhere; F* solved and losses on held-out samples for tabular data.
func (s *Settings) asCAFed(p algos.Preset) {
	if s.Method == "f3ast" || !slices.Contains(Weighted, s.Method) {
		return
	}
	one := 1.0
	s.Alpha, s.Split, s.Batch, s.LocalEpochs, s.LRSchedule, s.Weights = 0.5, SplitClasses, 32, Optional{&one}, "constant", "size"
	if lr, serverLR, err := algos.CAFedLR(s.Method, s.Data); err == nil { // other data sets: CIFAR-10's
		s.LR, s.ServerLR = lr, serverLR
	}
	if linear(s.Net) {
		s.Decay = algos.CAFedDecay
	}
	if p == algos.Code {
		s.Momentum, s.Decay = algos.CAFedMomentum, algos.CAFedDecay
		s.ServerMomentum, s.ServerDecay = algos.CAFedMomentum, algos.CAFedDecay
		if slices.Contains(ownSplit, s.Data) {
			s.FStar, s.Losses = string(algos.FStarSolved), HeldOut
		}
	}
}

// linear reports whether a net is a logistic regression.
func linear(net string) bool { return strings.HasPrefix(net, "linear-") }

func correlatedFlags(fs *pflag.FlagSet, s *CorrelatedSettings) {
	fs.Float64Var(&s.G, "g", 0.4, "markov, clusters: availability of the classes is 1/2 + g and 1/2 − g")
	fs.Float64Var(&s.Nu, "nu", 0.9, "markov: λ of the correlated clients")
	fs.Float64Var(&s.Epsilon, "epsilon", 0.01, "markov: spread of the λ of the others")
	fs.IntVar(&s.Clusters, "clusters", 10, "clusters: groups of clients that share a chain")
	fs.Float64Var(&s.PMin, "p-min", 0.1, "uniform: smallest availability; the largest is 1")
	fs.StringVar(&s.Trace, "trace", "", "trace: CSV file with columns client,start,end")
	fs.Var(&s.RoundSeconds, "round-seconds", "trace: seconds per round, or none if the file counts rounds")
	fs.Var(&s.Prior, "prior", "unbiased, more-available, adafed, ca-fed, f3ast: estimate π and λ with a prior of so many rounds, or none: they are known")
	fs.Float64Var(&s.Kappa, "kappa", 1, "ca-fed: κ̄²")
	fs.Var(&s.BiasConst, "bias-const", "ca-fed: factor of the bias in place of 4κ̄², or none (default: the preset's)")
	fs.Float64Var(&s.CAFedBeta, "ca-fed-beta", 1, "ca-fed: weight of a new loss")
	fs.Float64Var(&s.CAFedTau, "ca-fed-tau", 0, "ca-fed: gain below which a client stays")
	fs.StringVar(&s.FStar, "fstar", "", "ca-fed: a client's smallest loss is the least so far, zero, or solved for before the first round (linear nets): min, zero, solved (default: the preset's)")
	fs.StringVar(&s.Losses, "losses", "", "ca-fed: losses are of the first batch, of all the client's samples, or of those it does not train on: batch, all, held-out (default: the preset's)")
	fs.BoolVar(&s.F3ASTMemoryless, "f3ast-memoryless", false, "f3ast: rates anew in every round, as CA-Fed's code has them")
	fs.Float64Var(&s.ServerMomentum, "server-momentum", 0, "unbiased, more-available, adafed, ca-fed, f3ast: momentum at the server")
	fs.Float64Var(&s.ServerDecay, "server-weight-decay", 0, "the same: weight decay at the server")
}

// validateCorrelated reports the first impossible setting; the processes check what belongs to them.
func (s *Settings) validateCorrelated() error {
	for _, c := range []struct {
		flag, value string
		known       []string
	}{{"fstar", s.FStar, fstars}, {"losses", s.Losses, lossesFrom}} {
		if err := OneOf(c.flag, c.value, c.known); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		flag  string
		value float64
	}{{"kappa", s.Kappa}, {"bias-const", s.BiasConst.Or(0)}, {"ca-fed-tau", s.CAFedTau}, {"epsilon", s.Epsilon}, {"server-weight-decay", s.ServerDecay}} {
		if !(c.value >= 0) || math.IsInf(c.value, 0) {
			return Usagef("--%s %g: want 0 or more", c.flag, c.value)
		}
	}
	if s.ServerMomentum < 0 || !(s.ServerMomentum < 1) {
		return Usagef("--server-momentum %g: want at least 0 and below 1", s.ServerMomentum)
	}
	if !(s.CAFedBeta > 0 && s.CAFedBeta <= 1) {
		return Usagef("--ca-fed-beta %g: want above 0 and at most 1", s.CAFedBeta)
	}
	if p := s.Prior.Or(1); !(p >= 1 && p <= 1e6) || p != math.Trunc(p) {
		return Usagef("--prior %g: want a whole number 1 … 1000000, or none", p)
	}
	if r := s.RoundSeconds.Or(1); !(r > 0) || math.IsInf(r, 0) {
		return Usagef("--round-seconds %g: want a positive number, or none", r)
	}
	if s.FStar == string(algos.FStarSolved) && !linear(s.Net) {
		return Usagef("--fstar solved: with --net %s, want a linear net", s.Net)
	}
	if s.Losses == HeldOut && s.Validation == 0 && !s.SplitAway() {
		return Usagef("--losses held-out: no samples of a client's own are held out of %s, want --validation above 0", s.Data)
	}
	if (s.Availability == "trace") != (s.Trace != "") {
		return Usagef("--availability %s --trace %q: want both trace and a file, or neither", s.Availability, s.Trace)
	}
	if s.Draws == "numpy" && (s.Chained() || s.P.Value != nil) {
		return Usagef("--draws numpy: with --availability %s --p %s, want one of FedAWE's processes and p from the clients' classes", s.Availability, &s.P)
	}
	// The other processes are made once, on clients that are always there, to see what they think of the settings.
	if s.Availability == "trace" {
		return nil
	}
	if _, err := NewProcess(s, slices.Repeat([]float64{1}, s.Clients), nil, 0); err != nil {
		return Usagef("%w", err)
	}
	return nil
}

// correlatedOptions puts the settings of CA-Fed's methods into a method's.
func (s *Settings) correlatedOptions(o *algos.Options) {
	o.F3ASTMemoryless = s.F3ASTMemoryless
	if s.Prior.Value != nil {
		o.Bayes = &algos.Bayes{Prior: int(*s.Prior.Value), Form: algos.Preset(s.Preset)}
	}
	if s.ServerMomentum > 0 || s.ServerDecay > 0 {
		o.ServerSGD = &algos.ServerSGD{Momentum: s.ServerMomentum, WeightDecay: s.ServerDecay}
	}
	losses := algos.CAFedLosses(s.Losses)
	if s.Losses == HeldOut {
		losses = algos.AllSamples
	}
	o.CAFed = &algos.CAFed{
		KappaBar2: s.Kappa, BiasConst: s.BiasConst.Value, Beta: s.CAFedBeta, Tau: s.CAFedTau, FStar: algos.FStar(s.FStar), Losses: losses,
	}
}
