package papers

import (
	"fmt"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/stats"
)

// PaperSuffix follows the figure's id in the name of the file of [Statement].
const PaperSuffix = "-paper.csv"

// Statement is what a paper says about one of its tables or figures, beside ours: a [Sentence], or the number of points
// by which one line is ahead of another (a [printedLead]). The columns of the other kind are empty.
type Statement struct {
	Figure string         `csv:"figure"` // its id, or the id of a table
	Data   string         `csv:"data"`
	X      files.Optional `csv:"x"`
	Round  int            `csv:"round"` // after which our runs are compared; 0 of a sentence
	Ahead  string         `csv:"ahead"`
	Behind string         `csv:"behind"`
	N      int            `csv:"n"` // seeds
	// our mean difference, percentage points; missing without the runs or the round
	Points files.Optional `csv:"points"`
	Std    files.Optional `csv:"std"`    // sample standard deviation of the difference over the seeds
	Paper  files.Optional `csv:"paper"`  // the paper's difference, percentage points
	Says   string         `csv:"says"`   // the sentence; empty of points
	Place  string         `csv:"place"`  // where the paper says it
	Answer Answer         `csv:"answer"` // of a sentence
	Ours   string         `csv:"ours"`   // our numbers behind the answer
}

// Text returns what the paper says.
func (s *Statement) Text() string {
	if s.Says != "" {
		return s.Says
	}
	return fmt.Sprintf("%s: %s over %s by %+.2f points", s.where(), s.Ahead, s.Behind, s.Paper.Value)
}

// OursText returns our numbers beside it; empty if there are none.
func (s *Statement) OursText() string {
	if !s.Points.Valid {
		return s.Ours
	}
	return pointsOf(s.Lead())
}

// Lead returns Points, which must not be missing, with their spread.
func (s *Statement) Lead() stats.Estimate {
	return stats.Estimate{Mean: s.Points.Value, Std: s.Std, N: s.N}
}

// where returns the data set, and the value that the figure varies.
func (s *Statement) where() string {
	if s.X.Valid {
		return fmt.Sprintf("%s at %g", s.Data, s.X.Value)
	}
	return s.Data
}

// words returns a statement about a figure as a line for people.
func (s *Statement) words() string {
	if s.Says != "" {
		return fmt.Sprintf("paper, %s: %s: %s; ours: %s\n", s.Place, s.Says, s.Answer, s.Ours)
	}
	ours := "no such round or run"
	if s.Points.Valid {
		ours = fmt.Sprintf("%s (%d) after round %d", pointsOf(s.Lead()), s.N, s.Round)
	}
	return fmt.Sprintf("%s: %s over %s, percentage points: ours %s, paper %+.2f\n",
		s.where(), s.Ahead, s.Behind, ours, s.Paper.Value)
}

// Statements returns what the paper says about the figure, without anything of ours.
func (f *Figure) Statements() (list []Statement) {
	for _, p := range f.printed {
		list = append(list, p.beside(f.ID, nil))
	}
	return append(list, unasked(f.ID, f.Says)...)
}

// Statements returns what the paper says about the table in words, without anything of ours.
func (t *Table) Statements() []Statement { return unasked(t.ID, t.Says) }

// asked returns what the paper says about the figure, beside ours.
func (f *Figure) asked(m Measured) (list []Statement) {
	for _, p := range f.printed {
		list = append(list, p.beside(f.ID, m.Lines))
	}
	for _, s := range f.Says {
		list = append(list, s.Asked(f.ID, m))
	}
	return list
}

// printedLead is the number of points by which a paper says that one line of a figure is ahead of another.
type printedLead struct {
	Data   string
	X      files.Optional // the value that the figure varies; missing if it varies none
	Round  int            // 0: after the last round
	Ahead  []string       // the series that is ahead; if there are several, the best of them
	Behind string         // the series that is behind
	Points float64        // the difference, in percentage points of test accuracy
	Mean   bool           // of the mean test accuracy over the rounds so far
}

// beside returns the statement about a figure with our lines, which must have the same seeds in the same order. Of
// several series that may be ahead the one with the largest lead counts.
func (p *printedLead) beside(figure string, lines []Line) Statement {
	s := Statement{
		Figure: figure, Data: p.Data, X: p.X, Round: p.Round,
		Ahead: strings.Join(p.Ahead, " or "), Behind: p.Behind, Paper: files.Some(p.Points),
	}
	for _, series := range p.Ahead {
		lead, round := leadOf(p.curves(lines, series), p.curves(lines, p.Behind), p.Round)
		if lead.N > 0 && !(s.Points.Valid && s.Points.Value >= lead.Mean) {
			s.Round, s.Ahead, s.N, s.Points, s.Std = round, series, lead.N, files.Some(lead.Mean), lead.Std
		}
	}
	return s
}

// curves returns the curves of a series at the data set and the X, with the test accuracies that the lead is about.
func (p *printedLead) curves(lines []Line, series string) [][]results.CurveRow {
	for _, line := range lines {
		if line.Data != p.Data || line.Series != series || p.X.Valid && p.X.Value != line.X {
			continue
		}
		if p.Mean {
			return runningMeans(line.Curves)
		}
		return line.Curves
	}
	return nil
}

// leadOf returns the lead in points after a round, or after the last one if it is 0, and the round. It has no seeds if
// a seed was not evaluated then.
func leadOf(ahead, behind [][]results.CurveRow, round int) (lead stats.Estimate, at int) {
	var points []float64
	for k := range min(len(ahead), len(behind)) {
		a, b := accuracyAfter(ahead[k], round), accuracyAfter(behind[k], round)
		if !a.TestAcc.Valid || !b.TestAcc.Valid || a.Round != b.Round {
			return stats.Estimate{}, 0
		}
		points, at = append(points, 100*(a.TestAcc.Value-b.TestAcc.Value)), a.Round
	}
	if points == nil {
		return stats.Estimate{}, 0
	}
	return stats.EstimateOf(points), at
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

// pointsOf returns a difference in percentage points with its standard deviation: +1.20 ± 0.31.
func pointsOf(difference stats.Estimate) string {
	if !difference.Std.Valid {
		return fmt.Sprintf("%+.2f", difference.Mean)
	}
	return fmt.Sprintf("%+.2f ± %.2f", difference.Mean, difference.Std.Value)
}
