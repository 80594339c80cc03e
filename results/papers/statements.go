package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
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

// Sentence is what a paper says in words about one of its figures, or tables, as a question to our numbers. T is
// [Measured] for a figure, and the rows of the summary for a table.
type Sentence[T any] struct {
	Says  string // in our words
	Place string // where the paper says it
	// Ask returns whether it holds for our numbers, whatever their size, and the numbers in words. It may find nothing
	// to ask, which is [Untold].
	Ask func(ours T) (answer Answer, numbers string)
}

// Answer says whether a sentence holds. It is empty in the rows of numbers.
type Answer string

// The answers.
const (
	Holds  Answer = "holds"
	Fails  Answer = "does not hold"
	Untold Answer = "cannot be told" // within two standard errors, or something is missing
)

// Asked returns the sentence about a table or figure with its answer for our numbers.
func (s Sentence[T]) Asked(id string, ours T) Statement {
	out := Statement{Figure: id, Says: s.Says, Place: s.Place}
	out.Answer, out.Ours = s.Ask(ours)
	return out
}

func unasked[T any](id string, sentences []Sentence[T]) (list []Statement) {
	for _, s := range sentences {
		list = append(list, Statement{Figure: id, Says: s.Says, Place: s.Place})
	}
	return list
}

// saying returns the figures with what the papers say about them, and ours beside it, in their drawings.
func saying(list []Figure) []Figure {
	for i := range list {
		f, draw := &list[i], list[i].Draw
		f.Draw = func(m Measured) (Drawing, error) {
			d, err := draw(m)
			if err != nil {
				return d, err
			}
			d.Says = f.asked(m)
			for i := range d.Says {
				d.Words += d.Says[i].words()
			}
			return d, nil
		}
	}
	return list
}

// isAhead says whether a difference is above 0: by more than two standard errors of its mean over the seeds it is, and
// by as much below 0 it is not.
func isAhead(difference stats.Estimate) Answer {
	if !difference.Std.Valid || !stats.Finite(difference.Mean, difference.Std.Value) {
		return Untold
	}
	twoErrors := 2 * difference.Std.Value / math.Sqrt(float64(difference.N))
	switch {
	case difference.Mean > twoErrors:
		return Holds
	case difference.Mean < -twoErrors:
		return Fails
	}
	return Untold
}

// isPositive is [isAhead] for a figure that shows one run: the number of the run decides.
func isPositive(x float64) Answer {
	switch {
	case x > 0:
		return Holds
	case x < 0:
		return Fails
	}
	return Untold
}

// allOf says whether all parts of a sentence hold: one that does not is enough for [Fails].
func allOf(parts []Answer) Answer {
	switch {
	case slices.Contains(parts, Fails):
		return Fails
	case len(parts) == 0 || slices.Contains(parts, Untold):
		return Untold
	}
	return Holds
}

// differences returns the estimate of a − b, seed by seed; it has no seeds if their numbers differ or are 0.
func differences(a, b []float64) stats.Estimate {
	if len(a) != len(b) || len(a) == 0 {
		return stats.Estimate{}
	}
	d := make([]float64, len(a))
	for k := range a {
		d[k] = a[k] - b[k]
	}
	return stats.EstimateOf(d)
}

// fall says whether every level is lower than the one before it; levels [X][seeds].
func fall(levels [][]float64) Answer {
	var parts []Answer
	for i := 1; i < len(levels); i++ {
		parts = append(parts, isAhead(differences(levels[i-1], levels[i])))
	}
	return allOf(parts)
}

// perSeed returns a number of a run from its curve; missing if the curve does not have it.
type perSeed func(curve []results.CurveRow) files.Optional

// lastAccuracy returns the test accuracy after the last evaluated round.
func lastAccuracy(curve []results.CurveRow) files.Optional { return accuracyAfter(curve, 0).TestAcc }

func accuracyIn(round int) perSeed {
	return func(curve []results.CurveRow) files.Optional { return accuracyAfter(curve, round).TestAcc }
}

// lateAccuracy returns the mean test accuracy over the last 50 rounds.
func lateAccuracy(curve []results.CurveRow) files.Optional {
	return protocol.LastRounds(curve, results.ProtocolRounds, metrics.TestAcc)
}

// points returns 100 times the number of every seed of a line; nil if one seed does not have it.
func (l *Line) points(number perSeed) (values []float64) {
	for _, curve := range l.Curves {
		x := number(curve)
		if !x.Valid {
			return nil
		}
		values = append(values, 100*x.Value)
	}
	return values
}

// minus returns the difference of a number between two lines, in points; it has no seeds if the lines have not the
// same.
func (l *Line) minus(other *Line, number perSeed) stats.Estimate {
	d := differences(l.points(number), other.points(number))
	if d.N > 0 && !sameSeeds(l.Runs, other.Runs) {
		return stats.Estimate{}
	}
	return d
}

// place returns where a line is in a figure of several panels, or at which X: lines of one place can be compared.
func (l *Line) place() string { return results.NewParams(l.Data, string(l.Set)).Words(", ") }

