package datasets

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// SplitKind is a way to cut a training set among N clients.
type SplitKind string

// The ways to cut a training set.
const (
	// SplitClients gives each client a Dirichlet draw of classes (FedAWE, see [dirichlet]).
	SplitClients SplitKind = "clients"
	// SplitClasses cuts each class by a Dirichlet draw of the clients' shares (CA-Fed, see [dirichlet]).
	SplitClasses SplitKind = "classes"
	// SplitClusters cuts each class by a Dirichlet draw of the clusters' shares, and gives the clients of a cluster
	// equal parts of its samples (CA-Fed, ToN, figure 5b).
	SplitClusters SplitKind = "clusters"
	// SplitEven gives every client an equal part of all samples (CA-Fed, ToN, figure 5a).
	SplitEven SplitKind = "even"
	// SplitTwoClass gives each client as many samples as any other, of two classes (FedAR, see [drawTwoClasses]).
	SplitTwoClass SplitKind = "two-class"
)

// splitKinds are all kinds, in the order in which they are listed to users. A revision is raised by whoever changes
// which client gets which sample, see [Revision].
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

// SplitKinds returns the names of all kinds, in the order in which they are listed to users.
func SplitKinds() []string {
	var names []string
	for _, s := range splitKinds {
		names = append(names, string(s.kind))
	}
	return names
}

// TakesAlpha reports whether the kind has draws from a Dirichlet distribution, whose parameter is SplitOptions.Alpha.
func (k SplitKind) TakesAlpha() bool {
	return k == SplitClients || k == SplitClasses || k == SplitClusters
}

// SplitOptions says how [Cut] and [Divide] give samples to clients.
type SplitOptions struct {
	Kind     SplitKind  // one of SplitKinds; the empty one is an error
	Clients  int        // N, at least 1
	Clusters int        // of SplitClusters: a divisor of Clients; the other kinds do not read it
	Alpha    float64    // of the kinds that take it: finite, 1e-300 or more; the other kinds do not read it
	NumPy    *rng.NumPy // draws of FedAWE's released code, of SplitClients alone; nil: package rng's own draws
}

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

// Cut cuts a training set among the clients: Split.Train has the samples of each [N][n_i], as indices of train.Labels.
// No sample is given to two clients; every sample is given to one, but for those that SplitTwoClass leaves over. The
// parts of SplitClients and SplitClasses are in the order of the classes and, in a class, of the file; all others are
// in the order of the file. A client may get no sample of a Dirichlet draw. Of the test set, which may be nil,
// SplitTwoClass alone says something: Split.OwnClasses.
//
// The draws are those of rng.Split for the seed, except with o.NumPy: then the parts depend on what has been drawn from
// it before, and not on the seed.
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
	if o.Kind == SplitEven || o.Kind == SplitClusters { // these are the samples of all clients, or of each cluster
		split.Train = cutEven(split.Train, o.Clients/len(split.Train), key)
	}
	return split, nil
}

// Divide says which samples each of o.Clients clients has: by the data set's own split, where it brings one (of which
// only the number of clients is checked), and else as [Cut] cuts its training set. Then it keeps back the validation
// share of every client's training samples, in [0, 1), as [Split.reserve] does; 0 keeps none back, and Split.Valid is
// nil. The data set and its split are not changed, but what is returned may be the data set's split itself.
func Divide(data *Set, o SplitOptions, validation float64, seed uint32) (*Split, error) {
	split := data.Split
	if split == nil {
		var err error
		if split, err = Cut(data.Train, data.Test, o, seed); err != nil {
			return nil, err
		}
	} else if n := len(split.Train); n != o.Clients {
		return nil, fmt.Errorf("%s: samples of %d clients, want %d", data.Name, n, o.Clients)
	}
	if validation == 0 {
		return split, nil
	}
	reserved := *split // reserve sets Train and Valid to new slices: the data set's split stays as it is
	if err := reserved.reserve(validation, seed); err != nil {
		return nil, err
	}
	return &reserved, nil
}

// ClassShares returns, for each client, which share of its samples each class has [clients][classes]: zeros for a
// client without samples, else a sum of 1. parts index labels, which lie below classes.
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
