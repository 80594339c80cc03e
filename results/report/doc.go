// Package report writes finished runs as one HTML page: the papers' tables beside ours, and figures that show how our
// numbers came about.
//
//	runs, bad, err := results.FindRuns(ctx, "out")
//	written, err := report.Write(ctx, "out/report", report.Input{Runs: runs, Numbers: rows, Bad: bad})
//	fmt.Println(written.Page, written.Figures)
//
// The page needs no network and no server. A folder beside it holds each figure as SVG and PNG, and the CSV from which
// the figure was drawn. A run's folder may hold more files than its curve. The page draws two kinds of them, and names
// the others:
//
//   - decisions.csv ([results.DecisionRow]): which clients were active, which of them the method included, and with
//     which weight;
//   - any CSV with the columns client and accuracy (or test_acc, or acc), and optionally round: how the accuracy is
//     distributed over the clients in the last round of the file.
//
// Package plot draws the files. Package page draws the charts of the page, because gonum's SVG canvas writes no groups
// and no classes: the filter could not hide the curves of one method, and the colours could not change in dark mode.
package report
