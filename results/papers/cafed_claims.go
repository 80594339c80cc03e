package papers

import (
	"fmt"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// claim is a sentence of a paper about one of its figures: one line is ahead of another by so many points.
type claim struct {
	Data   string
	X      files.Optional // the value that the figure varies; missing if it varies none
	Round  int            // 0: after the last round
	Ahead  []string       // the series that is ahead; if there are several, the best of them
	Behind string         // the series that is behind
	Points float64        // the difference, in percentage points of test accuracy
}

// stating returns a function that draws a figure with draw, and adds what the paper says about it: its words, and its
// claims beside our numbers.
func stating(words string, claims []claim, draw func(m Measured) (Drawing, error)) func(m Measured) (Drawing, error) {
	return func(m Measured) (Drawing, error) {
		d, err := draw(m)
		rows := claimRows(m.Figure.ID, claims, m.Lines)
		if len(rows) > 0 {
			d.Claims = csvRows[claimRow](rows)
		}
		d.Words = claimWords(words, rows)
		return d, err
	}
}

// claimRow is a claim of a paper beside our difference.
type claimRow struct {
	Figure string         `csv:"figure"`
	Data   string         `csv:"data"`
	X      files.Optional `csv:"x"`
	Round  int            `csv:"round"` // after which our runs are compared
	Ahead  string         `csv:"ahead"`
	Behind string         `csv:"behind"`
	N      int            `csv:"n"`
	// our mean difference, percentage points; missing without the runs or the round
	Points files.Optional `csv:"points"`
	Std    files.Optional `csv:"std"`   // sample standard deviation of the difference over the seeds
	Paper  float64        `csv:"paper"` // the paper's difference, percentage points
}

// claimRows compares the claims about a figure with our lines, which must have the same seeds in the same order.
func claimRows(figure string, claims []claim, lines []Line) []claimRow {
	var rows []claimRow
	for _, c := range claims {
		row := claimRow{
			Figure: figure, Data: c.Data, X: c.X, Round: c.Round,
			Ahead: strings.Join(c.Ahead, " or "), Behind: c.Behind, Paper: c.Points,
		}
		if behind := c.find(lines, c.Behind); behind != nil {
			for _, series := range c.Ahead {
				if ahead := c.find(lines, series); ahead != nil {
					row.compare(series, ahead.Curves, behind.Curves, c.Round)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// find returns the line of a series at the data set and the X of the claim; nil if there is none.
func (c *claim) find(lines []Line, series string) *Line {
	for i, line := range lines {
		if line.Data == c.Data && line.Series == series && (!c.X.Valid || c.X.Value == line.X) {
			return &lines[i]
		}
	}
	return nil
}

// compare sets the row to the difference of two lines, if it is larger than the difference in the row.
func (r *claimRow) compare(series string, ahead, behind [][]results.CurveRow, round int) {
	var points []float64
	at := 0
	for k := range min(len(ahead), len(behind)) {
		a, b := accuracyAfter(ahead[k], round), accuracyAfter(behind[k], round)
		if !a.TestAcc.Valid || !b.TestAcc.Valid || a.Round != b.Round {
			return
		}
		points, at = append(points, 100*(a.TestAcc.Value-b.TestAcc.Value)), a.Round
	}
	mean := stats.Mean(points)
	if !mean.Valid || r.Points.Valid && r.Points.Value >= mean.Value {
		return
	}
	r.Round, r.Ahead, r.N, r.Points, r.Std = at, series, len(points), mean, stats.SampleStd(points)
}

// accuracyAfter returns the row of a round with a test accuracy, or the last such row if round is 0.
func accuracyAfter(rows []results.CurveRow, round int) results.CurveRow {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].TestAcc.Valid && (round == 0 || rows[i].Round == round) {
			return rows[i]
		}
	}
	return results.CurveRow{}
}

// claimWords returns the words of a paper about a figure, and a line for each claim with our difference.
func claimWords(words string, rows []claimRow) string {
	var b strings.Builder
	if words != "" {
		fmt.Fprintf(&b, "paper: %s\n", words)
	}
	for _, r := range rows {
		ours := "no such round or run"
		if r.Points.Valid {
			ours = fmt.Sprintf("%+.2f", r.Points.Value)
			if r.Std.Valid {
				ours += fmt.Sprintf(" ± %.2f", r.Std.Value)
			}
			ours += fmt.Sprintf(" (%d) after round %d", r.N, r.Round)
		}
		place := r.Data
		if r.X.Valid {
			place += fmt.Sprintf(" at %g", r.X.Value)
		}
		fmt.Fprintf(&b, "%s: %s over %s, percentage points: ours %s, paper %+.2f\n",
			place, r.Ahead, r.Behind, ours, r.Paper)
	}
	return b.String()
}
