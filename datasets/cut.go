package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/datasets/rng/numpy"
)

// Split says which samples each of N clients has, as indices into a part of a [Set]. No two clients share a sample.
type Split struct {
	Train [][]int32 // [N][n_i] into Set.Train: the client trains on these
	Valid [][]int32 // [N][m_i] into Set.Train: reserved for validation; nil: none, see [Divide]
	Test  [][]int32 // [N][k_i] into Set.Test: the client's own test samples; nil: all clients share the whole test set
	// OwnClasses [N][k_i] into Set.Test has the same number of samples of each client's own classes, for SplitTwoClass;
	// nil for other splits. Accuracy per client is measured on these, other accuracies on the whole test set.
	OwnClasses [][]int32
	// HeldOut [N][h_i] into Set.Train has the samples that stand in for each client's own test samples, or [1][h] those
	// that stand in for the test set that all clients share. OwnClasses then are among them. nil: no sample is held
	// out, see [Divide].
	HeldOut [][]int32
	// Subset has the samples that take part at all, into Set.Train and Set.Test, in ascending order; nil: all of them,
	// see [Divide].
	Subset [2][]int32

	Group []int // [N] number of the client's group, from 0; the clients of a group share a distribution; nil: one group
}

// SplitKind is a way to split a training set among N clients.
type SplitKind string

// The ways to split a training set.
const (
	// SplitClients gives each client a Dirichlet draw of classes (FedAWE, see [dirichlet]).
	SplitClients SplitKind = "clients"
	// SplitClasses splits each class by a Dirichlet draw of clients (CA-Fed, see [dirichlet]).
	SplitClasses SplitKind = "classes"
	// SplitClusters splits each class by a Dirichlet draw of clusters, and gives the clients of a cluster equal parts
	// of the cluster's samples (CA-Fed, ToN, figure 5b).
	SplitClusters SplitKind = "clusters"
	// SplitEven gives every client an equal part of all samples (CA-Fed, ToN, figure 5a).
	SplitEven SplitKind = "even"
	// SplitTwoClass gives each client the same number of samples, of two classes (FedAR, see [drawTwoClasses]).
	SplitTwoClass SplitKind = "two-class"
	// SplitFile gives each client the samples that a file says, see [ReadSplit].
	SplitFile SplitKind = "file"
	// SplitNatural gives each client the samples of one writer, see [natural].
	SplitNatural SplitKind = "natural"
)

// splitKinds are all kinds, in the order in which users see them. Whoever changes which client gets which sample raises
// the revision of the kind, see [Revision].
var splitKinds = []struct {
	kind     SplitKind
	revision int
}{
	{SplitClients, 1},
	{SplitClasses, 1},
	{SplitClusters, 1},
	{SplitEven, 1},
	{SplitTwoClass, 1},
	{SplitFile, 1},
	{SplitNatural, 1},
}

// SplitKinds returns the names of all kinds, in the order in which users see them.
func SplitKinds() []string {
	var names []string
	for _, s := range splitKinds {
		names = append(names, string(s.kind))
	}
	return names
}

// TakesAlpha reports whether the kind draws from a Dirichlet distribution and so needs SplitOptions.Alpha.
func (k SplitKind) TakesAlpha() bool {
	return k == SplitClients || k == SplitClasses || k == SplitClusters
}

// SplitOptions says how [Cut] and [Divide] give samples to clients.
type SplitOptions struct {
	Kind     SplitKind     // one of SplitKinds; the empty kind is an error
	Clients  int           // N, at least 1
	Clusters int           // for SplitClusters only: a divisor of Clients
	Alpha    float64       // for the kinds that take it: finite, at least 1e-300
	NumPy    *numpy.Random // for SplitClients only: the draws of FedAWE's released code; nil: the draws of package rng
	Parts    [][]int32     // for SplitFile only: the samples of the first clients, see [ReadSplit]; others have none
}

