// Package datasets loads or generates the data sets, and splits their samples among clients.
//
//	set, err := datasets.Open(ctx, "cifar10", datasets.Options{Dir: "data", Progress: os.Stderr})
//	if err != nil {
//		return err
//	}
//	o := datasets.SplitOptions{Kind: datasets.SplitClients, Clients: 100, Alpha: 0.1}
//	split, err := datasets.Divide(set, o, datasets.Reserved{Validation: 0.2}, seed)
//	// split.Train[i] has the samples of client i, by index into set.Train; split.Valid[i] is reserved for validation
//
// A new data set is a new file and a line in the list in datasets.go; a new way to split is a [SplitKind] in cut.go.
// Package rng lists the random streams from which they draw. Whoever changes samples, a split or batch plans raises one
// of the numbers that [Revision] adds up: without that revision_test.go fails; with -update it records the new samples.
//
// Package plan, below this one, has the samples in memory and the order of a client's batches, which training reads.
package datasets
