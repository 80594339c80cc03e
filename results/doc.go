// Package results defines the files of a run and of a table, writes them, finds them again and checks them.
//
// Begin with [Cell], which says to which experiment a row belongs (cells.go, with [Params] in params.go), and with
// package metrics, which names the numbers. Every run writes curve.csv (curve.go) and run.json (runfile.go, hash.go).
// Some runs also write decisions.csv, clients.csv and models (decisions.go, client_rows.go, models.go). A table writes
// summary.csv (summary.go), and a figure FIGURE.json (figure_info.go). runs.go and summaries.go find these files
// below a folder.
//
// Nobody can vouch for a folder, so a run counts only after three checks: check.go compares its curve with its
// run.json, checksum.go compares its files with their checksums, and twins.go compares the seeds of a cell with one
// another. likeness.go says which runs may share a mean. adopt.go copies a run into another table. [Printed]
// (printed.go) is a number that a paper prints. bench_rows.go and bench_text.go hold measurements of speed.
//
// Seven packages below build on this one: protocol computes the papers' numbers from curves, papers has the printed
// tables and figures, compare puts our numbers beside the printed ones, report writes both as a page, scoreboard says
// what agrees, track follows speed night by night, and events writes files for TensorBoard. The packages files,
// safetensors, metrics, stats and plot know nothing of runs.
package results
