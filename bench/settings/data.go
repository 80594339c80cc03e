package settings

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/datasets"
	"rollcall/nets"
)

// DataSettings say what generated data are like, and how samples come to clients.
type DataSettings struct {
	LeafGamma  float64 `json:"leaf-gamma"` // γ of LEAF's synthetic data
	LeafDelta  float64 `json:"leaf-delta"` // δ
	SwapPairs  int     `json:"swap-pairs"` // pairs of labels swapped at every second client; 0: all labels are true
	Split      string  `json:"split"`
	Validation float64 `json:"validation"` // share of each client's samples that is not trained on
}

// Ways to split samples among clients, for data that do not bring a split of their own.
const (
	SplitClients  = "clients"   // each client has a Dirichlet draw of classes (FedAWE)
	SplitClasses  = "classes"   // each class has a Dirichlet draw of clients (CA-Fed)
	SplitClusters = "clusters"  // each class has a Dirichlet draw of clusters, whose clients share alike (CA-Fed, ToN, figure 5b)
	SplitEven     = "even"      // all clients alike (figure 5a)
	SplitTwo      = "two-class" // each client has as many samples as any other, of two classes (FedAR)
)

var Splits = []string{SplitClients, SplitClasses, SplitClusters, SplitEven, SplitTwo}

// ownSplit are the data sets that are generated client by client.
var ownSplit = []string{"leaf", "binary"}

// defaultData are the papers' settings: γ = δ = 0.5 (ToN, section V-A).
func defaultData() DataSettings {
	return DataSettings{LeafGamma: 0.5, LeafDelta: 0.5, Split: SplitClients}
}

func dataFlags(fs *pflag.FlagSet, s *DataSettings) {
	fs.Float64Var(&s.LeafGamma, "leaf-gamma", 0.5, "leaf: γ, how much the clients' models differ")
	fs.Float64Var(&s.LeafDelta, "leaf-delta", 0.5, "leaf: δ, how much the clients' samples differ")
	fs.IntVar(&s.SwapPairs, "swap-pairs", 0, "images: cut the samples evenly and swap so many pairs of labels at every client of a second group; 0: true labels, cut as --split says")
	fs.StringVar(&s.Split, "split", SplitClients, "how samples are cut: clients, each a Dirichlet draw of classes; classes, each a Dirichlet draw of clients; clusters, as classes, but of --clusters whose clients share alike; even; two-class, as many of two classes at each client (default: as in the method's paper)")
	fs.Float64Var(&s.Validation, "validation", 0, "share of each client's samples kept back from training")
}

// SplitAway reports whether the samples come to the clients without --split.
func (s *Settings) SplitAway() bool { return slices.Contains(ownSplit, s.Data) || s.SwapPairs > 0 }

// cut reports whether a Dirichlet parameter has a say in the split.
func (s *Settings) cut() bool { return !s.SplitAway() && s.Split != SplitEven && s.Split != SplitTwo }

// validateData reports the first impossible setting.
func (s *Settings) validateData() error {
	if err := OneOf("split", s.Split, Splits); err != nil {
		return err
	}
	for _, c := range []struct {
		flag  string
		value float64
	}{{"leaf-gamma", s.LeafGamma}, {"leaf-delta", s.LeafDelta}} {
		if !(c.value >= 0) || math.IsInf(c.value, 0) {
			return Usagef("--%s %g: want 0 or more", c.flag, c.value)
		}
	}
	if !(s.Validation >= 0 && s.Validation < 1) {
		return Usagef("--validation %g: want at least 0 and below 1", s.Validation)
	}
	own, err := shapeOf(s.Data)
	if err != nil {
		return err
	}
	if most := own.Classes / 2; s.SwapPairs < 0 || s.SwapPairs > most {
		return Usagef("--swap-pairs %d: want 0 … %d, of the %d classes of %s", s.SwapPairs, most, own.Classes, s.Data)
	}
	if s.SwapPairs > 0 && slices.Contains(ownSplit, s.Data) {
		return Usagef("--swap-pairs %d: with --data %s, want images", s.SwapPairs, s.Data)
	}
	if inTwo := s.SwapPairs > 0 || s.Data == "binary" && s.Preset == string(algos.Code); inTwo && s.Clients%2 != 0 {
		return Usagef("--clients %d: in two groups of equal size, want an even number", s.Clients)
	}
	if s.Draws == "numpy" && (s.SplitAway() || s.Split != SplitClients) {
		return Usagef("--draws numpy: with --data %s --split %s, want FedAWE's split: --split clients", s.Data, s.Split)
	}
	if s.Split == SplitClusters && (s.Clusters < 1 || s.Clients%s.Clusters != 0) {
		return Usagef("--split clusters: %d clusters for %d clients, want a divisor of %d", s.Clusters, s.Clients, s.Clients)
	}
	net, err := nets.NewModel(s.Net)
	if err != nil {
		return Usagef("%w", err)
	}
	if net.H != own.H || net.W != own.W || net.C != own.C || net.Classes != own.Classes {
		return Usagef("--net %s: takes %s, but --data %s has %s, want a net like %s", s.Net, shapeText(net), s.Data, shapeText(own), own.Name)
	}
	return nil
}

// shapeOf returns a data set's default net, which takes what the set has.
func shapeOf(data string) (*nets.Model, error) {
	about, err := datasets.About(data)
	if err != nil {
		return nil, err
	}
	return nets.NewModel(about.Net)
}

// shapeText reads "28×28×1 in 10 classes".
func shapeText(m *nets.Model) string {
	return fmt.Sprintf("%d×%d×%d in %d classes", m.H, m.W, m.C, m.Classes)
}

// TwoClass reports whether every client has samples of two classes, as in FedAR.
func (s *Settings) TwoClass() bool { return !s.SplitAway() && s.Split == SplitTwo }
