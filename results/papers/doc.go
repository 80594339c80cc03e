// Package papers holds each paper's tables and figures as data: the runs they need, the printed numbers, and the
// functions that draw them.
//
// Each paper has a family of files: fedawe*.go, fedar*.go, and cafed*.go for CA-Fed's two papers.
//
//   - PAPER.go has the settings and the learning rates of the experiments, the tables, the list of the figures, and how
//     the paper's methods train outside its tables, for [TrainsAs] in table.go.
//   - PAPER_printed.go has the printed numbers, in the layout of the paper.
//   - PAPER_fN.go has figure N, and cafed_i.go has the figures of CA-Fed's INFOCOM paper: the runs, the measurements,
//     the rows of the CSV, the drawing, and the paper's own words about the figure.
//
// items.go lists every table and figure of every document, also those that are text. What a paper says about its tables
// and figures is asked of our numbers: differences in points in claims.go, sentences in sentences.go.
//
// The other files are for all papers: table.go and entries.go (a table, its printed numbers, and the numbers it
// computes for every cell), figure.go (a figure, its runs, and the kinds of measurements), runs.go (finished runs, and
// the rows of a table computed from them) and curves.go (rows and drawings of learning curves and of sweeps).
//
// A new figure is a new file, its name in the list of its paper, and an item. A new table is a value in PAPER.go, its
// name in the list, its numbers in PAPER_printed.go, and an item. A new kind of measurement is a type in figure.go, and
// a function in bench/run. Nothing here trains: bench/run measures, and [Figure.Draw] draws.
package papers
