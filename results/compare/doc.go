// Package compare compares our numbers with the printed ones, and runs with runs.
//
// Begin with compare.go, which puts a table of ours beside its printed numbers, as a [Comparing]. judge.go decides
// which numbers may be compared and how far apart they are. rank.go says for each column whether the methods have the
// paper's order, and sort.go sorts rows in that order. A comparison is written column by column (text.go), or in the
// layout of a printed table (grid.go), which export.go and export_latex.go write as CSV, Markdown and LaTeX. print.go
// prints a table while it is being made. label.go and caption.go say how the numbers were made.
//
// The other files work on runs: list.go and screen.go list them, cell.go shows the runs of one cell, diff.go compares
// two sets of runs seed by seed, and merge.go puts several output folders together.
package compare
