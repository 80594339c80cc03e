package nightly

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/run/conditions"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels/reference"
	"rollcall/results/stats"
	"rollcall/results/track"
)

// suiteVersion is a part of a machine's fingerprint. Raise it with every change of what is measured: times before and
// after the change are not comparable.
const suiteVersion = 2

// Suite is how much is measured. Histories are made of the standard suite; tests use a smaller one.
type Suite struct {
	Data    []string // data sets whose shapes and nets are measured
	Clients int      // all of them are active in every round, so that all rounds have the same work
	Steps   int      // E, the local steps of a client in a round
	Batch   int      // B, the samples of a local step
	Train   int      // training samples, in equal parts among the clients
	Test    int      // test samples, all in every evaluation
	Samples int      // samples of every metric
	Passes  int      // the samples are taken in so many passes, see [Bench.Measure]

	SampleTime time.Duration // a sample of a short metric repeats its call for so long
}

// StandardSuite returns the suite of the histories, with as many clients as are active in a round of `rollcall bench`.
// It is a variable so that tests of whole command lines need not measure for minutes.
var StandardSuite = func() Suite {
	return Suite{
		Data: []string{"cifar10", "svhn", "cinic10"}, Clients: 37, Steps: 5, Batch: 128, Train: 8192, Test: 512,
		Samples: 20, Passes: 10, SampleTime: 20 * time.Millisecond,
	}
}

// Name returns the suite's part of the fingerprint. Samples and passes do not change a time, and are not a part of it.
func (s *Suite) Name() string {
	standard := StandardSuite()
	standard.Samples, standard.Passes = s.Samples, s.Passes
	kind := "standard"
	if fmt.Sprint(*s) != fmt.Sprint(standard) {
		kind = fmt.Sprintf("N%d-E%d-B%d-train%d-test%d", s.Clients, s.Steps, s.Batch, s.Train, s.Test)
	}
	return fmt.Sprintf("%s/%d", kind, suiteVersion)
}

// Validate reports the first impossible number, by the name of its flag.
func (s *Suite) Validate() error {
	switch least := track.LeastSamples; {
	case s.Samples < least || s.Samples > 1000: // a metric with fewer samples does not count in its night
		return settings.Usagef("--samples %d: want %d … 1000", s.Samples, least)
	case s.Passes < 1 || s.Passes > s.Samples: // every pass takes at least one sample
		return settings.Usagef("--passes %d: want 1 … %d, the samples", s.Passes, s.Samples)
	case s.Clients < 1 || s.Clients*s.Batch > s.Train: // every client has samples for a whole batch
		return settings.Usagef("--clients %d: want 1 … %d", s.Clients, s.Train/s.Batch)
	}
	return nil
}

// Bench measures a suite on a machine.
type Bench struct {
	Suite   Suite
	Machine run.Machine
	Stderr  io.Writer

	values []track.Measurement // the samples so far
	repeat map[string]parts    // by metric: the calls of a sample

	// The reference loop on all threads of the engine, and on one. nil: the engine is that of a card, whose times no
	// loop on a processor explains.
	all, one   *reference.Loop
	counters   *conditions.Counters // of instructions and cycles; nil: not to be had, or the engine is that of a card
	conditions track.Conditions     // under which the night is measured
}

// Identify opens an engine to see what it is, and returns the machine with its fingerprint. It measures nothing.
func (b *Bench) Identify() (m track.Machine, err error) {
	c, err := b.Machine.Choose()
	if err != nil {
		return m, err
	}
	// Before an engine puts load on the machine.
	b.conditions.Load, b.conditions.CardUsers = b.Machine.Others(context.Background())
	w, err := b.workload(b.Suite.Data[0]) // any: an engine has the same name, device and precision with every net
	if err != nil {
		return m, err
	}
	e, _, err := b.Machine.OpenEngine(w.model, w.set.Train, nil, run.Demand{Batch: b.Suite.Batch},
		func(_, what string) { run.Logf(b.Stderr, "%s\n", what) })
	if err != nil {
		return m, err
	}
	info := e.Info()
	if err := e.Close(); err != nil {
		return m, err
	}
	m, err = machineOf(info, c, b.Machine.Threads)
	m.Suite = b.Suite.Name()
	return m, err
}

// Measure measures all metrics, in passes. Every pass takes some samples of every metric, with engines and buffers of
// its own: no night depends on where one of them lies in memory, and no disturbance of a minute hits one metric alone.
func (b *Bench) Measure(ctx context.Context) ([]track.Measurement, error) {
	b.values, b.repeat = nil, map[string]parts{}
	c, err := b.Machine.Choose()
	if err != nil {
		return nil, err
	}
	var work []*workload
	for _, data := range b.Suite.Data {
		w, err := b.workload(data)
		if err != nil {
			return nil, err
		}
		work = append(work, w)
	}
	if !c.CUDA {
		if err := b.loops(); err != nil {
			return nil, err
		}
		if b.counters, err = conditions.OpenCounters(conditions.Instructions, conditions.Cycles); err != nil {
			run.Logf(b.Stderr, "track: instructions and cycles are left out: %v\n", err)
		}
		defer b.counters.Close()
	}
	begun := time.Now()
	ticks, known := conditions.ReadTicks(conditions.TicksPath)
	for pass := range b.Suite.Passes {
		// The passes take equal parts of the samples, or parts that differ by one.
		samples := b.Suite.Samples*(pass+1)/b.Suite.Passes - b.Suite.Samples*pass/b.Suite.Passes
		for i, w := range work {
			if err := b.rounds(ctx, w, samples, i == 0); err != nil {
				return nil, err
			}
		}
		var kernels []kernel
		if !c.CUDA { // a card times its own kernels, see profiled
			if kernels, err = b.cpuKernels(); err != nil {
				return nil, err
			}
		}
		for range samples {
			for _, k := range kernels {
				m := metric{"kernel/" + k.name, "µs", 1, b.one}
				if err := b.short(ctx, m, func() error { k.run(); return nil }); err != nil {
					return nil, err
				}
			}
		}
		run.Logf(b.Stderr, "track: pass %d of %d, %.0f s\n", pass+1, b.Suite.Passes, time.Since(begun).Seconds())
	}
	if now, ok := conditions.ReadTicks(conditions.TicksPath); known && ok {
		b.conditions.Steal, b.conditions.Others = conditions.Steal(ticks, now), conditions.Others(ticks, now)
	}
	if mhz := cpuMHz("/proc/cpuinfo"); !c.CUDA && mhz > 0 {
		b.conditions.ClockMHz = files.Some(mhz)
	}
	return b.values, nil
}

