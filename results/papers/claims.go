package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// PaperSuffix follows the figure's id in the name of the file of [Claim].
const PaperSuffix = "-paper.csv"

// Claim is what a paper says about one of its tables or figures, a number or a sentence, beside ours.
type Claim struct {
	Item    string         `csv:"item"`    // the id of the table or figure
	Where   string         `csv:"where"`   // in it: the data set, the value that varies; empty: everywhere
	Says    string         `csv:"says"`    // in our words
	Place   string         `csv:"place"`   // where the paper says it; empty: in the table or figure itself
	Printed files.Optional `csv:"printed"` // the number, in the unit of Says; missing for a sentence
	Ours    string         `csv:"ours"`    // our numbers; empty: we have none
	N       int            `csv:"n"`       // seeds behind a number
	judge.Outcome
	NotJudged string `csv:"not_judged"` // why there is no verdict; empty if there is one, or if it was not run
	Shown     bool   `csv:"shown"`      // nothing of its kind is judged, whatever its size
}

// IsNumber reports whether the claim is a number; it is a sentence otherwise.
func (c *Claim) IsNumber() bool { return c.Printed.Valid }

// Text returns what the paper says.
func (c *Claim) Text() string {
	text := c.Says
	if c.Where != "" {
		text = c.Where + ": " + text
	}
	if c.Place != "" {
		text += " (" + c.Place + ")"
	}
	return text
}

// Answer returns the verdict in words, or why there is none.
func (c *Claim) Answer() string {
	switch {
	case c.NotJudged != "":
		return "not judged: " + c.NotJudged
	case c.Verdict == judge.NotJudged:
		return "not run"
	}
	return c.Words()
}

// line returns a claim about a figure as a line for people.
func (c *Claim) line() string {
	ours := cmp.Or(c.Ours, "no such round or run")
	return fmt.Sprintf("paper: %s; ours: %s: %s\n", c.Text(), ours, c.Answer())
}

// Claims returns what the paper says about the figure, beside ours.
func (f *Figure) Claims(m Measured) (list []Claim) {
	for _, p := range f.printed {
		list = append(list, p.claim(f.ID, m.Lines))
	}
	return append(list, claims(f.ID, f.Says, m)...)
}

// Sentences returns what the paper says about the table in words, beside ours.
func (t *Table) Sentences(rows []results.SummaryRow) []Claim { return claims(t.ID, t.Says, rows) }

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

// leastLead is the smallest margin of a difference, in points; of larger ones it is half of what is printed.
const leastLead = 0.25

// claim returns the claim about a figure with our lines, which must have the same seeds in the same order. Of several
// series that may be ahead the one with the largest lead counts.
func (p *printedLead) claim(figure string, lines []Line) Claim {
	c := Claim{
		Item: figure, Where: p.where(), Printed: files.Some(p.Points),
		Says: fmt.Sprintf("%s over %s by %+.2f points", strings.Join(p.Ahead, " or "), p.Behind, p.Points),
	}
	var most stats.Estimate
	for _, series := range p.Ahead {
		lead, round := leadOf(p.curves(lines, series), p.curves(lines, p.Behind), p.Round)
		if lead.N == 0 || most.N > 0 && lead.Mean <= most.Mean {
			continue
		}
		most, c.N = lead, lead.N
		c.Ours = fmt.Sprintf("%s (%s) after round %d", pointsOf(lead), files.Count(lead.N, "seed"), round)
		if len(p.Ahead) > 1 {
			c.Ours = series + " " + c.Ours
		}
	}
	if most.N > 0 {
		margin := judge.Within(max(math.Abs(p.Points)/2, leastLead))
		c.Outcome = judge.Numbers(most, stats.Estimate{Mean: p.Points}, margin)
	}
	return c
}

// where returns the data set, and the value that the figure varies.
func (p *printedLead) where() string {
	if p.X.Valid {
		return fmt.Sprintf("%s at %g", p.Data, p.X.Value)
	}
	return p.Data
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
	// Ask returns whether it holds for our numbers, whatever their size. It may find nothing to ask, which is
	// [judge.Untold] and nothing in words.
	Ask func(ours T) Answer
}

// Answer is the answer to a sentence.
type Answer struct {
	judge.Verdict
	Seeds int    // that would tell, see [judge.Outcome]
	Ours  string // our numbers behind it
	Shown string // why nothing of its kind is judged; empty if it is
}

// claims returns the claims of sentences, beside ours.
func claims[T any](id string, sentences []Sentence[T], ours T) (list []Claim) {
	for _, s := range sentences {
		a := s.Ask(ours)
		list = append(list, Claim{
			Item: id, Says: s.Says, Place: s.Place, Ours: a.Ours, NotJudged: a.Shown, Shown: a.Shown != "",
			Outcome: judge.Outcome{Verdict: a.Verdict, Seeds: a.Seeds},
		})
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
			d.Says = f.Claims(m)
			for i := range d.Says {
				d.Words += d.Says[i].line()
			}
			return d, nil
		}
	}
	return list
}

// ahead answers whether all of the leads are above 0, which are differences by pairs of seeds; one without seeds has
// nothing to say, see [judge.Ahead].
func ahead(leads []stats.Estimate, words string) Answer {
	verdict, seeds := judge.Ahead(leads)
	return Answer{Verdict: verdict, Seeds: seeds, Ours: words}
}

