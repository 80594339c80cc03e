package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/datasets"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

var benchFormats = []string{"text", "csv", "gobench"}

// speedTest is what the bench command measures: FedAvg over the active clients under stationary availability.
type speedTest struct {
	settings Settings
	seed     uint32
	warmup   int
	limit    time.Duration // no further round is begun after it, once minRounds are measured
	machine  machineFlags
	format   string
	profile  bool
	phases   *phases
}

// minRounds is the least number of rounds a median is taken of.
const minRounds = 3

func (a *app) benchCommand() *cobra.Command {
	b := speedTest{}
	var data, net string
	var rounds, clients int
	var seconds float64
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of this machine",
		Long: `bench trains FedAvg over the active clients under stationary availability (N = 100, about 37 active, 10 local steps of
128 samples), prints how fast, and appends a row to OUT/bench.csv. Rounds are timed one by one: choosing clients,
batch plans, training, averaging. Where the data set can be neither found nor downloaded it runs on synthetic data,
and says so.`,
		Example: `  rollcall bench --data cifar10
  rollcall bench --data synthetic --rounds 20 --format gobench`,
		Args: noArgs,
	}
	fs := cmd.Flags()
	b.machine.register(fs)
	fs.StringVar(&data, "data", "cifar10", "data set: "+strings.Join(datasets.Names(), ", "))
	fs.StringVar(&net, "net", "", "network: "+strings.Join(nets.ModelNames(), ", ")+" (default: the data set's)")
	fs.IntVar(&rounds, "rounds", 10, "rounds measured")
	fs.IntVar(&clients, "clients", 100, "number of clients N")
	fs.IntVar(&b.warmup, "warmup", 1, "rounds before them")
	fs.Float64Var(&seconds, "max-seconds", 120, "measure no further round after so long, once there are 3")
	fs.Uint32Var(&b.seed, "seed", 3, "seed of every draw")
	fs.StringVar(&b.format, "format", "text", "what is printed: text, csv or gobench")
	fs.BoolVar(&b.profile, "profile", false, "print where the time of a round goes as well, on CUDA kernel by kernel, which slows it down")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("format", b.format, benchFormats); err != nil {
			return err
		}
		if b.profile && b.format != "text" {
			return usagef("--profile: is printed as text, want --format text")
		}
		if err := b.machine.validate(); err != nil {
			return err
		}
		if b.warmup < 0 {
			return usagef("--warmup %d: want 0 or more", b.warmup)
		}
		if !(seconds > 0) {
			return usagef("--max-seconds %g: want a positive number", seconds)
		}
		b.limit = time.Duration(min(seconds, 1e9) * float64(time.Second))
		s, err := defaults("fedavg-active", "code", data)
		if err != nil {
			return err
		}
		if err := dataLoads(data); err != nil {
			return err
		}
		s.Rounds, s.Clients = rounds, clients
		if net != "" {
			s.Net = net
		}
		if err := s.validate(); err != nil {
			return err
		}
		b.settings = s
		return a.bench(cmd.Context(), b)
	}
	return cmd
}

func (a *app) bench(ctx context.Context, b speedTest) error {
	if err := writable(b.machine.Out); err != nil {
		return err
	}
	l := &lab{machine: b.machine, stderr: a.stderr}
	if err := l.open(ctx, &b.settings, b.seed); err != nil {
		if ctx.Err() != nil || !errors.Is(err, datasets.ErrUnavailable) {
			return err
		}
		logf(a.stderr, "rollcall: %v; running on synthetic data instead\n", err)
		if err := b.fallBack(); err != nil {
			return err
		}
		if err := l.open(ctx, &b.settings, b.seed); err != nil {
			return err
		}
	}
	row, times, err := b.measure(ctx, l)
	if closeErr := l.close(); err == nil {
		err = closeErr
	}
	if row.Rounds == 0 {
		return err
	}
	path := filepath.Join(b.machine.Out, results.BenchFile)
	if appendErr := results.AppendBench(path, row); err == nil {
		err = appendErr
	}
	var printErr error
	switch b.format {
	case "csv":
		printErr = files.WriteCSV(a.stdout, []results.BenchRow{row})
	case "gobench":
		printErr = row.Gobench(a.stdout)
	default:
		printErr = row.Text(a.stdout)
		if printErr == nil && b.profile {
			printErr = b.phases.print(a.stdout, len(times), sum(times))
		}
	}
	if err == nil {
		err = printErr
	}
	return err
}

// fallBack turns to synthetic data, with their own net where that of the data asked for takes other images.
func (b *speedTest) fallBack() error {
	synthetic, err := defaults(b.settings.Method, b.settings.Preset, "synthetic")
	if err != nil {
		return err
	}
	asked, err := nets.NewModel(b.settings.Net)
	if err != nil {
		return err
	}
	own, err := nets.NewModel(synthetic.Net)
	if err != nil {
		return err
	}
	if asked.H != own.H || asked.W != own.W || asked.C != own.C {
		b.settings.Net, b.settings.Augment = synthetic.Net, synthetic.Augment
	}
	b.settings.Data = "synthetic"
	return nil
}