// validate returns an error for options that [Cut] cannot use. Alpha is checked by [dirichlet].
func (o *SplitOptions) validate() error {
	switch {
	case !slices.Contains(SplitKinds(), string(o.Kind)):
		return fmt.Errorf("datasets: split: kind %q: unknown, want one of %s", o.Kind, strings.Join(SplitKinds(), ", "))
	case o.Clients < 1:
		return fmt.Errorf("datasets: split: %d clients, want at least 1", o.Clients)
	case o.Kind == SplitClusters && (o.Clusters < 1 || o.Clients%o.Clusters != 0):
		return fmt.Errorf("datasets: split: %d clusters for %d clients, want a divisor of %[2]d", o.Clusters, o.Clients)
	case o.NumPy != nil && o.Kind != SplitClients:
		return fmt.Errorf("datasets: split: NumPy's draws for kind %q, want %s", o.Kind, SplitClients)
	case len(o.Parts) > o.Clients:
		return fmt.Errorf("datasets: split: samples of %d clients, want at most %d", len(o.Parts), o.Clients)
	}
	return nil
}

// Cut splits a training set among the clients: Split.Train [N][n_i] has the indices of each client's samples in train.
// Every sample goes to exactly one client, except that SplitTwoClass may leave some samples over. With a Dirichlet draw
// a client may get no sample. The samples of a client are in the order of the file; for SplitClients and SplitClasses
// they are sorted by class first. SplitTwoClass also splits the test set, which may be nil, into Split.OwnClasses.
// SplitFile draws nothing: it gives what the file says, in the order of its lines, and may leave samples over too.
//
// The other draws come from rng.Split for the seed. With o.NumPy the seed is not used, and the parts depend on all
// earlier draws of o.NumPy.
func Cut(train, test *plan.Samples, o SplitOptions, seed uint32) (split *Split, err error) {
	split = &Split{}
	if err := o.validate(); err != nil {
		return split, err
	}
	if o.Kind == SplitNatural {
		return split, fmt.Errorf("datasets: split: %s: by whom the samples are is not in them, see Divide", o.Kind)
	}
	if o.Kind == SplitTwoClass {
		split.Train, split.OwnClasses, err = twoClasses(train, test, o.Clients, seed)
		return split, err
	}
	if o.Kind == SplitFile {
		split.Train = make([][]int32, o.Clients)
		for i, own := range o.Parts {
			for _, at := range own {
				if at < 0 || int(at) >= train.Len() {
					return split, fmt.Errorf("datasets: split: client %d: sample %d, want 0 … %d", i, at, train.Len()-1)
				}
			}
			split.Train[i] = slices.Clone(own)
		}
		return split, nil
	}
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	split.Train = [][]int32{indices(train.Len())}
	if o.Kind.TakesAlpha() {
		if split.Train, err = dirichlet(train, o, key); err != nil {
			return split, err
		}
	}
	if o.Kind == SplitEven || o.Kind == SplitClusters { // split.Train has one group, or one for each cluster
		split.Train = cutEven(split.Train, o.Clients/len(split.Train), key)
	}
	return split, nil
}

// Reserved says which samples no client trains on, by shares in [0, 1). The zero value reserves nothing.
type Reserved struct {
	Validation float64 // of every client's samples, for Split.Valid
	HeldOut    float64 // of all training samples, before they are split, for Split.HeldOut
	// Sizes are how many samples of the training set and of the test set take part at all, for Split.Subset; 0: all.
	Sizes [2]int
}

