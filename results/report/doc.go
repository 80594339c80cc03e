// Package report writes finished runs as one HTML page: the papers' tables beside ours, and figures that show how our
// numbers came about.
//
// The page needs no network and no server. A folder beside it holds each figure as SVG and PNG, and the CSV from which
// the figure was drawn. A run's folder may hold more files than its curve. The page draws two kinds of them:
//
//   - decisions.csv ([results.DecisionRow]): which clients were active, which of them the method included, and with
//     which weight;
//   - any CSV with the columns client and accuracy (or test_acc, or acc), and optionally round: how the accuracy is
//     distributed over the clients in the last round of the file.
//
// The page names the other files and does not read them.
//
// report.go has [Write] and the builder, which gathers the figures of the page: training curves (curves.go),
// availability, decisions, perclient and speed. page.go fills the data of the template, with the tables of tables.go.
// Each figure is drawn twice from one description. Package plot draws the files; svg.go, svg_lines.go and svg_raster.go
// draw the page's charts, in colours from the style sheet (styles.go) and with fewer points (thin.go).
//
// The page draws its charts itself because gonum's SVG canvas writes no groups and no classes: the filter could not
// hide the curves of one method, and the colours could not change in dark mode. A canvas of our own would not be
// shorter than the three files, as axes, ticks and paths come from package plot already. gonum's SVG is also twice as
// long.
package report
