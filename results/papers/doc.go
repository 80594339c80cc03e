// Package papers holds each paper's tables and figures as data: what they run, what is printed, and what draws them.
//
// A family of files belongs to one paper: fedawe*.go, cafed*.go (its two papers), fedar*.go. In it
//
//   - PAPER.go has the settings of the experiments and the learning rates, the lists of the paper's tables and figures,
//     the tables themselves, and how the paper's methods train outside of them ([TrainsAs], in table.go, asks for it);
//   - PAPER_printed.go has the printed numbers as they are printed;
//   - PAPER_fN.go has figure N, and cafed_i.go those of CA-Fed's INFOCOM paper: what it runs, what is measured for it,
//     its rows and its drawing, and what the paper says of it.
//
// What the papers share is in table.go and entries.go (a table, its printed numbers, and those it has of every cell),
// figure.go (a figure, its runs, and the kinds of measurements), runs.go (finished runs, and the rows of a table made
// of them) and curves.go (rows and drawings of learning curves, and of numbers against what is varied).
//
// A new figure is a new file and its name in the list of its paper. A new table is a value in PAPER.go, its name in the
// list, and its numbers in PAPER_printed.go. A new kind of measurement is a type in figure.go, and a function in
// bench/run. Nothing here trains: bench/run measures, and [Figure.Draw] draws.
package papers