// Divide returns the samples of each of o.Clients clients. If the data set has a split of its own, Divide uses it and
// checks only its number of clients; otherwise it uses [Cut]. It draws subsets of the sizes first, see [subset], whose
// samples are split as if the set had no others. It then holds samples out, see [holdOut], and last it reserves a share
// of every client's training samples for validation, as [setAside] does with step 1: CA-Fed's papers reserve 0.2 of
// MNIST's training set; that each client reserves 0.2 of its own samples is [inferred]. What is not reserved is nil in
// the split. Divide does not change the data set, but may return the data set's own split.
func Divide(data *Set, o SplitOptions, reserved Reserved, seed uint32) (split *Split, err error) {
	if o.Kind == SplitNatural && data.Split == nil {
		own := *data
		if own.Split, err = natural(data, o.Clients, seed); err != nil {
			return nil, err
		}
		data = &own
	}
	if data.Split != nil && len(data.Split.Train) != o.Clients {
		return nil, fmt.Errorf("%s: samples of %d clients, want %d", data.Name, len(data.Split.Train), o.Clients)
	}
	sets := [2]*plan.Samples{data.Train, data.Test}
	var of [2][]int32
	for part, size := range reserved.Sizes {
		if of[part], err = subset(data, sets[part], part, size, seed); err != nil {
			return nil, err
		}
	}
	switch {
	case reserved.HeldOut != 0:
		split, err = holdOut(data, of[0], o, reserved.HeldOut, seed)
	case data.Split != nil:
		split = data.Split
	default:
		split, err = cutAmong(sets, of, o, seed)
	}
	if split != nil && (of[0] != nil || of[1] != nil) { // then it is no split of the data set's own
		split.Subset = of
	}
	if err != nil || reserved.Validation == 0 {
		return split, err
	}
	whole := *split // with new slices Train and Valid: the data set's split does not change
	whole.Train, whole.Valid, err = setAside("validation", split.Train, reserved.Validation, seed, rng.SplitStepReserve)
	return &whole, err
}

// subset draws so many samples of a part of a data set, 0 the training set and 1 the test set, all with the same
// probability and none twice, and returns them in ascending order; nil for size 0: all samples. Stream (0, part, 5) of
// rng.Split shuffles the part, and the first samples are the subset, so that a seed's smaller subset is within a larger
// one, and the two parts do not depend on each other.
func subset(data *Set, s *plan.Samples, part, size int, seed uint32) ([]int32, error) {
	switch {
	case size == 0:
		return nil, nil
	case data.Split != nil:
		return nil, fmt.Errorf("datasets: split: %d %s samples of %s, which has a split of its own, want all", size,
			partNames[part], data.Name)
	case size < 0 || size > s.Len():
		return nil, fmt.Errorf("datasets: split: %d %s samples of %s, want 1 … %d", size, partNames[part], data.Name,
			s.Len())
	}
	order := indices(s.Len())
	rng.Key{Seed: seed, Purpose: rng.Split}.Stream(0, part, rng.SplitStepSubset).Shuffle(order)
	return slices.Sorted(slices.Values(order[:size])), nil
}

// cutAmong is [Cut] for some samples of a training set and a test set; nil: all samples of the set.
func cutAmong(sets [2]*plan.Samples, of [2][]int32, o SplitOptions, seed uint32) (*Split, error) {
	if o.Kind == SplitFile {
		split, err := Cut(sets[0], nil, o, seed)
		if of[0] != nil {
			split.Train = within(split.Train, of[0], sets[0].Len())
		}
		return split, err
	}
	split, err := Cut(labelled(sets[0], of[0]), labelled(sets[1], of[1]), o, seed)
	if err != nil {
		return nil, err
	}
	split.Train, split.OwnClasses = among(of[0], split.Train), among(of[1], split.OwnClasses)
	return split, nil
}

// holdOut divides a set without a share of its training samples, which stand in for the test set: settings that are
// chosen by them have not seen the test set. The share is drawn at random, of all samples before they are split (of has
// them; nil: those of the set), or of each client's own where the set has a split of its own; [setAside] draws with
// step 4. The papers tune their learning rates and do not say by which samples; this way is [inferred].
func holdOut(data *Set, of []int32, o SplitOptions, share float64, seed uint32) (*Split, error) {
	if of == nil {
		of = indices(data.Train.Len())
	}
	all := [][]int32{of}
	if data.Split != nil {
		all = data.Split.Train
	}
	left, out, err := setAside("held-out", all, share, seed, rng.SplitStepHoldOut)
	if err != nil {
		return nil, err
	}
	held := 0
	for _, own := range out {
		held += len(own)
	}
	if held == 0 {
		return nil, fmt.Errorf("datasets: split: a share of %g of %d training samples holds none out, want one at "+
			"least", share, len(of))
	}
	if data.Split != nil {
		split := *data.Split
		split.Train, split.HeldOut = left, out
		return &split, nil
	}
	rest := append([]int32{}, left[0]...) // not nil, which would stand for all samples
	split, err := cutAmong([2]*plan.Samples{data.Train, data.Train}, [2][]int32{rest, out[0]}, o, seed)
	if err != nil {
		return nil, err
	}
	split.HeldOut = out
	return split, nil
}

