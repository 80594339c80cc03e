package papers

import (
	"fmt"
	"io"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// CAFedClaim is a difference between two lines of a figure that CA-Fed's papers state.
type CAFedClaim struct {
	Figure, Data string
	X            files.Optional // where the figure varies something
	Round        int            // 0: after the last
	Ahead        []string       // series; of several the best one
	Behind       string
	Points       float64 // by which it is ahead, in percentage points of test accuracy
}

// cafedClaims are those of INFOCOM, section V-B (figure 3: from table I, time average), and of ToN, section V-B.
var cafedClaims = []CAFedClaim{
	{Figure: "cafed-i3", Data: "binary", Ahead: []string{"ca-fed"}, Behind: "f3ast", Points: 0.89},
	{Figure: "cafed-i3", Data: "mnist", Ahead: []string{"ca-fed"}, Behind: "f3ast", Points: 1.24},
	{Figure: "cafed-f1a", Data: "leaf", Ahead: []string{"ca-fed"}, Behind: "adafed", Points: 1.56},
	{Figure: "cafed-f1b", Data: "mnist", Ahead: []string{"ca-fed"}, Behind: "adafed", Points: 0.94},
	{Figure: "cafed-f1c", Data: "cifar10", Ahead: []string{"ca-fed"}, Behind: "adafed", Points: 1.32},
	{Figure: "cafed-f2a", Data: "leaf", Round: 40, Ahead: []string{"ca-fed κ̄²=0.1"}, Behind: "unbiased", Points: 2.8},
	{Figure: "cafed-f2a", Data: "leaf", Round: 500, Ahead: []string{"ca-fed κ̄²=100"}, Behind: "more-available", Points: 3.8},
	{Figure: "cafed-f3", Data: "leaf", X: files.Some(0.25), Ahead: []string{"ca-fed κ̄²=1", "ca-fed κ̄²=10"}, Behind: "unbiased", Points: 1.6},
	{Figure: "cafed-f3", Data: "leaf", X: files.Some(0.5), Ahead: []string{"ca-fed κ̄²=1", "ca-fed κ̄²=10"}, Behind: "unbiased", Points: 1.2},
	{Figure: "cafed-f3", Data: "leaf", X: files.Some(0.75), Ahead: []string{"ca-fed κ̄²=1", "ca-fed κ̄²=10"}, Behind: "unbiased", Points: 1},
	{Figure: "cafed-f5d", Data: "mnist", Ahead: []string{"ca-fed"}, Behind: "adafed", Points: 0.6},
}

// cafedWords are what the papers say of a figure without a number.
var cafedWords = map[string]string{
	"cafed-i1":  "excluded clients tend to be those with low average availability or high correlation",
	"cafed-i2":  "all but Unbiased depart from the target; CA-Fed favours the more available clients",
	"cafed-f1d": "Unbiased equalizes; More available excludes the less available; AdaFed and CA-Fed favour the more available; F3AST favours the less available, correlated",
	"cafed-f2a": "More available is fastest and ends lowest, Unbiased ends highest; κ̄² = 100 overlaps with Unbiased",
	"cafed-f2b": "small κ̄² is best for short training, large κ̄² for long",
	"cafed-f3":  "at γ = δ = 0 More available and κ̄² = 0.01 are best, at 1 κ̄² = 100 and Unbiased",
	"cafed-f4a": "both errors fall with t'; that of λ is larger",
	"cafed-f4b": "CA-Fed is ahead of all baselines for t' ≥ 100",
	"cafed-f5a": "all clients of clusters 9, 8, 7, 6 are left out",
	"cafed-f5b": "all clients of clusters 9, 7, 6 are left out, those of 8 are kept",
	"cafed-f5c": "clients of the correlated clusters are left out in part",
}

// CAFedClaimRow is a claim beside ours.
type CAFedClaimRow struct {
	Figure string         `csv:"figure"`
	Data   string         `csv:"data"`
	X      files.Optional `csv:"x"`
	Round  int            `csv:"round"` // of ours
	Ahead  string         `csv:"ahead"`
	Behind string         `csv:"behind"`
	N      int            `csv:"n"`
	Points files.Optional `csv:"points"` // ours, percentage points; missing where a run or the round is
	Std    files.Optional `csv:"std"`    // sample standard deviation over the seeds of the difference of the same seed's two runs
	Paper  float64        `csv:"paper"`
}

// CAFedClaimRows sets the claims of a figure beside its runs, which have the same seeds in the same order.
func CAFedClaimRows(figure string, runs []CAFedRun) []CAFedClaimRow {
	var rows []CAFedClaimRow
	for _, c := range cafedClaims {
		if c.Figure != figure {
			continue
		}
		row := CAFedClaimRow{Figure: c.Figure, Data: c.Data, X: c.X, Round: c.Round, Ahead: strings.Join(c.Ahead, " or "), Behind: c.Behind, Paper: c.Points}
		if behind := c.find(runs, c.Behind); behind != nil {
			for _, series := range c.Ahead {
				if ahead := c.find(runs, series); ahead != nil {
					row.compare(series, ahead.Curves, behind.Curves, c.Round)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// find returns the run of a series a claim is about.
func (c *CAFedClaim) find(runs []CAFedRun, series string) *CAFedRun {
	for i, r := range runs {
		if r.Data == c.Data && r.Series == series && (!c.X.Valid || c.X.Value == r.X) {
			return &runs[i]
		}
	}
	return nil
}

// compare puts the difference of two runs into the row, if it is the largest so far.
func (r *CAFedClaimRow) compare(series string, ahead, behind [][]results.CurveRow, round int) {
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

// accuracyAfter returns the row of a round, the last one for 0.
func accuracyAfter(rows []results.CurveRow, round int) results.CurveRow {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].TestAcc.Valid && (round == 0 || rows[i].Round == round) {
			return rows[i]
		}
	}
	return results.CurveRow{}
}

// WriteCAFedClaims prints what the papers say of a figure, and the claims beside ours.
func WriteCAFedClaims(w io.Writer, figure string, rows []CAFedClaimRow) error {
	var b strings.Builder
	if words, ok := cafedWords[figure]; ok {
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
		fmt.Fprintf(&b, "%s: %s over %s, percentage points: ours %s, paper %+.2f\n", place, r.Ahead, r.Behind, ours, r.Paper)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
