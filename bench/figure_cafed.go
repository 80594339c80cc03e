package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/papers"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

// drawCAFed returns what writes the CSV of a figure of CA-Fed, and its drawing; what the papers say goes to f.beside.
func (a *app) drawCAFed(ctx context.Context, figure *papers.Figure, f *figureFlags, given *pflag.FlagSet, p *run.Pool) (csv func(path string) error, drawn plot.Figure, err error) {
	if figure.Shows == papers.EstimatorError {
		f.beside = a.besidePaper(figure, nil)
		rows, err := f.estimatorErrors(figure, given)
		return csvWriter(rows), papers.CAFedSweepFigure(figure.Title, rows, map[string]string{"pi_error": "mean |π̂ − π|", "lambda_error": "mean |λ̂ − λ|"}), err
	}
	done, err := a.figureRuns(ctx, figure, f, given, p)
	if err != nil {
		return nil, drawn, err
	}
	runs := make([]papers.CAFedRun, len(done))
	for i, r := range done {
		runs[i] = papers.CAFedRun{Data: r.Data, Method: r.Method, Series: r.Series, X: r.X, Curves: r.Curves}
		if figure.Shows == papers.RunningMean {
			for k, curve := range r.Curves {
				runs[i].Curves[k] = results.RunningMean(curve)
			}
		}
	}
	f.beside = a.besidePaper(figure, runs)
	switch figure.Shows {
	case papers.Curves, papers.RunningMean:
		what := "test accuracy"
		if figure.Shows == papers.RunningMean {
			what = "time-average test accuracy"
		}
		rows, err := papers.CAFedCurveRows(runs)
		return csvWriter(rows), papers.CAFedCurveFigure(figure.Title, what, rows), err
	case papers.Activity:
		rows := papers.CAFedActivityRows(done[0].Decisions[0])
		if done[0].Availability == "clusters" {
			f.beside = a.besideClusters(f.beside, rows, done[0].settings.Clusters)
		}
		return csvWriter(rows), papers.CAFedActivityFigure(figure.Title, rows), nil
	case papers.ImportanceShare:
		rows, err := perMethod(done, papers.CAFedImportanceRows)
		return csvWriter(rows), papers.CAFedShareFigure(figure.Title, rows), err
	case papers.CumulativeImportance:
		rows, err := perMethod(done, papers.CAFedGroupRows)
		return csvWriter(rows), papers.CAFedGroupFigure(figure.Title, rows), err
	case papers.BestKappa:
		rows, err := papers.CAFedBestRows(runs)
		return csvWriter(rows), papers.CAFedBestFigure(figure.Title, rows), err
	case papers.FinalAccuracy:
		rows, err := papers.CAFedFinalRows(runs, figure.Axis)
		return csvWriter(rows), papers.CAFedSweepFigure(figure.Title, rows, map[string]string{string(results.TestAcc): "test accuracy after the last round (%)"}), err
	}
	return nil, drawn, fmt.Errorf("figure %s: nobody draws it", figure.ID)
}

// perMethod returns the rows of every run.
func perMethod[T any](runs []figureRun, of func(method string, seeds [][]results.DecisionRow) ([]T, error)) (rows []T, err error) {
	for _, r := range runs {
		more, err := of(r.Method, r.Decisions)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// besidePaper returns what prints what the paper says of a figure beside ours, and writes the numbers among it.
func (a *app) besidePaper(figure *papers.Figure, runs []papers.CAFedRun) func(path string) error {
	return func(path string) error {
		rows := papers.CAFedClaimRows(figure.ID, runs)
		if len(rows) > 0 {
			path += "-paper.csv"
			if err := files.WriteCSVFile(path, rows); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(a.stdout, path); err != nil {
				return err
			}
		}
		return papers.WriteCAFedClaims(a.stdout, figure.ID, rows)
	}
}

// besideClusters adds which clusters were left out.
func (a *app) besideClusters(beside func(string) error, rows []papers.CAFedActivityRow, clusters int) func(string) error {
	return func(path string) error {
		if err := beside(path); err != nil {
			return err
		}
		var words []string
		for c, share := range papers.LeftOut(rows, clusters) {
			words = append(words, fmt.Sprintf("%d: %.0f %%", c, 100*share))
		}
		_, err := fmt.Fprintf(a.stdout, "ours: share of the rounds in which the clients of a cluster were left out, %s\n", strings.Join(words, ", "))
		return err
	}
}

// estimatorErrors returns how far the estimators are from the truth before the first round, when they have seen the history alone,
// and after the last one.
func (f *figureFlags) estimatorErrors(figure *papers.Figure, given *pflag.FlagSet) ([]papers.CAFedSweepRow, error) {
	var rows []papers.CAFedSweepRow
	for _, r := range figure.Runs {
		s, err := f.Settings("figure "+figure.ID, figure.Rounds, r.Column, r.Method, given)
		if err != nil {
			return nil, err
		}
		errorsAt := map[int]*[2][]float64{0: {}, s.Rounds: {}} // of π̂ and λ̂, by seed
		for _, seed := range figure.Seeds {
			process, err := settings.NewProcess(&s, slices.Repeat([]float64{1}, s.Clients), nil, seed)
			if err != nil {
				return nil, err
			}
			pi, lambda := process.Stationary()
			e, err := algos.NewEstimator(&algos.Bayes{Prior: int(r.X), Form: algos.Preset(s.Preset)}, seed, pi, lambda)
			if err != nil {
				return nil, err
			}
			for t := 0; t <= s.Rounds; t++ {
				if at := errorsAt[t]; at != nil {
					at[0], at[1] = append(at[0], meanDistance(e.Pi(), pi)), append(at[1], meanDistance(e.Lambda(), lambda))
				}
				if t < s.Rounds {
					e.Observe(process.Active(t))
				}
			}
		}
		for k, what := range []string{"pi_error", "lambda_error"} {
			for _, round := range []int{0, s.Rounds} {
				x := errorsAt[round][k]
				rows = append(rows, papers.CAFedSweepRow{
					What: what, Series: fmt.Sprintf("after %d rounds", round), Axis: figure.Axis, X: r.X, Round: round,
					N: len(x), Mean: stats.Mean(x).Value, Std: stats.SampleStd(x),
				})
			}
		}
	}
	return rows, nil
}

// meanDistance returns the mean of |a − b|.
func meanDistance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i]-b[i]) / float64(len(a))
	}
	return sum
}
