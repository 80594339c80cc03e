package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"rollcall/nets"
)

// phases is an engine that measures how long its callers wait for it.
type phases struct {
	nets.Engine
	train, combine, evaluate time.Duration
	kernels                  []nets.KernelTime // nil: the engine does not know
}

func (p *phases) wait(into *time.Duration, started time.Time) { *into += time.Since(started) }

// Train implements [nets.Engine].
func (p *phases) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	defer p.wait(&p.train, time.Now())
	return p.Engine.Train(ctx, work)
}

// Combine implements [nets.Engine].
func (p *phases) Combine(dst nets.Row, c []float64, src []nets.Row) error {
	defer p.wait(&p.combine, time.Now())
	return p.Engine.Combine(dst, c, src)
}

// Norm implements [nets.Engine].
func (p *phases) Norm(r nets.Row) (float64, error) {
	defer p.wait(&p.combine, time.Now())
	return p.Engine.Norm(r)
}

// Evaluate implements [nets.Engine].
func (p *phases) Evaluate(ctx context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	defer p.wait(&p.evaluate, time.Now())
	return p.Engine.Evaluate(ctx, jobs)
}

// profile begins to time the engine's kernels, if it can; the function returned ends that.
func (p *phases) profile() (end func() error, err error) {
	engine, ok := p.Engine.(nets.Profiler)
	if !ok {
		return func() error { return nil }, nil
	}
	return func() error {
		p.kernels = engine.Kernels()
		return engine.Profile(false)
	}, engine.Profile(true)
}

// write prints where `rounds` rounds that took `total` went, and the kernels of an engine that knows them. Plans are what is
// left: choosing clients, batch plans, the method's own arithmetic.
func (p *phases) write(w io.Writer, rounds int, total time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, d time.Duration) {
		_, _ = fmt.Fprintf(t, "%s\t%.3f\t%.1f\t\n", name, 1e3*d.Seconds()/float64(rounds), 100*d.Seconds()/total.Seconds())
	}
	_, _ = fmt.Fprint(t, "\nphase\tms per round\t% of rounds\t\n")
	line("train", p.train)
	line("combine", p.combine)
	line("plans", total-p.train-p.combine)
	if err := t.Flush(); err != nil || p.kernels == nil {
		return err
	}
	var all time.Duration
	for _, k := range p.kernels {
		all += k.Time
	}
	_, _ = fmt.Fprint(t, "\nkernel\tlaunches\tµs each\tms per round\t% of kernels\t\n")
	for _, k := range p.kernels {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.1f\t%.3f\t%.1f\t\n", k.Kernel, k.Launches, 1e6*k.Time.Seconds()/float64(k.Launches), 1e3*k.Time.Seconds()/float64(rounds), 100*k.Time.Seconds()/max(all.Seconds(), 1e-9))
	}
	return t.Flush()
}
