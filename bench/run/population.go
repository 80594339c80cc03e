package run

import (
	"slices"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/datasets/rng/numpy"
	"rollcall/nets"
)

// Population is the N clients of a run: the samples they hold, and when they are available.
type Population struct {
	Availability availability.Model
	Base         []float64 // [N] p_i of FedAWE's models, from which p_i^t is made; π_i of a model without a p_i
	Pi           []float64 // [N] π_i, the share of rounds in which a client is available: what methods know of it
	Lambda       []float64 // [N] λ_i of a chain, 0 where rounds are independent

	train      [][]int32 // [N][n_i] the samples that each client trains on
	validation [][]int32 // [N][m_i] training samples that each client keeps back; nil: none
	// The samples on which models are evaluated are in the part tested: the test set, or with --hold-out the training
	// set, of which they are held out.
	tested nets.Part
	test   [][]int32 // [N][k_i] the client's own test samples; nil: all clients have the same
	same   []int32   // the samples that all clients have, if test is nil; nil: the whole test set
	whole  []int32   // the training samples that the run uses at all, of --train-size; nil: the whole training set
	empty  int       // clients without a sample to train on, which are never available
	// [N] the test samples of a client's two classes, for clients.csv; nil: the split gives no client two classes.
	// The curve is not evaluated on them.
	ownClasses [][]int32

	draw func() (availability.Model, error) // the availability from its first round on
}

// Populate splits the training samples among the clients and draws their availability. All methods with the same
// settings and seed get the same split and the same trace.
func Populate(data *datasets.Set, s *settings.Settings, seed uint32) (p Population, err error) {
	cut := datasets.SplitOptions{
		Kind: datasets.SplitKind(s.Split), Clients: s.Clients, Clusters: s.Clusters, Alpha: s.Alpha,
	}
	if s.Draws == "numpy" {
		// FedAWE's released code draws the split, φ and the activity from one generator, in this order.
		cut.NumPy = numpy.New(seed)
	}
	if cut.Parts, err = s.ReadSplit(data.Train.Len()); err != nil {
		return p, err
	}
	seeds := s.Seeds(seed)
	reserved := datasets.Reserved{Validation: s.Validation, HeldOut: s.HoldOut, Sizes: s.Sizes()}
	split, err := datasets.Divide(data, cut, reserved, seeds.Split)
	if err != nil {
		return p, err
	}
	p.train, p.validation, p.ownClasses = split.Train, split.Valid, split.OwnClasses
	p.tested, p.test = nets.Test, split.Test
	p.whole, p.same = split.Subset[0], split.Subset[1]
	switch {
	case split.HeldOut == nil:
	case s.OwnTests():
		p.tested, p.test = nets.Train, split.HeldOut
	default:
		p.tested, p.same = nets.Train, split.HeldOut[0]
	}
	shares := datasets.ClassShares(p.train, data.Train.Labels, data.Train.Classes)
	if cut.NumPy != nil {
		p.Base = availability.BaseNumPy(shares, cut.NumPy)
	} else {
		p.Base = availability.Base(shares, seeds.Phi)
	}
	if s.P.Valid {
		for i := range p.Base {
			p.Base[i] = s.P.Value
		}
	}
	kind, options := s.Availability, s.AvailabilityOptions(p.Base)
	options.Seed, options.Groups = seeds.Availability, split.Group
	switch s.Availability {
	case "trace":
		options.Trace, err = s.ReadTrace()
	case "chain":
		options.Chain, err = s.ReadChain()
	}
	if err != nil {
		return p, err
	}
	without := make([]bool, len(p.train))
	for i, part := range p.train {
		options.Sizes = append(options.Sizes, len(part))
		if without[i] = len(part) == 0; without[i] {
			p.empty++
		}
	}
	p.draw = func() (availability.Model, error) {
		model, err := availability.New(kind, options)
		if err != nil {
			return nil, err
		}
		if cut.NumPy != nil {
			model = availability.NumPy(model, cut.Clients, cut.NumPy.Clone())
		}
		return availability.Without(model, without), nil
	}
	if p.Availability, err = p.draw(); err != nil {
		return p, err
	}
	if p.Pi, p.Lambda = p.Availability.Stationary(); s.Chained() {
		p.Base = p.Pi
	}
	return p, nil
}

// ClassCounts returns how many training samples of each class each client has [N][classes].
func (p *Population) ClassCounts(train *plan.Samples) [][]int {
	counts := make([][]int, len(p.train))
	for i, part := range p.train {
		counts[i] = make([]int, train.Classes)
		for _, sample := range part {
			counts[i][train.Labels[sample]]++
		}
	}
	return counts
}

// told is added to the revision of an availability model for the methods that use π_i or α. It is raised by whoever
// changes what [Population] tells them of the model, while the model itself stays.
var told = map[string]int{"stationary": 1, "staircase": 1, "sine": 1, "interleaved-sine": 1}

// absent returns how many clients are never there.
func (p *Population) absent() (clients int) {
	for _, pi := range p.Pi {
		if pi == 0 {
			clients++
		}
	}
	return clients
}

// target returns the importance α [N] that the methods aim at: importance, shared among the clients who are there at
// all. Nobody can weigh the others, and their share would be missing in every step. If no client of any importance is
// ever there, it returns importance as it is.
func (p *Population) target(importance []float64) []float64 {
	target, total := slices.Clone(importance), 0.0
	for i, pi := range p.Pi {
		if pi > 0 {
			total += importance[i]
		}
	}
	if p.absent() == 0 || total == 0 {
		return target
	}
	for i, pi := range p.Pi {
		if target[i] /= total; pi == 0 {
			target[i] = 0
		}
	}
	return target
}

// importance returns the importance α [N] of the clients: the same for all, or proportional to the number of samples.
func (p *Population) importance(weights string) []float64 {
	importance, total := slices.Repeat([]float64{1 / float64(len(p.train))}, len(p.train)), 0
	if weights != "size" {
		return importance
	}
	for _, part := range p.train {
		total += len(part)
	}
	for i, part := range p.train {
		importance[i] = float64(len(part)) / float64(total)
	}
	return importance
}

// heldOut returns the samples for ca-fed's losses under --losses held-out: the samples kept back, or else the client's
// own test samples or what stands in for them. nil: the run has another method or other losses.
func (p *Population) heldOut(s *settings.Settings) *algos.HeldOut {
	switch {
	case s.Method != "ca-fed" || s.Get("losses") != algos.LossesHeldOut:
		return nil
	case p.validation != nil:
		return &algos.HeldOut{Part: nets.Train, Index: p.validation}
	}
	if p.test == nil { // a plan counts on generated images, which keep no test samples for each client
		return &algos.HeldOut{Part: nets.Train, Index: p.train}
	}
	return &algos.HeldOut{Part: p.tested, Index: p.test}
}
