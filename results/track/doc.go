// Package track keeps the nightly speed history of machines, finds the nights at which a speed changed, and draws them.
//
// A [History] is of one [Machine] and a file of one row for each metric of each night (history.go, schema.go), to which
// only a [Writer] appends (writer.go). A [Rule] goes through it night by night and finds the shifts of each metric
// (shift.go) by an exact test of ranks (rank.go). [Judge] puts them into words (verdict.go), [Plot] draws them
// (plot.go). docs/tracking.md describes the file and how often the rule is wrong.
package track