// leads is a question: is a series ahead of others, in every place where it is?
type leads struct {
	series string
	over   []string           // the other series; nil: all
	number perSeed            // of a run, a fraction: the larger, the better
	where  func(l *Line) bool // nil: everywhere
}

// ahead returns the question of [leads], everywhere; over no other series it is over all.
func ahead(series string, number perSeed, over ...string) func(m Measured) (Answer, string) {
	return leads{series, over, number, nil}.ask
}

// ask answers with the nearest of the others in every place.
func (q leads) ask(m Measured) (Answer, string) {
	var parts []Answer
	var words []string
	for i := range m.Lines {
		first := &m.Lines[i]
		if first.Series != q.series || q.where != nil && !q.where(first) {
			continue
		}
		nearest, name := stats.Estimate{Mean: math.Inf(1)}, ""
		for j := range m.Lines {
			other := &m.Lines[j]
			if i == j || other.place() != first.place() || q.over != nil && !slices.Contains(q.over, other.Series) {
				continue
			}
			d := first.minus(other, q.number)
			parts = append(parts, isAhead(d))
			if d.N > 0 && d.Mean < nearest.Mean {
				nearest, name = d, other.Series
			}
		}
		if name != "" {
			words = append(words, fmt.Sprintf("%s: %s points over %s", first.place(), pointsOf(nearest), name))
		}
	}
	return allOf(parts), strings.Join(words, "; ")
}

// changes is a question: does the number of a series fall from the smallest to the largest X of the figure?
type changes struct {
	series string // empty: all
	number perSeed
	rises  bool // the question is whether it rises
}

func (q changes) ask(m Measured) (Answer, string) {
	var parts []Answer
	var words []string
	names, lines := results.Grouped(m.Lines, func(l Line) string { return l.Series })
	for _, name := range names {
		if q.series != "" && q.series != name {
			continue
		}
		x := func(a, b Line) int { return cmp.Compare(a.X, b.X) }
		low, high := slices.MinFunc(lines[name], x), slices.MaxFunc(lines[name], x)
		d := high.minus(&low, q.number)
		if low.X == high.X || d.N == 0 {
			parts = append(parts, Untold)
			continue
		}
		words = append(words, fmt.Sprintf("%s: %s points from %g to %g", name, pointsOf(d), low.X, high.X))
		if !q.rises {
			d.Mean = -d.Mean
		}
		parts = append(parts, isAhead(d))
	}
	return allOf(parts), strings.Join(words, "; ")
}

// leadsIn is a question to a table: is a method ahead of others in every column?
type leadsIn struct {
	method string
	over   []string
	metric metrics.Metric
	lower  bool // the smaller, the better
}

// above returns the question of [leadsIn] where the larger number is the better, and below where the smaller is.
func above(method string, metric metrics.Metric, over ...string) func([]results.SummaryRow) (Answer, string) {
	return leadsIn{method, over, metric, false}.ask
}

func below(method string, metric metrics.Metric, over ...string) func([]results.SummaryRow) (Answer, string) {
	return leadsIn{method, over, metric, true}.ask
}

// ask answers with the nearest of the others in every column.
func (q leadsIn) ask(rows []results.SummaryRow) (Answer, string) {
	var parts []Answer
	var words []string
	places, groups := results.Grouped(rows, columnWords)
	for _, place := range places {
		first := numberIn(groups[place], q.method, q.metric)
		nearest, name := files.Optional{}, ""
		for _, other := range q.over {
			better, worse := first, numberIn(groups[place], other, q.metric)
			if q.lower {
				better, worse = worse, better
			}
			d, _, verdict := stats.Compare(better, worse)
			switch {
			case verdict != stats.Outside:
				parts = append(parts, Untold)
			default:
				parts = append(parts, isPositive(d))
			}
			if first.N > 0 && min(better.N, worse.N) > 0 && !(d >= nearest.Or(math.Inf(1))) {
				nearest, name = files.Some(d), other
			}
		}
		if name != "" {
			words = append(words, fmt.Sprintf("%s: %s ahead of %s", place, q.metric.Difference(nearest), name))
		}
	}
	return allOf(parts), strings.Join(words, "; ")
}

// columnWords returns the column of a row, in which methods can be compared: sine, cifar10, alpha=0.1.
func columnWords(r results.SummaryRow) string {
	words := r.Availability + ", " + r.Data
	if r.Alpha.Valid {
		words += ", alpha=" + r.Alpha.String()
	}
	return results.NewParams(words, string(r.Params.Only("gamma", "p-min"))).Words(", ")
}

// numberIn returns a number of a method among the rows of one column; it has no seeds if it is not there.
func numberIn(rows []results.SummaryRow, method string, metric metrics.Metric) stats.Estimate {
	i := slices.IndexFunc(rows, func(r results.SummaryRow) bool { return r.Method == method && r.Metric == metric })
	if i < 0 || !rows[i].Mean.Valid {
		return stats.Estimate{}
	}
	return stats.Estimate{Mean: rows[i].Mean.Value, Std: rows[i].Std, N: rows[i].N}
}
