package datasets

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/datasets/rng/numpy"
)

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
	}
	return nil
}

// Cut splits a training set among the clients: Split.Train [N][n_i] has the indices of each client's samples in train.
// Every sample goes to exactly one client, except that SplitTwoClass may leave some samples over. With a Dirichlet draw
// a client may get no sample. The samples of a client are in the order of the file; for SplitClients and SplitClasses
// they are sorted by class first. SplitTwoClass also splits the test set, which may be nil, into Split.OwnClasses.
//
// The draws come from rng.Split for the seed. With o.NumPy the seed is not used, and the parts depend on all earlier
// draws of o.NumPy.
func Cut(train, test *plan.Samples, o SplitOptions, seed uint32) (split *Split, err error) {
	split = &Split{}
	if err := o.validate(); err != nil {
		return split, err
	}
	if o.Kind == SplitTwoClass {
		split.Train, split.OwnClasses, err = twoClasses(train, test, o.Clients, seed)
		return split, err
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

// Reserved says which shares of the training samples no client trains on, each in [0, 1). The zero value reserves
// nothing.
type Reserved struct {
	Validation float64 // of every client's samples, for Split.Valid
	HeldOut    float64 // of all samples, before they are split, for Split.HeldOut
}

// Divide returns the samples of each of o.Clients clients. If the data set has a split of its own, Divide uses it and
// checks only its number of clients; otherwise it uses [Cut]. It holds samples out first, see [holdOut], and then
// reserves a share of every client's training samples for validation, as [Split.reserve] does. What is not reserved is
// nil in the split. Divide does not change the data set, but may return the data set's own split.
func Divide(data *Set, o SplitOptions, reserved Reserved, seed uint32) (split *Split, err error) {
	if data.Split != nil && len(data.Split.Train) != o.Clients {
		return nil, fmt.Errorf("%s: samples of %d clients, want %d", data.Name, len(data.Split.Train), o.Clients)
	}
	switch {
	case reserved.HeldOut != 0:
		split, err = holdOut(data, o, reserved.HeldOut, seed)
	case data.Split != nil:
		split = data.Split
	default:
		split, err = Cut(data.Train, data.Test, o, seed)
	}
	if err != nil || reserved.Validation == 0 {
		return split, err
	}
	whole := *split // reserve assigns new slices to Train and Valid, so the data set's split does not change
	if err := whole.reserve(reserved.Validation, seed); err != nil {
		return nil, err
	}
	return &whole, nil
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
