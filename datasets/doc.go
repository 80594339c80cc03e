// Package datasets holds the data sets, one loader per file, and how their samples are split among clients.
//
// # How to read it
//
// Begin with the first group; each later group can be read by itself.
//
// What a caller sees, and the table of all sets:
//
//	datasets.go        Set, Options, Info, Open; the table of loaders
//	clients.go         Split: which samples each client has; even parts, and samples kept back for validation
//	cut.go             Cut and Divide: every way to split a training set
//	size.go            how much memory a set takes, before it is read and after
//
// The ways to split, one paper per file. Package rng lists the random streams that they draw from:
//
//	dirichlet.go       Dirichlet draws of each client (FedAWE) or of each class (CA-Fed)
//	two_class.go       two classes at each client (FedAR)
//	swap.go            two groups of clients, with swapped labels in one (CA-Fed, INFOCOM)
//
// The sets that are read from files, and the formats of their files:
//
//	cifar10.go
//	svhn.go            read by mat5.go and mat5_matrix.go, MATLAB's files of level 5
//	mnist.go           with the idx format
//	cinic10.go         pictures in folders or in an archive (pictures.go), decoded from PNG (decode.go) and kept
//	                   decoded in the user's cache (cache.go)
//
// The sets that are generated:
//
//	synthetic.go       pictures that anybody can have without a network
//	leaf.go            LEAF's linear models, client by client
//	binary.go          CA-Fed's two groups of clients
//
// How files are found, fetched and verified:
//
//	source.go          Find and Fetch: the folders that are searched
//	files.go           a set that is published as several files, or as one archive of them; extract.go extracts it
//	remote.go          one published file; download.go transfers it, progress.go shows how far it is
//	turn.go            one process at a time downloads it; the others wait for what becomes of that
//	verify.go          Verify: every file against its published checksum
//	record.go          the checksum of a first download, where none is published
//
// Whoever changes samples, a split or batch plans raises one of the numbers that [Revision] adds up; revision_test.go
// fails without that, and records what is new with -update.
//
// Package plan, below this one, has what training reads: the samples in memory and the order of a client's batches.
package datasets