// labelled returns some of the samples as [Cut] reads them: their labels alone. For nil it returns s.
func labelled(s *plan.Samples, which []int32) *plan.Samples {
	if which == nil {
		return s
	}
	part := &plan.Samples{Name: s.Name, Classes: s.Classes, Labels: make([]uint8, len(which))}
	for i, at := range which {
		part.Labels[i] = s.Labels[at]
	}
	return part
}

// within returns the samples of each part that are in which too, of n samples.
func within(parts [][]int32, which []int32, n int) [][]int32 {
	in := make([]bool, n)
	for _, at := range which {
		in[at] = true
	}
	for i, part := range parts {
		parts[i] = slices.DeleteFunc(part, func(at int32) bool { return !in[at] })
	}
	return parts
}

// among returns parts [n][m_i] of indices into which as indices into the samples that which is of. Where which is nil,
// parts are that already.
func among(which []int32, parts [][]int32) [][]int32 {
	if which == nil {
		return parts
	}
	for _, part := range parts {
		for i, at := range part {
			part[i] = which[at]
		}
	}
	return parts
}

// ClassShares returns the share of each class among the samples of each client [clients][classes]. The shares of a
// client sum to 1, or are all 0 if the client has no samples. parts has indices into labels, which are below classes.
func ClassShares(parts [][]int32, labels []uint8, classes int) [][]float64 {
	shares := make([][]float64, len(parts))
	for i, part := range parts {
		shares[i] = make([]float64, classes)
		for _, s := range part {
			shares[i][labels[s]]++
		}
		for c := range shares[i] {
			shares[i][c] /= float64(max(len(part), 1))
		}
	}
	return shares
}

// setAside moves a fraction of the samples of each part, drawn at random from stream (0, i, step) of rng.Split for part
// i; what stays and what is moved are in ascending order. Rounding does not add up over parts: the first parts together
// always lose the fraction of their samples, to the nearest sample. what names the fraction in errors.
func setAside(
	what string, parts [][]int32, fraction float64, seed uint32, step int,
) (left, aside [][]int32, err error) {
	if !(fraction >= 0 && fraction < 1) {
		return nil, nil, fmt.Errorf("datasets: split: %s share %g, want at least 0 and below 1", what, fraction)
	}
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	left, aside = make([][]int32, len(parts)), make([][]int32, len(parts))
	seen, taken := 0, 0
	for i, own := range parts {
		// n is the difference of two rounded sums, which keeps the total exact.
		seen += len(own)
		n := min(int(math.Round(fraction*float64(seen)))-taken, len(own))
		taken += n
		order := indices(len(own))
		key.Stream(0, i, step).Shuffle(order)
		slices.Sort(order[:n])
		slices.Sort(order[n:])
		for j, at := range order {
			if j < n {
				aside[i] = append(aside[i], own[at])
			} else {
				left[i] = append(left[i], own[at])
			}
		}
	}
	return left, aside, nil
}

// cutEven shuffles each group of samples with stream (2, group, 0) of rng.Split, and cuts it into n parts whose sizes
// differ by at most one. It returns the parts group by group, each in the order of the file.
func cutEven(groups [][]int32, n int, key rng.Key) (parts [][]int32) {
	for g, samples := range groups {
		key.Stream(rng.SplitRoundEven, g, 0).Shuffle(samples)
		for i := range n {
			parts = append(parts, slices.Sorted(slices.Values(samples[i*len(samples)/n:(i+1)*len(samples)/n])))
		}
	}
	return parts
}

func indices(n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	return x
}

// consecutive cuts 0 … n−1 into consecutive parts of the given sizes, and returns the parts and n.
func consecutive(sizes []int) (parts [][]int32, n int) {
	for _, size := range sizes {
		part := indices(size)
		for j := range part {
			part[j] += int32(n)
		}
		parts = append(parts, part)
		n += size
	}
	return parts, n
}
