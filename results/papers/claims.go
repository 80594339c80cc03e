package papers

import (
	"fmt"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
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
	Mean   bool           // of the mean test accuracy over the rounds so far
}

// ClaimsSuffix follows the figure's id in the name of the file of [ClaimRow].
const ClaimsSuffix = "-paper.csv"

// ClaimRow is what a paper says about one of its figures, beside ours: a difference in points (a [claim]), or a
// [Sentence] with its answer. The columns of the other kind are empty.
type ClaimRow struct {
	Figure string         `csv:"figure"`
	Data   string         `csv:"data"`
	X      files.Optional `csv:"x"`
	Round  int            `csv:"round"` // after which our runs are compared; 0 of a sentence
	Ahead  string         `csv:"ahead"`
	Behind string         `csv:"behind"`
	N      int            `csv:"n"` // seeds
	// our mean difference, percentage points; missing without the runs or the round
	Points files.Optional `csv:"points"`
	Std    files.Optional `csv:"std"`   // sample standard deviation of the difference over the seeds
	Paper  files.Optional `csv:"paper"` // the paper's difference, percentage points
	Says   string         `csv:"says"`  // the sentence
	Place  string         `csv:"place"` // where the paper says it
	Answer Answer         `csv:"answer"`
	Ours   string         `csv:"ours"` // our numbers behind the answer
}

// claimRows compares the claims about a figure with our lines, which must have the same seeds in the same order.
func claimRows(figure string, claims []claim, lines []Line) (rows []ClaimRow) {
	for _, c := range claims {
		row := ClaimRow{
			Figure: figure, Data: c.Data, X: c.X, Round: c.Round,
			Ahead: strings.Join(c.Ahead, " or "), Behind: c.Behind, Paper: files.Some(c.Points),
		}
		if behind := c.find(lines, c.Behind); behind != nil {
			for _, series := range c.Ahead {
				if ahead := c.find(lines, series); ahead != nil {
					row.compare(series, c.curves(ahead), c.curves(behind), c.Round)
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

// curves returns the curves of a line with the test accuracies that the claim is about.
func (c *claim) curves(line *Line) [][]results.CurveRow {
	if !c.Mean {
		return line.Curves
	}
	return runningMeans(line.Curves)
}

// compare sets the row to the difference of two lines, if it is larger than the difference in the row.
func (r *ClaimRow) compare(series string, ahead, behind [][]results.CurveRow, round int) {
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

// Claims returns what the paper says about the figure, without anything of ours.
func (f *Figure) Claims() []ClaimRow {
	rows := claimRows(f.ID, f.states, nil)
	for _, s := range f.Says {
		rows = append(rows, ClaimRow{Figure: f.ID, Says: s.Says, Place: s.Place})
	}
	return rows
}

// words returns the row as a line for people.
func (r *ClaimRow) words() string {
	if r.Says != "" {
		return fmt.Sprintf("paper, %s: %s: %s; ours: %s\n", r.Place, r.Says, r.Answer, r.Ours)
	}
	ours := "no such round or run"
	if r.Points.Valid {
		ours = pointsOf(stats.Estimate{Mean: r.Points.Value, Std: r.Std, N: r.N}) +
			fmt.Sprintf(" (%d) after round %d", r.N, r.Round)
	}
	place := r.Data
	if r.X.Valid {
		place += fmt.Sprintf(" at %g", r.X.Value)
	}
	return fmt.Sprintf("%s: %s over %s, percentage points: ours %s, paper %+.2f\n",
		place, r.Ahead, r.Behind, ours, r.Paper.Value)
}

// pointsOf returns a difference in percentage points with its standard deviation: +1.20 ± 0.31.
func pointsOf(difference stats.Estimate) string {
	if !difference.Std.Valid {
		return fmt.Sprintf("%+.2f", difference.Mean)
	}
	return fmt.Sprintf("%+.2f ± %.2f", difference.Mean, difference.Std.Value)
}
