package run

import (
	"context"
	"time"

	"rollcall/bench/run/conditions"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/memory"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels/reference"
	"rollcall/nets/gpu"
	"rollcall/results"
)

// SpeedTest is the measurement of the bench command: FedAvg over the active clients under stationary availability.
type SpeedTest struct {
	Settings settings.Settings
	Seed     uint32
	Warmup   int           // rounds before the first one that is measured
	Limit    time.Duration // no round begins after it, once minRounds are measured; the evaluation has what is left
	Machine  Machine
	NoEval   bool    // do not evaluate the model after the rounds
	Format   string  // what the command prints: text, csv, json or gobench
	Profile  bool    // measure kernels and the writing of a curve too
	Phases   *Phases // where the time went, set by Measure

	load, cardUsers files.Optional // set by Look
}

// Look reads who else uses the machine. Callers look before they read data and open engines, which are load too.
func (b *SpeedTest) Look(ctx context.Context) { b.load, b.cardUsers = b.Machine.Others(ctx) }

// Others returns who else uses the machine: its load, and the other processes on the card that --device asks for.
func (m *Machine) Others(ctx context.Context) (load, cardUsers files.Optional) {
	load = conditions.Load(conditions.LoadPath)
	if c, err := m.Choose(); err == nil && c.CUDA {
		if cards, err := gpu.Cards(); err == nil { // whoever opens a card reports the error
			cardUsers = conditions.CardUsers(ctx, cards[c.Card].Name)
		}
	}
	return load, cardUsers
}

// Warnings returns a line for each reason not to trust the speeds of a row.
func (b *SpeedTest) Warnings(row *results.BenchRow) []string {
	return conditions.Warnings(row.LoadAverage, b.Machine.Threads, row.CardUsers, "the rounds' client-steps/s",
		row.StepsPerSecP10, row.StepsPerSecP90)
}

// minRounds is the least number of rounds that a median is taken of.
const minRounds = 3

// FallBack changes the settings to synthetic data. It keeps the net if that takes images of their size, and takes the
// synthetic data's own net otherwise.
func (b *SpeedTest) FallBack() error {
	synthetic, err := settings.Defaults(b.Settings.Method, b.Settings.Preset, "synthetic")
	if err != nil {
		return err
	}
	b.Settings.Data, b.Settings.Augment = synthetic.Data, synthetic.Augment
	if _, err := b.Settings.Model(); err != nil {
		b.Settings.Net = synthetic.Net
	}
	return nil
}

// Measure makes the rounds and times each. Between them it runs the reference loop, unless a card trains. If it is
// interrupted, the row and rounds hold the rounds up to then.
func (b *SpeedTest) Measure(
	ctx context.Context, ses *Session,
) (row results.BenchRow, rounds []results.BenchRound, err error) {
	s, info := &b.Settings, ses.Engine.Info()
	row = results.BenchRow{
		Time: time.Now().Truncate(time.Second), Version: Version(), Data: s.Data, Net: s.Net,
		Availability: s.Availability, Clients: s.Clients, LocalSteps: s.LocalSteps, Batch: s.Batch,
		Warmup: b.Warmup, Threads: b.Machine.Threads,
		Engine: info.Engine, Precision: info.Precision, Device: info.Device, Seed: b.Seed,
		LoadAverage: b.load, CardUsers: b.cardUsers,
	}
	b.Phases = &Phases{Engine: ses.Engine}
	counter := &imageCounter{Engine: b.Phases}
	f, err := ses.Federate(ctx, *s, b.Seed, counter)
	if err != nil {
		return row, nil, err
	}
	defer f.Method.Close()
	if err := f.anyoneTrains(ctx); err != nil {
		return row, nil, err
	}
	loop, loopFLOP, err := b.Machine.referenceLoop()
	if err != nil {
		return row, nil, err
	}
	counters := b.Machine.openCounters()
	defer counters.Close()

	bar := progress.New(ses.Stderr).Run("bench", progress.Work{Rounds: b.Warmup + s.Rounds, Round: 1})
	bar.Start(b.Warmup + s.Rounds)
	defer bar.Stop()
	active, begun := 0, time.Now()
	ticks, ticking := conditions.ReadTicks(conditions.TicksPath)
	end := func() error { return nil }
	before := loop() // the speed of the reference before a round; the one after it is before the next
	for t := range b.Warmup + s.Rounds {
		if len(rounds) >= minRounds && time.Since(begun) > b.Limit {
			bar.Stop()
			Logf(ses.Stderr, "rollcall: %d of %d rounds measured in %.0f s (--max-seconds)\n", len(rounds), s.Rounds,
				time.Since(begun).Seconds())
			break
		}
		if t == b.Warmup { // counts and times begin anew with the first measured round
			*b.Phases = Phases{Engine: ses.Engine}
			*counter, begun = imageCounter{Engine: b.Phases}, time.Now()
			ticks, ticking = conditions.ReadTicks(conditions.TicksPath)
			if b.Profile {
				if end, err = b.Phases.profile(); err != nil {
					return row, nil, err
				}
			}
		}
		counter.steps, counter.images = 0, 0
		_, _ = counters.Read() // the next one counts from here
		started, used := time.Now(), conditions.ProcessorTime()
		n, _, roundErr := f.round(ctx, t)
		if roundErr != nil {
			err = roundErr
			break
		}
		took := time.Since(started)
		used = conditions.ProcessorTime() - used
		counts, _ := counters.Read() // nothing if it fails, for good
		after := loop()
		if t >= b.Warmup {
			rounds = append(rounds, results.BenchRound{
				Wall: took, Processor: used, Steps: counter.steps, Images: counter.images,
				FLOP: float64(counter.images) * f.model.Train, Reference: (before + after) / 2, ReferenceFLOP: loopFLOP,
				Instructions: counts.Instructions, Cycles: counts.Cycles,
			})
			active += n
		}
		before = after
		bar.Round(t+1, n)
	}
	if endErr := end(); err == nil {
		err = endErr
	}
	if len(rounds) == 0 {
		return row, rounds, err
	}
	row.SetRounds(rounds)
	row.Active = float64(active) / float64(len(rounds))
	if now, ok := conditions.ReadTicks(conditions.TicksPath); ticking && ok {
		row.Steal, row.Others = conditions.Steal(ticks, now), conditions.Others(ticks, now)
	}
	if err == nil && !b.NoEval {
		err = b.evaluate(ctx, ses, f, &row, b.Limit-time.Since(begun))
	}
	if bytes, known := memory.Peak(); known {
		row.PeakMemMiB = files.Some(float64(bytes) / (1 << 20))
	}
	return row, rounds, err
}

