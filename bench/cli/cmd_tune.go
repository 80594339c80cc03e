package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/many"
	"rollcall/bench/many/tune"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
)

// The grids and the rounds with which FedAWE's authors chose their rates (FedAWE, appendix J).
var (
	tuneLRs       = []float64{0.1, 0.05, 0.01, 0.005, 0.001, 0.0005}
	tuneServerLRs = []float64{0.5, 1, 1.5, 5, 10, 50}
)

const tuneRounds = "500"

// tuneSeed is the default seed: no table and no figure has it.
const tuneSeed = 1001

// tuneSettings are the settings whose defaults here are not those of run. The test set is not looked at, and the
// training set need not be.
var tuneSettings = settings.Given{
	{Name: "eval-last", Value: "none"},
	{Name: "eval-train", Value: "false"},
	{Name: "hold-out", Value: "0.1"},
	{Name: "rounds", Value: tuneRounds},
}

// tuneCommand is `rollcall tune`: it chooses learning rates for any methods under any processes. Package tune makes the
// runs, on the pool that tables use.
func (a *app) tuneCommand() *cobra.Command {
	var (
		tuning tune.Tuning
		rung   int
	)
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Choose learning rates on a grid, without the test set",
		Long: `tune tries every pair of a local and a server learning rate for every method under every availability
model on every net and data set. It compares the pairs on samples that are held out of the training set. It writes the
best pairs to OUT/NAME/rates.csv, which run, sweep and table take with --rates, and all pairs to OUT/NAME/trials.csv.

It halves the grid twice: after a quarter of the rounds the better half of the pairs continues to half of the rounds,
and the better half of these to the end. A repeated command keeps finished runs and resumes the others. All methods
train as --like does in its paper, and flags of run change that for all of them.

--part i/n trains whole cells (a method under an availability model on data and a net), for machines that share no
folder. --rung k runs only one comparison, after the earlier ones, and with --part only a part of its runs; the tasks of
--slurm use it.`,
		Example: `  rollcall tune --methods fedavg-active,fedawe --availability sine,stationary --data cifar10 --plan
  rollcall tune --methods fedawe,mifa --data leaf --rounds 40 --lrs 0.1,0.03,0.01 --server-lrs 1,3`,
		Args: noArgs,
	}
	fs := cmd.Flags()
	tuning.Seeds = []uint32{tuneSeed}
	registerLists(fs, &tuning.Sweep)
	fs.Lookup("seeds").Usage = "seeds, none of them a table's or a figure's, such as 1001,1002"
	tuning.LRs, tuning.ServerLRs = slices.Clone(tuneLRs), slices.Clone(tuneServerLRs)
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		settings.AddRates(fs, &tuning.LRs, "lrs", "local learning `rates` to try")
		settings.AddRates(fs, &tuning.ServerLRs, "server-lrs", "server learning `rates` to try with each of --lrs")
	})
	// The lists stand in place of some settings. --eval-last is for tables.
	settings.AddFlags(fs, "method", "data", "net", "availability", "lr", "server-lr", "eval-last")
	c := a.pooled(cmd)
	settings.Under(settings.Workers, fs, func(fs *pflag.FlagSet) {
		fs.IntVar(&rung, "rung", 0, "train only the runs of the k-th comparison, from 1, after the earlier ones; "+
			"--part is then a part of these runs (default: all, one after the other)")
	})
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&tuning.Name, "name", "tune", "folder below OUT of rates, trials and runs")
	})
	for name, value := range tuneSettings.All() {
		if f := fs.Lookup(name); f != nil {
			f.DefValue = value
		}
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := c.validate(); err != nil {
			return err
		}
		if c.format == "json" { // the runs of a rung follow from the numbers of the one before
			return settings.Usagef("--format json: of no use with tune, whose later runs are not known before the " +
				"first are made: want --part, or --slurm")
		}
		if fs.Changed("rung") {
			tuning.Rung = &rung
			for _, name := range []string{"again", "plan"} {
				if fs.Changed(name) {
					return settings.Usagef("--%s: of no use with --rung, want one of the two", name)
				}
			}
		} else { // a part is of cells, and not of runs
			tuning.Part, c.keep.Part = c.keep.Part, many.Part{}
		}
		tuning.Given = tuneGiven(fs)
		here, err := c.begin(planned{
			id: tuning.Name, title: tuning.Title(), runs: tuning.Plan,
			stages: func(ctx context.Context, p *many.Pool) (stages []stage, err error) {
				rungs, err := tuning.PlanRungs(ctx, p)
				for i, planned := range rungs {
					stages = append(stages, stage{
						fmt.Sprint("rung-", i+1), []string{fmt.Sprint("--rung=", i+1)}, planned,
					})
				}
				return stages, err
			},
		})
		if err != nil || !here {
			return err
		}
		return c.end(tuning.Name, c.tune(&tuning))
	}
	return cmd
}

// tuneGiven returns the settings of a command line, and tune's defaults where it gives none.
func tuneGiven(fs *pflag.FlagSet) settings.Given {
	var given settings.Given
	for _, set := range tuneSettings {
		if f := fs.Lookup(set.Name); f == nil || !f.Changed {
			given = append(given, set)
		}
	}
	return append(given, settings.GivenBy(fs)...)
}

// tune makes the runs and prints the rates. It fails if a cell has no rates: because a run failed, or because every
// pair diverged.
func (s *pooled) tune(t *tune.Tuning) error {
	p := s.pool()
	if err := t.Validate(); err != nil {
		return errors.Join(err, p.Close())
	}
	leave, err := run.Writable(filepath.Join(s.machine.Out, t.Name))
	if err != nil {
		return errors.Join(err, p.Close())
	}
	defer leave()
	done, err := t.Run(s.cmd.Context(), p)
	if err == nil {
		err = s.keepCommand(t.Name)
	}
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	if len(done.Rates) > 0 {
		if err := done.Write(s.stdout); err != nil {
			return err
		}
	}
	logErrors(s.stderr, done.Failed...)
	switch {
	case done.Cells == 0:
		run.Logf(s.stderr, "tune %s: no cell is in part %s\n", t.Name, t.Part)
	case done.Parts > 0:
		run.Logf(s.stderr, "tune %s: part %s of rung %d leaves out %s\n", t.Name, s.keep.Part, *t.Rung,
			files.Count(done.Parts, "run"))
	}
	if n := len(done.Failed); n > 0 {
		words := done.Words()
		if words != "" {
			words = ": " + words
		}
		return fmt.Errorf("tune %s: %d of %d cells have no rates, for the reasons above%s", t.Name, n, done.Cells,
			words)
	}
	if done.Held > 0 {
		return fmt.Errorf("tune %s: %s: %w", t.Name, files.Count(done.Held, "run"), many.ErrHeld)
	}
	return nil
}
