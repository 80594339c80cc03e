package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/protocol"
)

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
				ahead("more-available", accuracyIn(40), "unbiased"),
			},
			{
				"Unbiased ends highest, beside κ̄² = 100", tonTradeOff,
				ahead("unbiased", lastAccuracy, "more-available", kappa("0.01"), kappa("0.1"), kappa("1"), kappa("10")),
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

// overlap asks whether κ̄² = 100 and Unbiased differ by at most two standard errors after the last round.
func overlap(m Measured) (Answer, string) {
	switch answer, words := ahead(kappa("100"), lastAccuracy, "unbiased")(m); {
	case answer != Untold:
		return Fails, words
	case words != "" && len(m.Figure.Seeds) > 1:
		return Holds, words
	default:
		return Untold, words
	}
}

// bestKappaGrows asks whether the best κ̄² is larger in the last tenth of the rounds than in the first, as a mean of
// logarithms.
func bestKappaGrows(m Measured) (Answer, string) {
	rows, err := cafedBestRows(m)
	tenth := len(rows) / 10
	if err != nil || tenth == 0 {
		return Untold, ""
	}
	mean := func(rows []cafedBestRow) (sum float64) {
		for _, r := range rows {
			sum += math.Log10(r.Kappa) / float64(len(rows))
		}
		return sum
	}
	early, late := mean(rows[:tenth]), mean(rows[len(rows)-tenth:])
	return isPositive(late - early), fmt.Sprintf("best κ̄² about %.2g in the first %d rounds, %.2g in the last %d",
		math.Pow(10, early), tenth, math.Pow(10, late), tenth)
}
