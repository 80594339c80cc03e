package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/stats"
)

// Phases is a [nets.Engine] that measures how long its callers wait for it, for bench --profile.
type Phases struct {
	nets.Engine
	train, combine time.Duration
	kernels        []nets.KernelTime // nil: the engine does not time its kernels
	evaluation     time.Duration     // time to evaluate evalImages test images
	evalImages     int
	writing        time.Duration // time to write a curve.csv of curveRows rows
}

// curveRows is the length of the curve whose writing is measured: 2000 rounds, evaluated every ten.
const curveRows = 200

// wait adds the time since started.
func (p *Phases) wait(into *time.Duration, started time.Time) { *into += time.Since(started) }

// Train implements [nets.Engine].
func (p *Phases) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	defer p.wait(&p.train, time.Now())
	return p.Engine.Train(ctx, work)
}

// Combine implements [nets.Engine].
func (p *Phases) Combine(dst nets.Row, c []float64, src []nets.Row) error {
	defer p.wait(&p.combine, time.Now())
	return p.Engine.Combine(dst, c, src)
}

// CombineBuffers implements [nets.Engine].
func (p *Phases) CombineBuffers(dst nets.Row, c []float64, src []nets.Row) error {
	defer p.wait(&p.combine, time.Now())
	return p.Engine.CombineBuffers(dst, c, src)
}

// Dot implements [nets.Engine].
func (p *Phases) Dot(a, b nets.Row) (float64, error) {
	defer p.wait(&p.combine, time.Now())
	return p.Engine.Dot(a, b)
}

// profile starts the engine's timing of its kernels, if it has one. end stops it and keeps the times.
func (p *Phases) profile() (end func() error, err error) {
	engine, ok := p.Engine.(nets.Profiler)
	if !ok {
		return func() error { return nil }, nil
	}
	return func() error {
		p.kernels = engine.Kernels()
		return engine.Profile(false)
	}, engine.Profile(true)
}

// write measures how long it takes to write a curve below dir: the median of five times.
func (p *Phases) write(dir string, like results.CurveRow) error {
	dir, err := os.MkdirTemp(dir, ".curve-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // if it stays, it is hidden
	rows := make([]results.CurveRow, curveRows)
	for i := range rows {
		rows[i] = like
		// Numbers with as many digits as measured ones have.
		rows[i].Round, rows[i].ElapsedSec = 10*i, float64(i)+1/3.
		r := &rows[i]
		for j, v := range []*files.Optional{&r.TrainLoss, &r.TrainAcc, &r.TestLoss, &r.TestAcc} {
			*v = files.Some(1 / float64(3+i+j))
		}
	}
	times := make([]float64, 5)
	for i := range times {
		started := time.Now()
		if err := results.WriteCurve(filepath.Join(dir, results.CurveFile), rows); err != nil {
			return err
		}
		times[i] = time.Since(started).Seconds()
	}
	p.writing = time.Duration(stats.Median(times).Value * float64(time.Second))
	return nil
}

// Print prints where the time of so many rounds went, `total` together, what an evaluation takes in addition, and the
// engine's kernels if it times them. The phase "plans" is the rest of a round: choosing clients, the batch plans that
// training did not hide, and the method's own arithmetic.
func (p *Phases) Print(w io.Writer, rounds int, total time.Duration) error {
	// Three tables of different columns in one text: files.TextTable would align them with one another.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	phase := func(name string, d time.Duration) {
		_, _ = fmt.Fprintf(t, "%s\t%.3f\t%.1f\t\n", name, ms(d)/float64(rounds), 100*d.Seconds()/total.Seconds())
	}
	_, _ = fmt.Fprint(t, "\nphase\tms per round\t% of rounds\t\n")
	phase("plans", total-p.train-p.combine)
	// Train waits for the upload of the batch plans, which has a line of its own.
	train := p.train
	for _, k := range p.kernels {
		if k.Kernel == "upload" {
			phase("upload", k.Time)
			train -= k.Time
		}
	}
	phase("train", train)
	phase("combine", p.combine)
	_, _ = fmt.Fprint(t, "\noutside the rounds\tms per evaluation\t\n")
	_, _ = fmt.Fprintf(t, "evaluate %d test images\t%.3f\t\n", p.evalImages, ms(p.evaluation))
	_, _ = fmt.Fprintf(t, "write %s of %d rows\t%.3f\t\n", results.CurveFile, curveRows, ms(p.writing))
	if p.kernels != nil {
		printKernels(t, p.kernels, rounds)
	}
	return t.Flush()
}

// printKernels prints kernels and copies, which come with the longest first, and their sum.
func printKernels(w io.Writer, kernels []nets.KernelTime, rounds int) {
	all := nets.KernelTime{Kernel: "all"}
	for _, k := range kernels {
		all.Launches += k.Launches
		all.Time += k.Time
		all.FLOP += k.FLOP
		all.Bytes += k.Bytes
	}
	// rate prints an amount per second, or a dash if there is none or no time was measured.
	rate := func(amount, unit float64, of time.Duration) string {
		if amount == 0 || of <= 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f", amount/unit/of.Seconds())
	}
	_, _ = fmt.Fprint(w, "\nkernel\tlaunches\tµs each\tms per round\t% of kernels\tTFLOP/s\tGB/s\t\n")
	for _, k := range append(kernels[:len(kernels):len(kernels)], all) { // a copy: the caller's array stays as it is
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.1f\t%.3f\t%.1f\t%s\t%s\t\n", k.Kernel, k.Launches,
			1e3*ms(k.Time)/float64(max(1, k.Launches)), ms(k.Time)/float64(rounds),
			100*k.Time.Seconds()/max(all.Time.Seconds(), 1e-9), rate(k.FLOP, 1e12, k.Time), rate(k.Bytes, 1e9, k.Time))
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
