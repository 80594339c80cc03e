// Package report makes one HTML page of finished runs: the papers' tables beside ours, and figures of how it came
// about.
//
// The page needs no network and no server. Beside it, in a folder of their own, lie each figure as SVG and PNG and the
// CSV it was drawn from. A run's folder may hold more than its curve; what is drawn of it is
//
//   - decisions.csv ([results.DecisionRow]): who was there, who was taken, and with which weight;
//   - any CSV with the columns client and accuracy (or test_acc, or acc), and perhaps round: the distribution over the
//     clients, in the last round there is.
//
// Other files are named on the page and left alone.
//
// report.go has [Write] and the builder, which gathers the figures of the page: training curves (curves.go),
// availability, decisions, perclient and speed. page.go lays out what the template sees, with the tables of tables.go.
// Each figure is drawn twice from one description: by package plot for the files, and by svg.go, svg_lines.go and
// svg_raster.go for the page, whose colours follow the reader's light or dark (styles.go) and whose lines are thinner
// (thin.go).
package report