// measure runs the rounds; when it is interrupted the row holds those that were measured.
func (b *speedTest) measure(ctx context.Context, l *lab) (row results.BenchRow, times []time.Duration, err error) {
	s, info := &b.settings, l.engine.Info()
	row = results.BenchRow{
		Time: time.Now().Truncate(time.Second), Version: versionName(), Data: s.Data, Net: s.Net, Availability: s.Availability, Clients: s.Clients,
		LocalSteps: s.LocalSteps, Batch: s.Batch, Warmup: b.warmup, Threads: b.machine.Threads,
		Engine: info.Engine, Precision: info.Precision, Device: info.Device, Seed: b.seed,
	}
	b.phases = &phases{Engine: l.engine}
	counter := &imageCounter{Engine: b.phases}
	f, err := l.federate(ctx, *s, b.seed, counter)
	if err != nil {
		return row, nil, err
	}
	defer f.method.Close()

	bar := newProgress(l.stderr, "bench") // outside the timed part of a round
	bar.start(b.warmup + s.Rounds)
	defer bar.stop()
	active, begun := 0, time.Now()
	end := func() error { return nil }
	for t := range b.warmup + s.Rounds {
		if len(times) >= minRounds && time.Since(begun) > b.limit {
			bar.stop()
			logf(l.stderr, "rollcall: %d of %d rounds measured in %.0f s (--max-seconds)\n", len(times), s.Rounds, time.Since(begun).Seconds())
			break
		}
		if t == b.warmup {
			*b.phases = phases{Engine: l.engine}
			*counter, begun = imageCounter{Engine: b.phases}, time.Now()
			if b.profile {
				if end, err = b.phases.profile(); err != nil {
					return row, nil, err
				}
			}
		}
		started := time.Now()
		n, _, roundErr := f.round(ctx, t)
		if roundErr != nil {
			err = roundErr
			break
		}
		if t >= b.warmup {
			times = append(times, time.Since(started))
			active += n
		}
		bar.round(t+1, n)
	}
	if endErr := end(); err == nil {
		err = endErr
	}
	if len(times) == 0 {
		return row, times, err
	}
	row.RoundTimes(times)
	total := sum(times).Seconds()
	row.Active = float64(active) / float64(len(times))
	row.ClientStepsPerSec = float64(counter.steps) / total
	row.ImagesPerSec = float64(counter.images) / total
	row.GFLOPs = float64(counter.images) * f.model.Train / total / 1e9
	row.ClientStepMS = 1e3 * total / float64(max(1, counter.steps))
	if err == nil {
		err = b.evaluate(ctx, l, f, &row)
	}
	row.PeakMemMiB = peakMemory()
	return row, times, err
}

func sum(times []time.Duration) (total time.Duration) {
	for _, d := range times {
		total += d
	}
	return total
}

// evaluate measures one pass over the test images; one that is quick again, since the first finds memory and captures graphs.
func (b *speedTest) evaluate(ctx context.Context, l *lab, f *federation, row *results.BenchRow) error {
	model, err := f.method.Model()
	if err != nil {
		return err
	}
	for range 2 {
		started := time.Now()
		r, err := l.engine.Evaluate(ctx, []nets.EvalJob{{Row: model, Part: nets.Test}})
		if err != nil {
			return err
		}
		took := time.Since(started)
		row.EvalMS, row.EvalImages, row.TestAcc = files.Some(ms(took)), r[0].N, files.Some(r[0].Accuracy())
		b.phases.evaluation, b.phases.evalImages = took, r[0].N
		if took > quick {
			break
		}
	}
	if !b.profile {
		return nil
	}
	return b.phases.write(b.machine.Out, results.CurveRow{
		Cell:   results.Cell{Table: "run", Method: b.settings.Method, Preset: b.settings.Preset, Data: row.Data, Net: row.Net, Availability: row.Availability, Clients: row.Clients},
		Engine: row.Engine, Precision: row.Precision, Version: row.Version,
	})
}

// quick is what may be measured once more.
const quick = time.Second

// imageCounter is an engine that counts the client-steps and images it was given.
type imageCounter struct {
	nets.Engine
	steps, images int
}

// Train implements [nets.Engine].
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

// peakMemory returns the most memory this process has had resident, in MiB; missing where the system does not tell.
func peakMemory() files.Optional {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return files.Optional{}
	}
	defer f.Close() //nolint:errcheck // read only
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			if kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64); err == nil {
				return files.Some(kib / 1024)
			}
		}
	}
	return files.Optional{}
}
