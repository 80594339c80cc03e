package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// ToN's figure 1. The paper prints no T for figures 1b and 1c; here it is 200, as for figure 1d [inferred].
var (
	cafedF1a = aheadOfAdaFed("cafed-f1a", "Figure 1a: test accuracy, Synthetic", ton("leaf"), tonRounds, 1.56,
		tonBaselines)
	cafedF1b = aheadOfAdaFed("cafed-f1b", "Figure 1b: test accuracy, MNIST",
		ton("mnist"), tonRounds, 0.94, tonBaselines)
	cafedF1c = aheadOfAdaFed("cafed-f1c", "Figure 1c: test accuracy, CIFAR-10", everyFifth(ton("cifar10")),
		tonRounds, 1.32, tonBaselines)
	cafedF1d = Figure{
		ID: "cafed-f1d", Title: "CA-Fed, ToN, Figure 1d: cumulative importance of three groups of clients, Synthetic",
		Measure: Curves{Decisions: true}, Runs: runs(ton("leaf"), cafedMethods...),
		Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds,
		Draw: drawn(ofEveryLine(CAFedGroupRows), CAFedGroupFigure),
		Says: []Sentence[Measured]{
			{"Unbiased gives all groups the same importance", tonBaselines, groupsEqual},
			{"More available excludes the less available", tonBaselines, groupExcluded},
			{"AdaFed and CA-Fed favour the more available", tonBaselines, favours(moreAvailable, "adafed", "ca-fed")},
			{"F3AST favours the less available, correlated", tonBaselines, favours(lessCorrelated, "f3ast")},
		},
	}
)

// tonBaselines is where ToN speaks of figure 1.
const tonBaselines = "V-B a"

// everyFifth returns a column with an evaluation every five rounds, to save time: its curves do not change by it.
func everyFifth(c Column) Column {
	c.Base = c.Base.And("eval-every=5")
	return c
}

