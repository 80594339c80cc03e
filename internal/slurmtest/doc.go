// Package slurmtest starts a real Slurm on this machine, for tests of what is submitted to one.
//
// A cluster is a slurmctld and a slurmd for each node, all under the user of the test, on ports of the loopback device
// and in a folder of their own: two tests may have one each at the same time. It has no munge and no database. It
// believes whoever says who he is, so everyone on this machine can run programs as the user of the test while it lives.
//
// Every daemon is the child of a keeper (keeper_linux.go), which is the test's program started once more. The keeper
// adopts what the daemon leaves behind, and kills all of it when the test says so or is dead.
package slurmtest
