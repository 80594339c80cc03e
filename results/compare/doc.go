// Package compare puts our numbers beside the printed ones, and runs beside runs.
//
// compare.go makes a [Comparing] of a table of ours and its printed numbers, rank.go says of each column whether the
// methods come in the paper's order, sort.go brings rows into that order. A comparison is written column by column
// (text.go), or laid out as papers print their tables (grid.go) and exported (export.go). print.go prints a table while
// it is made. list.go, diff.go and merge.go work on runs: what there is, how two sets of them differ seed by seed, and
// several output folders put together.
package compare
