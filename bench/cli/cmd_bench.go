package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/results"
)

var benchFormats = []string{"text", "csv", "json", "gobench"}

// benchCommand is `rollcall bench`: the speed of FedAvg on this machine. run.SpeedTest measures it.
func (a *app) benchCommand() *cobra.Command {
	b := run.SpeedTest{}
	var data, net, initFrom string
	var rounds, clients, steps, batch, trainSize, testSize int
	var seconds float64
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of this machine",
		Long: `bench trains FedAvg over the active clients under stationary availability (N = 100, about 37 active,
10 local steps of 128 samples unless told otherwise), prints how fast that was, and appends a row to OUT/bench.csv. It
times each round: choosing clients, batch plans, training, averaging. If the data set can be neither found nor
downloaded, it runs on synthetic data and says so.`,
		Example: `  rollcall bench --data cifar10
  rollcall bench --data synthetic --rounds 20 --format gobench
  rollcall bench --data synthetic --net resnet20 --batch 32 --local-steps 2 --clients 6`,
		Args: noArgs,
	}
	fs := cmd.Flags()
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&data, "data", "cifar10", "data set: "+strings.Join(datasets.Names(), ", "))
		fs.StringVar(&net, "net", "", settings.NetHelp()+" (default: the data set's)")
		fs.IntVar(&rounds, "rounds", 10, "rounds measured")
		fs.IntVar(&clients, "clients", 100, "number of clients N")
		fs.Uint32Var(&b.Seed, "seed", 3, "seed of every draw")
	})
	registerMachine(fs, &b.Machine)
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.IntVar(&steps, "local-steps", 10, "local steps E of a client per round")
		fs.IntVar(&batch, "batch", 128, "samples B per local step")
		fs.StringVar(&initFrom, "init-from", "", "safetensors file with the initial weights of the net")
	})
	settings.Under(settings.DataSplit, fs, func(fs *pflag.FlagSet) {
		fs.IntVar(&trainSize, "train-size", datasets.SyntheticTrain, "training images of --data synthetic")
		fs.IntVar(&testSize, "test-size", datasets.SyntheticTest, "test images of --data synthetic")
	})
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		// The first round of an engine finds memory and makes graphs, and takes longer than the others.
		fs.IntVar(&b.Warmup, "warmup", 1, "rounds before those measured")
		fs.Float64Var(&seconds, "max-seconds", 120, "measure no more rounds after this time, once there are 3, and "+
			"evaluate as many images as there is time for")
		fs.BoolVar(&b.NoEval, "no-eval", false, "do not evaluate the model after the rounds")
		fs.StringVar(&b.Format, "format", "text",
			"what is printed: text, csv, json (with every sample) or gobench (for benchstat)")
		fs.BoolVar(&b.Profile, "profile", false,
			"also print where the time of a round goes, on CUDA kernel by kernel, which slows it down")
	})
	completeWords(cmd, "format", benchFormats)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := settings.OneOf("format", b.Format, benchFormats); err != nil {
			return err
		}
		if b.Profile && b.Format != "text" {
			return settings.Usagef("--profile: is printed as text, want --format text")
		}
		if b.Profile && b.NoEval {
			return settings.Usagef("--no-eval: with --profile, which says how long an evaluation takes")
		}
		if err := b.Machine.Validate(); err != nil {
			return err
		}
		if b.Warmup < 0 {
			return settings.Usagef("--warmup %d: want 0 or more", b.Warmup)
		}
		if !(seconds > 0) { // refuses NaN too
			return settings.Usagef("--max-seconds %g: want a positive number", seconds)
		}
		// A time.Duration has nanoseconds in 63 bits, 9.2e9 s. A larger number of seconds would become negative.
		b.Limit = time.Duration(min(seconds, 1e9) * float64(time.Second))
		s, err := settings.Defaults("fedavg-active", "code", data)
		if err != nil {
			return err
		}
		// Validate checks them by the names of run's flags, which are the same here.
		s.Rounds, s.Clients, s.LocalSteps, s.Batch = rounds, clients, steps, batch
		if data == "synthetic" {
			s.TrainSize, s.TestSize = trainSize, testSize
		}
		for _, size := range []string{"train-size", "test-size"} {
			if f := cmd.Flags().Lookup(size); f.Changed && data != "synthetic" {
				return settings.Usagef("--%s %s: with --data %s, want --data synthetic", size, f.Value, data)
			}
		}
		if net != "" {
			s.Net = net
		}
		s.InitFrom = initFrom
		if err := s.Validate(); err != nil {
			return err
		}
		if err := s.ReadFiles(); err != nil {
			return err
		}
		b.Settings = s
		return a.bench(cmd.Context(), b)
	}
	return cmd
}

// bench measures, appends a row to OUT/bench.csv and prints it. If the data set can neither be found nor downloaded it
// measures on synthetic data, so that the command works on a machine without a network.
func (a *app) bench(ctx context.Context, b run.SpeedTest) error {
	leave, err := run.Writable(b.Machine.Out)
	if err != nil {
		return err
	}
	defer leave()
	b.Look(ctx)
	ses := &run.Session{Machine: b.Machine, Stderr: a.stderr}
	if err := ses.Open(ctx, &b.Settings, b.Seed); err != nil {
		// Only data that are not available have a substitute. All other errors are the user's to mend.
		if ctx.Err() != nil || !errors.Is(err, datasets.ErrUnavailable) {
			return err
		}
		asked := b.Settings.Net // FallBack replaces it if it takes images of another size
		if err := b.FallBack(); err != nil {
			return err
		}
		with := ""
		if b.Settings.Net != asked {
			with = fmt.Sprintf(" with --net %s, since %s takes other images", b.Settings.Net, asked)
		}
		run.Logf(a.stderr, "rollcall: %v; running on synthetic data%s instead\n", err, with)
		if err := ses.Open(ctx, &b.Settings, b.Seed); err != nil {
			return err
		}
	}
	row, rounds, err := b.Measure(ctx, ses)
	err = cmp.Or(err, ses.Close())
	if row.Rounds == 0 { // no round was measured, so that there is nothing to keep
		return err
	}
	for _, line := range b.Warnings(&row) {
		run.Logf(a.stderr, "rollcall: %s\n", line)
	}
	// What was measured is kept and printed even if something went wrong after it.
	err = cmp.Or(err, results.AppendBench(filepath.Join(b.Machine.Out, results.BenchFile), row))
	switch b.Format {
	case "csv":
		return cmp.Or(err, files.WriteCSV(a.stdout, []results.BenchRow{row}))
	case "json":
		return cmp.Or(err, row.Report(rounds).JSON(a.stdout))
	case "gobench":
		return cmp.Or(err, row.Gobench(a.stdout, rounds))
	}
	printErr := row.Text(a.stdout)
	if printErr == nil && b.Profile {
		var measured time.Duration
		for _, m := range rounds {
			measured += m.Wall
		}
		printErr = b.Phases.Print(a.stdout, len(rounds), measured)
	}
	return cmp.Or(err, printErr)
}
