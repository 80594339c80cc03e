// Package algos holds the federated methods, one per file, written against the engine contract of package nets alone.
//
// Read the files in this order:
//
//   - algos.go: what a method is ([Method], [Round]), the list of all methods, and [New];
//   - federation.go: what a method is started with; checked.go: the checks between a method and its caller;
//   - param.go: how a method declares its parameters;
//   - state.go: how a method saves its state, so that a run can continue later;
//   - server.go: what all methods share, that is the rows in the engine's memory and the local steps;
//   - fedavg_active.go, the shortest method, and then the file of any other. memory.go is the base of the methods
//     that keep the latest update of every client, weighted.go the base of CA-Fed's methods, with the estimator of
//     availability in estimator.go;
//   - next_plans.go, which makes batch plans while a round trains, and coalitions.go, the models of FedAR's Figure 1.
//
// Where to find three things that run through all files:
//
//   - The learning rate of a round is Round.LR. The caller chooses it (Settings.Rate in bench/settings; the schedule of
//     FedAWE's tables is [DecayedLR]), and server.train passes it to the engine.
//   - The update Δ_i of a client is its row after the local steps minus its row before. No method stores a gradient.
//   - The running statistics of batch normalisation are no weights: Combine and Norm of an engine leave them out, and
//     server.averageBuffers gives the model the mean of the clients whose update entered the step. See [nets.Engine].
//
// To add a method, copy fedavg_active.go, or fedau.go if the method has parameters, and add its [Definition] to the
// list in algos.go. If a round leaves anything behind for later rounds, give the method a function state that calls the
// function state of its base and then names what the method keeps. The test files conformance_test.go, state_test.go
// and worked_test.go then run it with all others: the first two need nothing more, the third needs a few rounds worked
// by hand. Write its numbers into testdata/revisions with
//
//	go test ./algos -run TestRevisions -update
//
// If you change the numbers of a method, raise the revision in its [Definition] and run the same command; TestRevisions
// fails otherwise. Runs with the old revision are then not taken for runs with the new one.
//
// To add a parameter, declare a [Param] in the method's file, add it to the Params of the [Definition], and read it
// where the method starts. The command line, the usage text and the name of a run follow from the declaration.
package algos
