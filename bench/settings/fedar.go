package settings

import (
	"math"
	"slices"

	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/datasets/plan"
	"rollcall/nets"
)

// FedARSettings are the settings of FedAR's methods. Runs with the paper's do not have them in their names.
type FedARSettings struct {
	Rho          float64  `json:"fedar-rho"`      // ρ
	T0           Optional `json:"fedar-t0"`       // t_0; none: no update is ever too stale
	B            float64  `json:"fedar-b"`        // b
	FedAvgSLimit Optional `json:"fedavg-s-limit"` // S; none: half of all clients
}

// IsZero reports whether all settings are the paper's.
func (s FedARSettings) IsZero() bool {
	d := defaultFedAR()
	return s.Rho == d.Rho && s.T0.String() == d.T0.String() && s.B == d.B && s.FedAvgSLimit.Value == nil
}

// FedarMethods are those that FedAR compares and no other paper of the suite does.
var FedarMethods = []string{"fedar", "fedavg-is", "fedavg-s", "scaffold"}

func defaultFedAR() FedARSettings {
	d := algos.DefaultFedAR()
	return FedARSettings{Rho: d.Rho, T0: Optional{&d.T0}, B: d.B}
}

// asFedAR makes the settings of a method that is FedAR's alone those of its experiments (section 6.1): equal sizes and two classes
// per client, K = 5 steps of 64 samples, weight decay 0.001. It mentions neither augmentation nor clipping: none, nor initial weights:
// PyTorch's default [inferred].
func (s *Settings) asFedAR() {
	if !slices.Contains(FedarMethods, s.Method) {
		return
	}
	s.Split, s.Batch, s.LocalSteps, s.Decay = SplitTwo, 64, 5, 0.001
	s.Augment, s.Clip, s.Init = augmentName(plan.AugmentNone), Optional{}, string(nets.Torch)
}

func fedarFlags(fs *pflag.FlagSet, s *FedARSettings) {
	fs.Float64Var(&s.Rho, "fedar-rho", 0.1, "fedar: ρ, how fast the weight of a stale update grows")
	fs.Var(&s.T0, "fedar-t0", "fedar: t_0 of g(t) = t_0 + t/b, the rounds after which an update is too stale, or none: it never is (default 50)")
	fs.Float64Var(&s.B, "fedar-b", 4, "fedar: b of g(t), above 2")
	fs.Var(&s.FedAvgSLimit, "fedavg-s-limit", "fedavg-s: S, at most so many of the active clients per round, or none: half of all clients")
	fs.Lookup("fedar-t0").DefValue = "" // the usage says it
}

// validateFedAR reports the first impossible setting.
func (s *Settings) validateFedAR() error {
	f := &s.FedAR
	if !(f.Rho >= 0 && f.Rho <= 1) {
		return Usagef("--fedar-rho %g: want 0 … 1", f.Rho)
	}
	if t0 := f.T0.Or(1); !(t0 > 0) || math.IsInf(t0, 0) {
		return Usagef("--fedar-t0 %g: want a positive number, or none", t0)
	}
	if !(f.B > 2) || math.IsInf(f.B, 0) {
		return Usagef("--fedar-b %g: want a number above 2", f.B)
	}
	if n := f.FedAvgSLimit.Or(1); n != math.Trunc(n) || n < 1 || n > float64(s.Clients) {
		return Usagef("--fedavg-s-limit %g: want a whole number 1 … %d, all of the clients, or none", n, s.Clients)
	}
	return nil
}

// fedarOptions puts the settings of FedAR's methods into a method's.
func (s *Settings) fedarOptions(o *algos.Options) {
	o.FedAR = &algos.FedAR{Rho: s.FedAR.Rho, T0: s.FedAR.T0.Or(1), B: s.FedAR.B, Forever: s.FedAR.T0.Value == nil}
	if s.FedAR.FedAvgSLimit.Value != nil {
		limit := int(*s.FedAR.FedAvgSLimit.Value)
		o.FedAvgSLimit = &limit
	}
}
