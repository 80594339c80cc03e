// Package availability holds the processes that decide which clients are there in a round, one process per file.
//
// Read the files in this order:
//
//   - availability.go: what a process is ([Process], [Options]), the list of all processes, and [New];
//   - independent.go: the base of the processes whose clients and rounds are independent, and [Base], which gives
//     clients a probability by the classes of their samples;
//   - stationary.go, staircase.go, sine.go, interleaved_sine.go and uniform.go: these processes, a formula each;
//   - chain.go: chains of two states, on which markov.go (a chain for every client) and clusters.go (a chain for every
//     cluster) stand;
//   - trace.go and trace_csv.go: rounds read from a file;
//   - numpy.go: the random numbers of FedAWE's released code in place of this suite's.
//
// To add a process of independent rounds, copy sine.go; for one with a state, copy
// clusters.go. Add its name to the list in availability.go, and its settings to [Options]
// and to [Defaults]. The tests that go over [Names] then run it with all others.
package availability