// referenceLoop returns a function that runs the reference loop on the threads of the CPU engine and returns FLOP per
// second of one thread, and the operations of one thread in a run: 0 where a card trains, whose speed no loop on a
// processor explains.
func (m *Machine) referenceLoop() (speed func() float64, flop float64, err error) {
	c, err := m.Choose()
	if err != nil || c.CUDA {
		return func() float64 { return 0 }, 0, err
	}
	kernels, err := m.CPUChoice()
	if err != nil {
		return nil, 0, err
	}
	loop := reference.New(kernels.Name(), m.Threads)
	return func() float64 { return loop.FLOP() / loop.Run().Seconds() }, loop.FLOP(), nil
}

// openCounters returns counters of instructions and cycles; nil where there are none, and where a card trains.
func (m *Machine) openCounters() *conditions.Counters {
	if c, err := m.Choose(); err != nil || c.CUDA {
		return nil
	}
	counters, _ := conditions.OpenCounters(conditions.Instructions, conditions.Cycles)
	return counters
}

// evaluate measures one pass over the test images, or over as many as the time that is left is enough for, at least
// evalProbe. A pass over these comes first: it finds memory, makes graphs, and says how long an image takes.
func (b *SpeedTest) evaluate(
	ctx context.Context, ses *Session, f *Federation, row *results.BenchRow, left time.Duration,
) error {
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	index := make([]int32, ses.Data.Test.Len())
	for i := range index {
		index[i] = int32(i)
	}
	pass := func(n int) error {
		started := time.Now()
		r, err := ses.Engine.Evaluate(ctx, []nets.EvalJob{{Row: model, Part: nets.Test, Index: index[:n]}})
		if err != nil {
			return err
		}
		b.Phases.evaluation, b.Phases.evalImages = time.Since(started), n
		row.EvalMS, row.EvalImages = files.Some(ms(b.Phases.evaluation)), n
		if n == len(index) {
			row.TestAcc = files.Some(r[0].Accuracy())
		}
		return nil
	}
	probe := min(evalProbe, len(index))
	if err := pass(probe); err != nil {
		return err
	}
	took := b.Phases.evaluation
	inTime := float64(probe) * float64(left-took) / float64(took)
	if n := int(min(float64(len(index)), inTime)); n >= probe {
		if err := pass(n); err != nil {
			return err
		}
	}
	if !b.Profile {
		return nil
	}
	return b.Phases.write(b.Machine.Out, results.CurveRow{
		Setup: results.Setup{
			Table: "run", Method: b.Settings.Method, Preset: b.Settings.Preset, Data: row.Data, Net: row.Net,
			Availability: row.Availability, Clients: row.Clients,
		},
		Engine: row.Engine, Precision: row.Precision, Version: row.Version,
	})
}

// evalProbe is the least number of images that are evaluated.
const evalProbe = 200

// imageCounter is an engine that counts the client-steps and the images it trains on, padding left out.
type imageCounter struct {
	nets.Engine
	steps, images int
}

func (c *imageCounter) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	for _, client := range work.Clients {
		p := client.Plan
		for e := range p.E {
			n := 0
			for _, i := range p.Index[e*p.B : (e+1)*p.B] {
				if i >= 0 {
					n++
				}
			}
			if n > 0 {
				c.steps++
			}
			c.images += n
		}
	}
	return c.Engine.Train(ctx, work)
}