// aheadOfAdaFed returns a figure of ToN with the test accuracy of all methods in one column. ToN says that CA-Fed is
// ahead of AdaFed by the given percentage points, at a place in the paper.
func aheadOfAdaFed(id, title string, c Column, rounds int, points float64, place string) Figure {
	return Figure{
		ID: id, Title: "CA-Fed, ToN, " + title,
		Measure: Curves{}, Runs: runs(c, cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: rounds,
		Draw:    drawAccuracy,
		printed: []printedLead{{Data: c.Data, Ahead: []string{"ca-fed"}, Behind: "adafed", Points: points}},
		Says: []Sentence[Measured]{{
			"CA-Fed is ahead of all baselines at the end", place, isAhead("ca-fed", lastAccuracy),
		}},
	}
}

var drawAccuracy = drawn(cafedCurveRows, cafedCurveFigure("test accuracy"))

// cafedCurveRow is one evaluated round of a line, averaged over its seeds (INFOCOM, figure 3; ToN, figures 1a–c, 2a and
// 5d).
type cafedCurveRow struct {
	Data       string         `csv:"data"`
	Series     string         `csv:"series"`
	Method     string         `csv:"method"`
	Round      int            `csv:"round"`
	N          int            `csv:"n"`        // seeds
	TestAcc    float64        `csv:"test_acc"` // fraction, mean over the seeds
	TestAccStd files.Optional `csv:"test_acc_std"`
}

// cafedCurveRows returns the rounds in which every seed has a test accuracy, line by line.
func cafedCurveRows(m Measured) (rows []cafedCurveRow, err error) {
	for _, line := range m.Lines {
		for _, x := range protocol.MeanCurve(line.Curves, metrics.TestAcc) {
			rows = append(rows, cafedCurveRow{line.Data, line.Series, line.Method, x.Round, x.N, x.Mean, x.Std})
		}
	}
	return rows, nil
}

// cafedCurveFigure returns a function that draws a panel for each data set and a line for each series, with a band of
// one standard deviation over the seeds. what is the label of the y axis: "test accuracy".
func cafedCurveFigure(what string) func(title string, rows []cafedCurveRow) plot.Figure {
	return func(title string, rows []cafedCurveRow) plot.Figure {
		chart := func(data string, rows []cafedCurveRow) plot.Chart {
			return plot.LineChart{
				Title: data, XLabel: "round", YLabel: what + " (%)",
				Series: lines(rows, func(r cafedCurveRow) string { return r.Series },
					func(s *plot.Series, r cafedCurveRow) { s.Point(float64(r.Round), r.TestAcc, r.TestAccStd, 100) }),
			}
		}
		return plot.Figure{Title: title, Panels: charts(rows, func(r cafedCurveRow) string { return r.Data }, chart)}
	}
}

// The three groups of clients in ToN's figure 1d, and the bounds between them.
const (
	moreAvailable    = "more available"
	lessWeakly       = "less available, weakly correlated"
	lessCorrelated   = "less available, correlated"
	correlatedAbove  = 0.4 // weakly correlated clients have |λ| of some hundredths, the others 0.5 or more
	availableAtLeast = 0.5 // more available clients have a larger π
)

// clientGroups are the groups in the order of the figure.
var clientGroups = []string{moreAvailable, lessWeakly, lessCorrelated}

// clientGroup returns the group of a client with availability pi and second eigenvalue lambda.
func clientGroup(pi, lambda float64) string {
	switch {
	case pi > availableAtLeast:
		return moreAvailable
	case math.Abs(lambda) > correlatedAbove:
		return lessCorrelated
	}
	return lessWeakly
}

// CAFedGroupRow is the weight that one method gave one group of clients, averaged over the seeds (ToN, figure 1d).
type CAFedGroupRow struct {
	Method    string         `csv:"method"`
	Group     string         `csv:"group"`
	Clients   float64        `csv:"clients"` // number of clients, mean over the seeds
	N         int            `csv:"n"`       // seeds
	Weight    float64        `csv:"weight"`  // q summed over the clients, mean over rounds and seeds
	WeightStd files.Optional `csv:"weight_std"`
	Target    float64        `csv:"alpha"` // α summed over the clients
}

// CAFedGroupRows sums [protocol.Importance] over each group of clients; seeds has the decisions of each run of a
// method.
func CAFedGroupRows(method string, seeds [][]results.DecisionRow) ([]CAFedGroupRow, error) {
	var rows []CAFedGroupRow
	for _, group := range clientGroups {
		row := CAFedGroupRow{Method: method, Group: group, N: len(seeds)}
		var sums []float64
		for _, decisions := range seeds {
			weights, _ := protocol.Importance(decisions)
			if weights == nil {
				return nil, fmt.Errorf("results: importance: %s: no decisions, want some of every seed", method)
			}
			sum := 0.0
			for i, w := range weights {
				if d := decisions[i]; clientGroup(d.Pi, d.Lambda) == group {
					sum += w
					row.Clients += 1 / float64(len(seeds))
					row.Target += d.Target / float64(len(seeds))
				}
			}
			sums = append(sums, sum)
		}
		row.Weight, row.WeightStd = stats.Mean(sums).Value, stats.SampleStd(sums)
		rows = append(rows, row)
	}
	return rows, nil
}

// CAFedGroupFigure draws a panel for each group with a bar for each method.
func CAFedGroupFigure(title string, rows []CAFedGroupRow) plot.Figure {
	bars := func(group string, rows []CAFedGroupRow) plot.Chart {
		chart := plot.KeyedBars{Title: group, YLabel: "cumulative importance"}
		for _, r := range rows {
			chart.Bars = append(chart.Bars, plot.KeyedBar{Name: r.Method, Value: r.Weight})
		}
		return chart
	}
	return plot.Figure{Title: title, Panels: charts(rows, func(r CAFedGroupRow) string { return r.Group }, bars)}
}

// groupRatios returns for every seed of a method the importance of a group as a share of its target; nil without the
// method or its decisions.
func groupRatios(m Measured, method, group string) (ratios []float64) {
	for _, line := range m.Lines {
		if line.Method != method {
			continue
		}
		for _, decisions := range line.Decisions {
			rows, err := CAFedGroupRows(method, [][]results.DecisionRow{decisions})
			if err != nil {
				return nil
			}
			for _, r := range rows {
				if r.Group == group {
					ratios = append(ratios, r.Weight/r.Target)
				}
			}
		}
	}
	return ratios
}

// favours returns a question: does each of these methods give a group more importance than the other two, beside the
// target?
func favours(group string, methods ...string) func(m Measured) Answer {
	return func(m Measured) Answer {
		var all []stats.Estimate
		for _, method := range methods {
			for _, other := range clientGroups {
				if other != group {
					all = append(all, differences(groupRatios(m, method, group), groupRatios(m, method, other)))
				}
			}
		}
		return ahead(all, groupWords(m, methods...))
	}
}

// groupsEqual asks whether no two groups differ under Unbiased by more than a tenth of the target.
func groupsEqual(m Measured) Answer {
	answer := Answer{Ours: groupWords(m, "unbiased")}
	var parts []judge.Verdict
	for i, group := range clientGroups {
		for _, other := range clientGroups[i+1:] {
			d := differences(groupRatios(m, "unbiased", group), groupRatios(m, "unbiased", other))
			o := judge.Numbers(d, stats.Estimate{}, judge.Within(0.1))
			parts, answer.Seeds = append(parts, o.Verdict), max(answer.Seeds, o.Seeds)
		}
	}
	if answer.Verdict = judge.All(parts...); answer.Verdict != judge.Untold {
		answer.Seeds = 0
	}
	return answer
}

// groupExcluded asks whether More-available gives the less available no importance, run by run.
func groupExcluded(m Measured) Answer {
	const method = "more-available"
	weakly, correlated := groupRatios(m, method, lessWeakly), groupRatios(m, method, lessCorrelated)
	var none []bool
	for k := range min(len(weakly), len(correlated)) {
		none = append(none, weakly[k] == 0 && correlated[k] == 0)
	}
	return share(none, groupWords(m, method))
}

// groupWords returns the mean importance of the three groups as shares of their targets, for each method.
func groupWords(m Measured, methods ...string) string {
	var words []string
	for _, method := range methods {
		var ratios []string
		for _, group := range clientGroups {
			if mean := stats.Mean(groupRatios(m, method, group)); mean.Valid {
				ratios = append(ratios, fmt.Sprintf("%.2f", mean.Value))
			}
		}
		words = append(words, method+" "+strings.Join(ratios, ", "))
	}
	return strings.Join(words, "; ") + " of the target"
}

// ToN's figure 2 trains the same runs for both parts: CA-Fed with several κ̄², and two baselines.
var (
	cafedF2a = Figure{
		ID: "cafed-f2a", Title: "CA-Fed, ToN, Figure 2a: convergence speed against bias, Synthetic",
		Measure: Curves{}, Runs: overKappa(ton("leaf")), Preset: "paper", Seeds: tonSeeds, Rounds: 500,
		Draw: drawAccuracy,
		printed: []printedLead{
			{Data: "leaf", Round: 40, Ahead: []string{kappa("0.1")}, Behind: "unbiased", Points: 2.8},
			{Data: "leaf", Round: 500, Ahead: []string{kappa("100")}, Behind: "more-available", Points: 3.8},
		},
		Says: []Sentence[Measured]{
			{
				"More available is the fastest (taken as: ahead of Unbiased after round 40)", tonTradeOff,
				isAhead("more-available", accuracyIn(40), "unbiased"),
			},
			{
				"Unbiased ends highest, beside κ̄² = 100", tonTradeOff,
				isAhead("unbiased", lastAccuracy,
					"more-available", kappa("0.01"), kappa("0.1"), kappa("1"), kappa("10")),
			},
			{"κ̄² = 100 overlaps with Unbiased at the end", tonTradeOff, overlap},
		},
	}
	cafedF2b = Figure{
		ID: "cafed-f2b", Title: "CA-Fed, ToN, Figure 2b: best κ̄² for each length of training, Synthetic",
		Measure: Curves{}, Runs: overKappa(ton("leaf")), Preset: "paper", Seeds: tonSeeds, Rounds: 500,
		Draw: drawn(cafedBestRows, cafedBestFigure),
		Says: []Sentence[Measured]{{
			"small κ̄² is best for short training, large κ̄² for long", tonTradeOff, bestKappaGrows,
		}},
	}
)

// tonTradeOff is where ToN speaks of figure 2.
const tonTradeOff = "V-B b"

// kappas are the κ̄² of figures 2 and 3.
var kappas = []string{"0.01", "0.1", "1", "10", "100"}

// kappa returns the name of the series of ca-fed with one κ̄².
func kappa(value string) string { return "ca-fed κ̄²=" + value }

// overKappa returns the runs of figure 2: CA-Fed with every κ̄², and the two methods that it resembles for very small
// and very large κ̄². κ̄² is the hyper-parameter in the paper; the released code has bias_const in its place.
func overKappa(c Column) []Training {
	list := runs(c, "more-available", "unbiased")
	for _, k := range kappas {
		column := c
		column.ByMethod = map[string]results.Params{"ca-fed": c.ByMethod["ca-fed"].And("bias-const=none",
			results.Params("kappa="+k))}
		list = append(list, Training{Method: "ca-fed", Column: column, Series: kappa(k)})
	}
	return list
}

// cafedBestRow is the best κ̄² after one round (ToN, figure 2b).
type cafedBestRow struct {
	Round      int     `csv:"round"` // T, the length of training
	N          int     `csv:"n"`     // seeds
	Best       string  `csv:"best"`  // series of CA-Fed with the largest mean test accuracy; the first of equal ones
	Kappa      float64 `csv:"kappa"`
	TestAcc    float64 `csv:"test_acc"` // fraction
	RunnerUp   string  `csv:"runner_up"`
	Difference float64 `csv:"difference"` // between Best and RunnerUp, fraction
}

// cafedBestRows returns the best κ̄² after every round that all lines of ca-fed have.
func cafedBestRows(m Measured) ([]cafedBestRow, error) {
	type at struct {
		line Line
		mean protocol.RoundMean
	}
	rounds := map[int][]at{}
	compared, last := 0, 0
	for _, line := range m.Lines {
		if line.Method != "ca-fed" {
			continue
		}
		compared++
		for _, m := range protocol.MeanCurve(line.Curves, metrics.TestAcc) {
			rounds[m.Round], last = append(rounds[m.Round], at{line, m}), max(last, m.Round)
		}
	}
	if compared < 2 {
		return nil, fmt.Errorf("results: best kappa: %d runs of ca-fed, want two at least", compared)
	}
	var rows []cafedBestRow
	for round := 1; round <= last; round++ {
		found := rounds[round]
		if len(found) < compared {
			continue
		}
		slices.SortStableFunc(found, func(a, b at) int { return cmp.Compare(b.mean.Mean, a.mean.Mean) })
		best, second := found[0], found[1]
		rows = append(rows, cafedBestRow{
			round, best.mean.N, best.line.Series, kappaOf(best.line), best.mean.Mean,
			second.line.Series, best.mean.Mean - second.mean.Mean,
		})
	}
	return rows, nil
}

// kappaOf returns the κ̄² of a line from [overKappa].
func kappaOf(line Line) float64 {
	v, _ := strconv.ParseFloat(line.ByMethod["ca-fed"].Get("kappa"), 64) // it is a number, or the run would have failed
	return v
}

// cafedBestFigure draws the best κ̄², on a logarithmic axis, against the length of training.
func cafedBestFigure(title string, rows []cafedBestRow) plot.Figure {
	s := plot.Series{Step: true}
	for _, r := range rows {
		s.X, s.Y = append(s.X, float64(r.Round)), append(s.Y, r.Kappa)
	}
	chart := plot.LineChart{
		XLabel: "T (rounds)", YLabel: "best κ̄²", LogY: true, YMin: files.Some(0.005), YMax: files.Some(200),
		Series: []plot.Series{s.LastStepDrawn()},
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{chart}}}
}

