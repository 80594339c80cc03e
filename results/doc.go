// Package results holds what a run leaves behind: its curve, its run file, and the numbers that a summary makes of
// them.
//
// Begin with [Cell], which says what a row belongs to (cells.go, with [Params] in params.go), and
// with package metrics, which names the numbers. One run writes curve.csv (curve.go) and run.json (runfile.go,
// hash.go), some runs decisions.csv, clients.csv and models (decisions.go, client_rows.go, models.go), and a
// table summary.csv (summary.go). runs.go and summaries.go find them again below a folder.
//
// A run is taken for what it says after check.go has held it to its run.json, checksum.go its files to their checksums,
// and twins.go the seeds of a cell to one another. likeness.go says which runs may be in one mean; those of another
// table are copied with adopt.go. [Printed] (printed.go) is a number as a paper prints it. bench_rows.go and
// bench_text.go are measurements of speed.
//
// The packages below need this one alone: protocol makes numbers of curves as the papers do, papers has the printed
// tables and figures, compare puts ours beside them, report makes a page of both, track follows speeds night by night,
// events writes for TensorBoard. files, safetensors, metrics, stats and plot know nothing of runs.
package results
