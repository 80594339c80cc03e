// Package algos holds the federated methods, one per file, written against the engine contract of package nets alone.
//
// Read the files in this order:
//
//   - algos.go: what a method is ([Method], [Round]), the list of all methods, and [New];
//   - federation.go: what a method is started with; checked.go: what stands between it and its user;
//   - param.go and range.go: how a method declares its parameters;
//   - state.go: how a method says what the rounds so far have left in it, so that a run can go on from there;
//   - server.go: what all methods share, the rows in the engine's memory and the local steps;
//   - fedavg_active.go, the shortest method, and then the file of any other. mifa.go is the base of the methods that
//     keep every client's latest update, weighted.go the base of CA-Fed's, with the estimator of availability in
//     estimator.go;
//   - next_plans.go and coalitions.go: plans made while a round trains, and the models of FedAR's Figure 1.
//
// To add a method, copy fedavg_active.go, or fedau.go if the method has parameters, and add its [Definition] to the
// list in algos.go. Whatever a round leaves behind for later rounds, its function state must name, after that of its
// base; a method that keeps no more than its base needs none of its own. The test files conformance_test.go,
// state_test.go and worked_test.go then run it with all others: the first two need nothing more, the third a few rounds
// worked by hand. Write its numbers into testdata/revisions with
//
//	go test ./algos -run TestRevisions -update
//
// To change the numbers of a method, raise the revision in its [Definition] too, and do the same: runs kept from before
// then run again. Without that the test fails.
//
// To add a parameter, declare a [Param] in the method's file, add it to the Params of the [Definition], and read it
// where the method starts. The command line, the usage text and the name of a run follow from the declaration.
package algos
