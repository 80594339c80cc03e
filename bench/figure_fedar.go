package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// mostStale is the number of rounds that client 0 of FedAR's Figure 1 is away at most.
const mostStale = 6

// drawFedAR returns what writes the CSV of a figure of FedAR, and its drawing.
func (a *app) drawFedAR(ctx context.Context, figure *papers.Figure, f *figureFlags, given *pflag.FlagSet, p *run.Pool) (csv func(path string) error, drawn plot.Figure, err error) {
	if figure.Shows == papers.StaleContribution {
		rows, err := a.contributions(ctx, figure, f, given, p)
		f.beside = func(string) error {
			_, err := fmt.Fprintf(a.stdout, "share of client 0: %s\nthe paper: it falls as the staleness grows, and is negative at stale 6\n", strings.Join(papers.FedARShapleyWords(rows), ", "))
			return err
		}
		return csvWriter(rows), papers.FedARShapleyFigure(figure.Title, rows), err
	}
	done, err := a.figureRuns(ctx, figure, f, given, p)
	if err != nil {
		return nil, drawn, err
	}
	runs := make([]papers.FedARRun, len(done))
	for i, r := range done {
		runs[i] = papers.FedARRun{Data: r.Data, Method: r.Method, X: r.X, Curves: r.Curves, Clients: r.Clients}
		runs[i].Set = r.Set.Words(" ")
	}
	switch figure.Shows {
	case papers.LossAndAccuracy:
		rows, err := papers.FedARCurveRows(runs)
		return csvWriter(rows), papers.FedARCurveFigure(figure.Title, rows), err
	case papers.ClientDistribution:
		rows, err := papers.FedARDistributionRows(runs)
		return csvWriter(rows), papers.FedARDistributionFigure(figure.Title, rows), err
	case papers.FinalLossAndAccuracy:
		rows, err := papers.FedARFinalRows(runs, figure.Axis, results.ProtocolRounds)
		labels := map[string]string{string(results.TrainLoss): "training loss", string(results.TestAcc): "test accuracy (%)"}
		return csvWriter(rows), papers.CAFedSweepFigure(figure.Title, rows, labels), err
	}
	return nil, drawn, fmt.Errorf("figure %s: nobody draws it", figure.ID)
}

// contributions returns the Shapley values of five clients for each level of staleness and each seed.
func (a *app) contributions(ctx context.Context, figure *papers.Figure, f *figureFlags, given *pflag.FlagSet, p *run.Pool) (rows []papers.FedARShapleyRow, err error) {
	for _, flag := range []string{"methods", "data", "eval-every"} {
		if given.Changed(flag) {
			return nil, settings.Usagef("--%s: of no use with figure %s, want it not at all", flag, figure.ID)
		}
	}
	s, err := f.Settings("figure "+figure.ID, figure.Rounds, figure.Runs[0].Column, figure.Runs[0].Method, given)
	if err != nil {
		return nil, err
	}
	if s.Rounds <= mostStale || s.Clients > 10 {
		return nil, settings.Usagef("figure %s: --rounds %d --clients %d: want more than %d rounds and at most 10 clients, whose coalitions are 1024", figure.ID, s.Rounds, s.Clients, mostStale)
	}
	type level struct {
		stale      int
		seed       uint32
		accuracies []float64
		job        run.Job
	}
	var levels []*level
	var jobs [][]*run.Job
	for stale := range mostStale + 1 {
		for _, seed := range figure.Seeds {
			v := &level{stale: stale, seed: seed}
			v.job = run.Job{Run: fmt.Sprint(stale, seed), Do: func(ctx context.Context, l *run.Session) (err error) {
				v.accuracies, err = run.Coalitions(ctx, l, s, seed, stale)
				return err
			}}
			levels, jobs = append(levels, v), append(jobs, []*run.Job{&v.job})
		}
	}
	err = p.Run(ctx, jobs, func(i int) error {
		v := levels[i]
		if v.job.Err != nil {
			return fmt.Errorf("stale %d, seed %d: %w", v.stale, v.seed, v.job.Err)
		}
		of, err := papers.FedARShapleyRows(v.stale, v.seed, v.accuracies)
		if err != nil {
			return err
		}
		rows = append(rows, of...)
		run.Logf(p.Stderr, "stale %d, seed %d: test accuracy %.1f %% without and %.1f %% with the last round of all, %d coalitions\n", v.stale, v.seed, 100*of[0].Without, 100*of[0].With, len(v.accuracies))
		return nil
	})
	return rows, err
}