// Conditions returns the conditions of the night that was measured.
func (b *Bench) Conditions() track.Conditions { return b.conditions }

// rounds measures a number of samples of each metric of one net, on an engine of its own. With server it measures the
// server's arithmetic and the engine's own kernel times as well, which one net is enough for.
func (b *Bench) rounds(ctx context.Context, w *workload, samples int, server bool) (err error) {
	engine, _, err := b.Machine.OpenEngine(w.model, w.set.Train, w.set.Test, run.Demand{Batch: b.Suite.Batch},
		func(string, string) {}) // Identify has written the notices
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, engine.Close()) }()
	ses := run.SessionOn(w.set, w.model, engine)
	f, err := ses.Federate(ctx, w.settings, 1, engine)
	if err != nil {
		return err
	}
	defer f.Method.Close()
	// The measured round has all clients active, whatever the availability of the settings says. fedavg-active reads no
	// P. Without Next no batch plan is made in advance: the time of a round includes its plans.
	r := algos.Round{P: make([]float64, w.settings.Clients), LR: w.settings.LR, ServerLR: w.settings.ServerLR}
	for i := range b.Suite.Clients {
		r.Active = append(r.Active, i)
	}
	round := func() error {
		_, err := f.Method.Round(ctx, r)
		r.T++ // every round has batches of its own
		return err
	}
	bank, err := engine.NewBank(1 + b.Suite.Clients)
	if err != nil {
		return err
	}
	defer bank.Free()
	for i := range bank.Rows() { // memory that was never written is one page, which every cache holds
		if err := engine.Load(nets.Row{Bank: bank, Index: i}, f.W0); err != nil {
			return err
		}
	}
	a, err := b.alone(ctx, w, engine)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, a.close()) }()
	// The first calls of a new engine find memory and make graphs.
	for _, warm := range []func() error{a.step, a.evaluation} {
		if err := warm(); err != nil {
			return err
		}
	}
	if _, again := b.repeat["step/"+w.set.Name]; !again { // the first round of a night also maps memory and loads code
		if err := round(); err != nil {
			return err
		}
	}
	for range samples {
		if err := b.sample(ctx, metric{"round/" + w.set.Name, "ms", 1, b.all}, parts{1, 1}, round); err != nil {
			return err
		}
		if err := b.short(ctx, metric{"step/" + w.set.Name, "ms", a.steps, b.one}, a.step); err != nil {
			return err
		}
		if err := b.short(ctx, metric{"eval/" + w.set.Name, "ms", 1, b.one}, a.evaluation); err != nil {
			return err
		}
		if !server {
			continue
		}
		if err := b.server(ctx, engine, bank); err != nil {
			return err
		}
		if profiler, ok := engine.(nets.Profiler); ok {
			if err := b.profiled(ctx, profiler, engine.Info().Engine, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// server measures the arithmetic of the server: the mean of the active clients' rows, and the norm of one row.
func (b *Bench) server(ctx context.Context, e nets.Engine, bank nets.Bank) error {
	var rows []nets.Row
	var c []float64
	for i := range bank.Rows() {
		rows, c = append(rows, nets.Row{Bank: bank, Index: i}), append(c, 1/float64(bank.Rows()))
	}
	// The engine of a card returns before it is done. Norm needs a number, and so waits for it.
	norm := func() error { _, err := nets.Norm(e, rows[1]); return err }
	combine := func() error {
		if err := e.Combine(rows[1], c, rows); err != nil {
			return err
		}
		return norm()
	}
	if err := b.short(ctx, metric{"server/combine", "µs", 1, b.all}, combine); err != nil {
		return err
	}
	return b.short(ctx, metric{"server/norm", "µs", 1, b.all}, norm)
}

// Warnings returns a line for each reason not to trust a night of a machine: load before it, other users of the card,
// and wall times that differ too much.
func Warnings(m track.Machine, n track.Night) []string {
	var worst string
	var p10, p90 files.Optional
	wide := 0 // metrics that differ too much
	for _, v := range n.Values {
		if _, time := units[v.Unit]; !time {
			continue
		}
		low, high := stats.Quantile(v.Wall, 0.1), stats.Quantile(v.Wall, 0.9)
		if !conditions.Differ(low, high) {
			continue
		}
		if wide++; wide == 1 || high.Value/low.Value > p90.Value/p10.Value {
			worst, p10, p90 = v.Metric, low, high
		}
	}
	what := "the wall times of " + worst
	if wide > 1 {
		what += fmt.Sprintf(", the worst of %d metrics,", wide)
	}
	return conditions.Warnings(n.Load, m.Threads, n.CardUsers, what, p10, p90)
}