// share answers whether more than half of all runs do what some of these do, one of each seed, see [judge.Share]: for
// what a paper shows of one run.
func share(seeds []bool, words string) Answer {
	yes := 0
	for _, it := range seeds {
		if it {
			yes++
		}
	}
	verdict, low, high, more := judge.Share(yes, len(seeds))
	if len(seeds) == 0 {
		return Answer{Verdict: verdict}
	}
	ours := fmt.Sprintf("%d of %s (%.0f … %.0f %% of all runs)", yes, files.Count(len(seeds), "seed"), 100*low,
		100*high)
	if words != "" {
		ours += "; " + words
	}
	return Answer{Verdict: verdict, Seeds: more, Ours: ours}
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

// fall returns by how much every level is lower than the one before it; levels [X][seeds].
func fall(levels [][]float64) (leads []stats.Estimate) {
	for i := 1; i < len(levels); i++ {
		leads = append(leads, differences(levels[i-1], levels[i]))
	}
	return leads
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

// isAhead returns the question of [leads], everywhere; over no other series it is over all.
func isAhead(series string, number perSeed, over ...string) func(m Measured) Answer {
	return leads{series, over, number, nil}.ask
}

// ask answers with the nearest of the others in every place.
func (q leads) ask(m Measured) Answer {
	var all []stats.Estimate
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
			all = append(all, d)
			if d.N > 0 && d.Mean < nearest.Mean {
				nearest, name = d, other.Series
			}
		}
		if name != "" {
			words = append(words, fmt.Sprintf("%s: %s points over %s", first.place(), pointsOf(nearest), name))
		}
	}
	return ahead(all, strings.Join(words, "; "))
}

// changes is a question: does the number of a series fall from the smallest to the largest X of the figure?
type changes struct {
	series string // empty: all
	number perSeed
	rises  bool // the question is whether it rises
}

func (q changes) ask(m Measured) Answer {
	var all []stats.Estimate
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
			all = append(all, stats.Estimate{})
			continue
		}
		words = append(words, fmt.Sprintf("%s: %s points from %g to %g", name, pointsOf(d), low.X, high.X))
		if !q.rises {
			d.Mean = -d.Mean
		}
		all = append(all, d)
	}
	return ahead(all, strings.Join(words, "; "))
}

// leadsIn is a question to a table: is a method ahead of others in every column?
type leadsIn struct {
	method string
	over   []string
	metric metrics.Metric
	lower  bool // the smaller, the better
}

// above returns the question of [leadsIn] where the larger number is the better, and below where the smaller is.
func above(method string, metric metrics.Metric, over ...string) func([]results.SummaryRow) Answer {
	return leadsIn{method, over, metric, false}.ask
}

func below(method string, metric metrics.Metric, over ...string) func([]results.SummaryRow) Answer {
	return leadsIn{method, over, metric, true}.ask
}

// ask answers with the nearest of the others in every column.
func (q leadsIn) ask(rows []results.SummaryRow) Answer {
	var all []stats.Estimate
	var words []string
	places, groups := results.Grouped(rows, columnWords)
	for _, place := range places {
		nearest, name := files.Optional{}, ""
		for _, other := range q.over {
			d := leadIn(groups[place], q.method, other, q.metric)
			if q.lower {
				d.Mean = -d.Mean
			}
			all = append(all, d)
			if d.N > 0 && !(d.Mean >= nearest.Or(math.Inf(1))) {
				nearest, name = files.Some(d.Mean), other
			}
		}
		if name != "" {
			words = append(words, fmt.Sprintf("%s: %s %s", place, q.lead(nearest), name))
		}
	}
	return ahead(all, strings.Join(words, "; "))
}

// lead returns the words for a lead, up to the name of the other: "+1.2 ahead of", "lower by 0.3 than".
func (q leadsIn) lead(by files.Optional) string {
	if !q.lower {
		return q.metric.Difference(by) + " ahead of"
	}
	word := "lower"
	if by.Value < 0 {
		word = "higher"
	}
	return word + " by " + q.metric.Margin(files.Some(math.Abs(by.Value))) + " than"
}

// leadIn returns [LeadIn] of two methods among the rows of one column; it has no seeds if one is not there.
func leadIn(rows []results.SummaryRow, method, other string, metric metrics.Metric) stats.Estimate {
	find := func(method string) *results.SummaryRow {
		i := slices.IndexFunc(rows, func(r results.SummaryRow) bool { return r.Method == method && r.Metric == metric })
		if i < 0 {
			return nil
		}
		return &rows[i]
	}
	return LeadIn(find(method), find(other))
}

// LeadIn returns by how much a number of a table is above another, by pairs of seeds. It has no seeds without one of
// the two. Where a row does not have the numbers of the seeds, the two are independent means, of as many seeds as the
// smaller has.
func LeadIn(a, b *results.SummaryRow) stats.Estimate {
	if a == nil || b == nil || !a.Mean.Valid || !b.Mean.Valid {
		return stats.Estimate{}
	}
	if pairs := a.BySeed.Minus(b.BySeed); pairs != nil {
		return stats.EstimateOf(pairs)
	}
	d := stats.Estimate{Mean: a.Mean.Value - b.Mean.Value, N: min(a.N, b.N)}
	if a.Std.Valid && b.Std.Valid {
		d.Std = files.Some(math.Hypot(a.Std.Value, b.Std.Value))
	}
	return d
}

// columnWords returns the column of a row, in which methods can be compared: sine, cifar10, alpha=0.1.
func columnWords(r results.SummaryRow) string {
	words := r.Availability + ", " + r.Data
	if r.Alpha.Valid {
		words += ", alpha=" + r.Alpha.String()
	}
	return results.NewParams(words, string(r.Params.Only("gamma", "p-min"))).Words(", ")
}
