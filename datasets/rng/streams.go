package rng

// Purpose separates the streams of one seed; two purposes never share a number.
type Purpose uint32

// The purposes. Their values decide every number of a run: append new ones, and never renumber.
//
// A counter (round, client, step) distinguishes the streams of a purpose. The table lists every family of counters from
// which the program draws, with the files that draw and the meaning of the numbers. The first file owns the family; a
// row without a counter names another file of the family above it. TestStreams fails if two families overlap, or if a
// file draws without being in the table.
//
// A word of a counter is a number or a letter. A letter stands for any number: t for a round or an epoch, i for a
// client, j for another index, e for a step of a client, g for a group of clients, and p for the training set (0) or
// the test set (1). t+1 stands for any number but 0.
//
//	purpose      round client step file                              what is drawn
//	Split        0     i      0    datasets/dirichlet.go             client i's shares of the classes
//	Split        0     j      3    datasets/dirichlet.go             shares of class j of clients, or of clusters
//	Split        0     i      1    datasets/cut.go                   which samples client i keeps back
//	Split        0     i      4    datasets/cut.go                   which samples of client i, or all, are held out
//	Split        0     p      5    datasets/cut.go                   which samples a subset has
//	Split        0     j      2    datasets/swap.go                  j = 0, 1: sample order; 2: groups; 3, 4: swaps
//	Split        2     g      0    datasets/cut.go                   sample order of cluster g, or of all (g = 0)
//	Split        3     j      p    datasets/two_class.go             order of the samples of class j
//	Split        4     0      0    datasets/two_class.go             which two classes each client has
//	Split        5     0      0    datasets/natural.go               which writers are clients
//	Availability 0     0      0    algos/availability/independent.go φ, the activity of every class
//	Availability 0     i      1    algos/availability/markov.go      λ of client i
//	Availability 0     g      2    algos/availability/markov.go      order of the clients of group g
//	Availability 0     i      3    algos/estimator.go                client i's activity before the first round
//	Availability 0     i      4    algos/availability/markov.go      class of client i, if it is drawn
//	Availability 0     i      5    algos/availability/independent.go p_i of client i, log-normal
//	Availability 0     i      6    algos/availability/cycles.go      where in its cycle client i is in round 0
//	Availability 0     0      7    algos/availability/cycles.go      where in their cycle the groups are in round 0
//	Availability 0     0      8    algos/availability/population.go  order in which clients join or leave
//	Availability 0     i      9    algos/availability/separation.go  when client i was active before round 0
//	Availability 0     i      10   algos/availability/chain_table.go row of which client i has the chain
//	Availability 0     0      11   algos/availability/replay.go      which devices of a trace the clients are
//	Availability t+1   i      0    algos/availability/independent.go whether client i is active in round t
//	                               algos/availability/chain.go       whether chain i is; a run has one of the two
//	Availability t+1   g      1    algos/availability/chain.go       whether group g of --outages is there in round t
//	Init         0     j      0    nets/models/model.go              initial weights of parameter j
//	Batches      t     i      0    datasets/plan/plan.go             order of client i's samples in epoch t
//	Augmentation t     i      e    datasets/plan/plan.go             crops and flips
//	Dropout      t     i      e    nets/cpu/kernels/dropout.go       dropout masks; every layer has a purpose
//	Sampling     t     0      0    algos/fedavg_s.go                 who of the active clients takes part in round t
//	Generated    p     j      0    datasets/synthetic.go             picture j
//	                               bench/nightly/workload.go         noise of a benchmark that reads no other picture
//	Generated    p     j      1    datasets/synthetic.go             noise of picture j
//	Generated    p     j      2    datasets/synthetic.go             labels of ten pictures
//	Generated    0     i      3    datasets/leaf.go                  number of samples and model of client i
//	Generated    0     i      4    datasets/leaf.go                  samples of client i
//	Generated    0     0      5    datasets/binary.go                the model
//	Generated    0     i      6    datasets/binary.go                group and samples of client i
//	Generated    0     0      7    datasets/leaf.go                  the model that all clients share
const (
	Split        Purpose = 1 // which client has which sample
	Availability Purpose = 2 // φ, the chains, who is active
	Init         Purpose = 3 // initial weights
	Batches      Purpose = 4 // order of a client's samples
	Augmentation Purpose = 5 // crops and flips
	Dropout      Purpose = 6 // dropout masks; the upper half has the number of the layer, see [Layer]
	Sampling     Purpose = 7 // the clients that a method samples from the active ones
	Generated    Purpose = 8 // generated data sets
)

// Layer returns the purpose of the dropout masks of one layer, counted from 0.
func Layer(layer int) Purpose { return Dropout | Purpose(layer+1)<<16 }

// The families of Split. A step names a family of round 0; a round names one of the others.
const (
	SplitStepClients   = 0 // a client's shares of the classes
	SplitStepReserve   = 1 // samples reserved for validation
	SplitStepSwap      = 2 // the two groups of clients and their swapped labels
	SplitStepClasses   = 3 // the clients' shares of a class
	SplitStepHoldOut   = 4 // samples held out in place of the test set
	SplitStepSubset    = 5 // samples of a subset of the set
	SplitRoundEven     = 2 // order of the samples before they are cut into equal parts
	SplitRoundTwoClass = 3 // order of the samples of a class, for two classes at each client
	SplitRoundPairs    = 4 // which two classes each client has
	SplitRoundWriters  = 5 // which writers are clients, where there are more
)

// The families of Generated, by step.
const (
	GeneratedStepPicture       = 0 // synthetic: a picture
	GeneratedStepNoise         = 1 // synthetic: the noise of a picture
	GeneratedStepLabels        = 2 // synthetic: the labels of ten pictures
	GeneratedStepLEAFModel     = 3 // leaf: a client's number of samples and its model
	GeneratedStepLEAFSamples   = 4 // leaf: a client's samples
	GeneratedStepBinaryModel   = 5 // binary: the model
	GeneratedStepBinarySamples = 6 // binary: a client's group and its samples
	GeneratedStepLEAFShared    = 7 // leaf: the model that all clients share
)
