// Package availability holds the processes that decide which clients are active in a round, one process per file.
//
// Read the files in this order:
//
//   - availability.go: what a process is ([Process], [Options]), the list of all processes, and [New];
//   - independent.go: the base of the processes whose clients and rounds are independent, and [Base], which gives each
//     client a probability that depends on the classes of its samples;
//   - stationary.go, staircase.go, sine.go, interleaved_sine.go and uniform.go: one formula each;
//   - chain.go: Markov chains of two states, the base of markov.go (one chain per client) and clusters.go (one chain
//     per cluster of clients);
//   - trace.go and trace_csv.go: rounds read from a file;
//   - numpy.go: the random numbers of FedAWE's released code in place of our own.
//
// To add a process of independent rounds, copy sine.go; for a process with a state, copy clusters.go. Add its name to
// the list in availability.go, and its settings to [Options] and [Defaults]. The tests that go through [Names] then run
// it with all others.
package availability
