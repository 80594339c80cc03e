// Package track keeps the nightly speed history of machines, finds the nights at which a speed changed, and draws them.
//
// A [History] belongs to one [Machine], and is a file with one row for each metric of each night (history.go,
// schema.go). Only a [Writer] appends to it (writer.go). A [Rule] goes through the history night by night and finds the
// shifts of each metric (shift.go) with an exact rank test (rank.go). [Judge] puts the shifts into words (verdict.go),
// and [Plot] draws them (plot.go). docs/tracking.md describes the file, and says how often the rule is wrong.
package track
