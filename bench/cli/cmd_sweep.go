package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// sweepCommand is `rollcall sweep`: a table of any methods, processes, nets and data, which no paper printed. Package
// many makes a cell of every combination of the lists (many.Sweep), and then a sweep is made as a table is.
func (a *app) sweepCommand() *cobra.Command {
	var (
		sweep   many.Sweep
		crossed int
		metric  []string
		named   []string
	)
	cmd := &cobra.Command{
		Use:   "sweep [FILE.yaml]",
		Short: "Run any methods under any availability models on any nets, all on the same trace",
		Long: `sweep runs every method under every availability model on every net and data set, and writes
OUT/NAME/summary.csv as table does. All cells of one availability model and data set share split, availability,
initial weights and batches for each seed, so that methods of different papers compete under the same conditions. All
methods train as --like does in its paper, and flags of run change that for all of them. Each method keeps its own
learning rates, unless --lr, --server-lr or --rates change them. Finished runs in OUT are kept.

A setting with several values (--alpha 0.1,0.3) has a cell for each; cells that do not read it are trained once. The
value of a setting that may have commas, such as a path, is given by a flag each: --trace a.csv --trace b.csv.

FILE.yaml is an experiment: its keys are the names of these flags, their values are values or lists, and cells is a list
of cells with names. rollcall init writes one with comments. A flag on the command line replaces the file's, in its
cells too. OUT/NAME/command.txt has the command line that repeats the sweep.

--crossed trains the runs from which results power computes how much of the variance comes from the split, φ, the
availability, the initial weights and the batches.`,
		Example: `  rollcall sweep --methods fedawe,ca-fed,fedar,scaffold --availability markov \
    --data cifar10 --rounds 200 --seeds 3,4,6
  rollcall sweep --methods fedar,mifa --availability uniform,trace --trace log.csv --like fedar \
    --nets lenet5,cnn-cifar10
  rollcall sweep --methods fedavg-active,mifa --data mnist --availability sine --rounds 100 \
    --crossed 11
  rollcall sweep --methods fedawe,mifa --availability sine --gamma 0.1,0.3 --alpha 0.1,1
  rollcall sweep experiment.yaml --rounds 200`,
		Args: sweepArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	fs := cmd.Flags()
	sweep.Seeds = []uint32{3}
	registerLists(fs, &sweep)
	settings.AddLists(fs, "method", "data", "net", "availability") // the lists stand in their place
	c := a.pooled(cmd)
	registerEvents(fs, &c.machine)
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&sweep.Rates, "rates", nil, "learning rates of single methods, METHOD=LR or "+
			"METHOD=LR/SERVERLR, or a file of tune, such as out/tune/rates.csv")
	})
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&named, "cell", nil, "cells with a `name` in the table, with lists and settings in place of "+
			"the command's: 'short: local-steps=5; gamma=0.1,0.3'; may be repeated")
	})
	settings.Under(settings.SingleDraws, fs, func(fs *pflag.FlagSet) {
		fs.IntVar(&crossed, "crossed", 0,
			"number of seeds for each part of the draws (see --seed-split), a prime Q from 5 to 31: Q² runs of each "+
				"cell, in which any two seeds of two parts meet once, in place of a run for each of --seeds; "+
				"prints results power in place of the table")
	})
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&sweep.Name, "name", "sweep", "folder below OUT of summary and runs")
	})
	registerMetric(cmd, &metric, "numbers to print (default: last50,train_acc)")
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := c.validate(); err != nil {
			return err
		}
		chosen, err := metricsNamed(metric)
		if err != nil {
			return err
		}
		if len(chosen) > 0 && fs.Changed("crossed") {
			return settings.Usagef("--metric: of no use with --crossed, want one of the two: " +
				"results power --metric has another metric of the runs")
		}
		sweep.Given, sweep.Lists = settings.ListsBy(fs)
		for _, text := range named {
			cells, err := many.ParseNamed(text)
			if err != nil {
				return err
			}
			sweep.Named = append(sweep.Named, cells)
		}
		if fs.Changed("crossed") {
			sweep.Crossed = &crossed
		}
		t, cells, err := sweep.Cells()
		if err != nil {
			return err
		}
		notes, err := sweep.Notes()
		if err != nil {
			return err
		}
		// Many cells may have the same note about the same trace.
		for i := range cells {
			notes = append(notes, cells[i].Settings.TraceNotes()...)
		}
		for _, note := range files.Unique(notes) {
			if note != "" {
				run.Logf(a.stderr, "%s\n", note)
			}
		}
		if sweep.Crossed != nil {
			return c.table(&t, cells, a.printCrossed)
		}
		printed := t.Only(chosen...)
		t = t.With(chosen...)
		return c.table(&t, cells, func(_ *papers.Table, rows []results.SummaryRow, path string) error {
			return a.printTable(&printed, rows, path)
		})
	}
	return cmd
}

// sweepArgs checks the arguments of a sweep after those of [expandExperiment] have become flags: there are none.
func sweepArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return settings.Usagef("sweep: unexpected argument %q, want a file of an experiment whose name ends in .yaml",
			args[0])
	}
	return nil
}

// registerLists adds the flags that say of what sweep and tune make a cell each, and how all of them train.
func registerLists(fs *pflag.FlagSet, s *many.Sweep) {
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&s.Methods, "methods", nil, "methods: "+strings.Join(algos.Names(), ", "))
		fs.StringSliceVar(&s.Availability, "availability", []string{"stationary"},
			"availability models: "+strings.Join(availability.Names(), ", "))
		fs.StringSliceVar(&s.Data, "data", []string{"cifar10"}, "data sets: "+strings.Join(datasets.Names(), ", "))
		fs.StringSliceVar(&s.Nets, "nets", nil, "nets, or the layers of your own, as texts or files with ; between "+
			"them (default: each data set's)")
		settings.AddSeeds(fs, &s.Seeds, "seeds")
	})
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&s.Like, "like", "fedawe", "all train as this method in its paper: split, batches, steps, "+
			"schedule, clipping, augmentation, weight decay")
	})
}