// overlap asks whether κ̄² = 100 and Unbiased differ by at most one point after the last round.
func overlap(m Measured) Answer {
	var d stats.Estimate
	for i := range m.Lines {
		for j := range m.Lines {
			if m.Lines[i].Series == kappa("100") && m.Lines[j].Series == "unbiased" {
				d = m.Lines[i].minus(&m.Lines[j], lastAccuracy)
			}
		}
	}
	if d.N == 0 {
		return Answer{Verdict: judge.Untold}
	}
	o := judge.Numbers(d, stats.Estimate{}, judge.Within(1))
	return Answer{Verdict: o.Verdict, Seeds: o.Seeds, Ours: pointsOf(d) + " points apart"}
}

// bestKappaGrows asks of every seed whether its best κ̄² is larger in the last tenth of the rounds than in the first,
// as a mean of logarithms.
func bestKappaGrows(m Measured) Answer {
	var grows []bool
	early, late, tenth := 0.0, 0.0, 0
	for k := range m.Figure.Seeds {
		one := m
		one.Lines = nil
		for _, line := range m.Lines {
			if k < len(line.Curves) {
				line.Curves = line.Curves[k : k+1]
				one.Lines = append(one.Lines, line)
			}
		}
		rows, err := cafedBestRows(one)
		if tenth = len(rows) / 10; err != nil || tenth == 0 {
			return Answer{Verdict: judge.Untold}
		}
		mean := func(rows []cafedBestRow) (sum float64) {
			for _, r := range rows {
				sum += math.Log10(r.Kappa) / float64(len(rows))
			}
			return sum
		}
		first, last := mean(rows[:tenth]), mean(rows[len(rows)-tenth:])
		early, late = early+first/float64(len(m.Figure.Seeds)), late+last/float64(len(m.Figure.Seeds))
		grows = append(grows, last > first)
	}
	return share(grows, fmt.Sprintf(
		"best κ̄² about %.2g in the first %d rounds, %.2g in the last %d, mean of logarithms",
		math.Pow(10, early), tenth, math.Pow(10, late), tenth))
}
