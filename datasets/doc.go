// Package datasets loads or generates the data sets, and splits their samples among clients.
//
// # How to read it
//
// Begin with the first group. Each later group can be read on its own.
//
// The functions and types for callers, and the list of all data sets:
//
//	datasets.go        Set, Options, Info, Open; the list of loaders
//	clients.go         Split: which samples each client has; even parts, and samples reserved for validation
//	cut.go             Cut and Divide: every way to split a training set
//	size.go            how much memory a set takes, before it is read and after
//
// The ways to split, one paper per file. Package rng lists the random streams from which they draw:
//
//	dirichlet.go       Dirichlet draws of each client (FedAWE) or of each class (CA-Fed)
//	two_class.go       two classes at each client (FedAR)
//	holdout.go         samples held out in place of the test set
//	swap.go            two groups of clients, with swapped labels in one (CA-Fed, INFOCOM)
//
// The sets that are read from files, and the formats of their files:
//
//	cifar10.go         the binary version
//	svhn.go            MATLAB's files of level 5 (mat5.go, mat5_matrix.go)
//	mnist.go           idx files
//	cinic10.go         pictures in folders or in an archive (pictures.go), decoded from PNG (decode.go) and kept
//	                   decoded in the user's cache directory (cache.go)
//
// The sets that are generated:
//
//	synthetic.go       pictures for tests and trials without a network
//	leaf.go            LEAF's linear models, client by client
//	binary.go          CA-Fed's two groups of clients
//
// How files are found, fetched and verified:
//
//	source.go          Find and Fetch: the folders that are searched
//	files.go           a set that is published as several files, or as one archive of files; extract.go extracts it
//	remote.go          one published file; download.go transfers it, progress.go shows the progress
//	turn.go            lets one process at a time download a file, while the others wait
//	verify.go          Verify: compares every file with its published checksum
//	record.go          the checksum of the first download, if none is published
//
// Whoever changes samples, a split or batch plans must raise one of the numbers that [Revision] adds up. Without that
// revision_test.go fails; with -update it records the new samples.
//
// Package plan, below this one, has the samples in memory and the order of a client's batches, which training reads.
package datasets
