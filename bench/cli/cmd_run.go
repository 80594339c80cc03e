package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"rollcall/algos"
	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/run/folder"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/nets/gpu"
	"rollcall/results"
)

// runCommand is `rollcall run`: one run of one method, with any settings.
func (a *app) runCommand() *cobra.Command {
	var (
		machine run.Machine
		seed    uint32
		dump    string
		file    string
		name    string
		keep    run.Keep

		decisions bool
		save      run.SaveModel
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Train one model and write its learning curve",
		Long: `run trains one model with one method under one availability model, and writes curve.csv and
run.json to OUT/run/METHOD_DATA_AVAILABILITY_HASH/seed-N. When the command is repeated, it keeps a finished run, and
resumes an interrupted one from its last checkpoint. If another worker trains the same run, the command waits for
it.`,
		Example: `  rollcall run --method fedawe --data cifar10 --availability sine --rounds 20
  rollcall run --method mifa --data synthetic --clients 20 --rounds 5 --seed 3`,
		Args: noArgs,
	}
	settings.AddFlags(cmd.Flags())
	registerOne(cmd.Flags(), &machine, &keep)
	fs := cmd.Flags()
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		// 3 is the first of the seeds 3, 4, 6 that tables have without --seeds.
		fs.Uint32Var(&seed, "seed", 3,
			"seed of every draw: split, availability, weights, batches, augmentation, dropout")
	})
	ratesFlag(fs, &file)
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		fs.BoolVar(&decisions, "decisions", false,
			"write decisions.csv too: which clients were active and included in every round, with which weight, "+
				"and the server's estimate of their availability")
		fs.StringVar((*string)(&save), "save-model", "",
			"write model.safetensors too, the model after the last round, as PyTorch reads it; --save-model=all: the "+
				"models that clients of fedawe keep as well")
		// --save-model alone saves one model. So a value needs the =: `--save-model all` would leave an argument, all.
		fs.Lookup("save-model").NoOptDefVal = string(run.SaveOne)
		fs.StringVar(&dump, "dump", "",
			"write the one round of --rounds 1 to this folder, for replay in another framework")
	})
	settings.Under(settings.Workers, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&name, "id", "",
			"train one run of a table, sweep or figure, in OUT/ID, with the id and settings of --plan --format json; "+
				"for a paper's table or figure without other settings, the id alone is enough")
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("id") {
			for _, other := range []string{"rates", "dump"} {
				if cmd.Flags().Changed(other) {
					return settings.Usagef("--%s: of no use with --id, want one of the two", other)
				}
			}
			if err := machine.Validate(); err != nil {
				return err
			}
			x, err := named(name, cmd.Flags(), machine.Out, seed)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("save-model") {
				if err := save.Validate(x.Settings.Method); err != nil {
					return err
				}
			}
			x.Decisions, x.SaveModel = x.Decisions || decisions, save
			return a.runOne(cmd.Context(), x, machine, keep)
		}
		s, err := resolve(cmd.Flags(), file)
		if err != nil {
			return err
		}
		if err := machine.Validate(); err != nil {
			return err
		}
		if program := algos.Of(s.Method).Program != ""; program && term.IsTerminal(int(os.Stdin.Fd())) {
			machine.Methods.Terminal = os.Stdin // a debugger may ask there, for as long as it likes
			if !cmd.Flags().Changed("method-timeout") {
				machine.Methods.Timeout = 0
			}
		}
		if err := refuseSeed(cmd.Flags(), &s, seed); err != nil {
			return err
		}
		// A dump has one array of batches [K,E,B] for one round.
		if dump != "" && s.Rounds != 1 {
			return settings.Usagef("--dump: %d rounds, want --rounds 1", s.Rounds)
		}
		if dump != "" && s.LocalEpochs.Valid {
			return settings.Usagef("--dump: with --local-epochs %s, "+
				"want as many local steps of every client: --local-steps", s.LocalEpochs)
		}
		// Other methods weight nobody: decisions.csv would be empty.
		weighs := slices.Contains(settings.Weighted(), s.Method) || algos.Of(s.Method).Program != ""
		if decisions && !weighs {
			return settings.Usagef("--decisions: of no use with --method %s, want it with %s", s.Method,
				settings.OrList(settings.Weighted()))
		}
		// Without the flag, save is empty and saves nothing; as a value of the flag, the empty text is refused.
		if cmd.Flags().Changed("save-model") {
			if err := save.Validate(s.Method); err != nil {
				return err
			}
		}
		for _, note := range s.TraceNotes() {
			run.Logf(a.stderr, "%s\n", note)
		}
		x := &run.Experiment{
			Decisions: decisions, Table: "run", Settings: s, Seed: seed, Dir: run.Folder(machine.Out, "run", s, seed),
			Dump: dump, SaveModel: save,
		}
		return a.runOne(cmd.Context(), x, machine, keep)
	}
	return cmd
}

// named returns the run of an ID, with the given settings or, if none are given, those of the papers.
func named(name string, fs *pflag.FlagSet, out string, seed uint32) (*run.Experiment, error) {
	id, err := many.ParseID(name)
	if err != nil {
		return nil, err
	}
	given := settings.GivenBy(fs)
	if len(given) == 0 && !fs.Changed("seed") {
		return id.Find(out)
	}
	s, err := settings.Restore(given)
	if err != nil {
		return nil, err
	}
	if !fs.Changed("seed") {
		seed = id.Seed
	}
	if !id.IsOf(s, seed) {
		return nil, settings.Usagef("--id %s: these settings belong to %s, want the whole command that --plan "+
			"--format json has for it", id, filepath.ToSlash(run.Folder("", id.Table, s, seed)))
	}
	return id.Experiment(out, s, false), nil
}

// ratesFlag adds --rates, which [resolve] reads.
func ratesFlag(fs *pflag.FlagSet, file *string) {
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(file, "rates", "",
			"file of learning rates that tune has written, in place of --lr and --server-lr")
	})
}

// resolve returns the settings of the flags of one run, whose learning rates may come from a file of rates.
func resolve(fs *pflag.FlagSet, rates string) (settings.Settings, error) {
	return settings.Resolve(settings.GivenBy(fs), func(s *settings.Settings) error {
		if !fs.Changed("rates") {
			return nil
		}
		return putRates(s, rates, fs)
	})
}

// refuseSeed refuses a --seed from which nothing is drawn.
func refuseSeed(fs *pflag.FlagSet, s *settings.Settings, seed uint32) error {
	if fs.Changed("seed") && len(s.UngivenSeeds()) == 0 {
		return settings.Usagef("--seed %d: of no use, since every draw has its own seed, "+
			"want one of --%s less, or no --seed", seed, strings.Join(settings.SeedNames(), ", --"))
	}
	return nil
}

// putRates gives a run its learning rates from a file. A file that has none for it is an error.
func putRates(s *settings.Settings, path string, fs *pflag.FlagSet) error {
	for _, name := range []string{"lr", "server-lr"} {
		if f := fs.Lookup(name); f.Changed {
			return settings.Usagef("--%s %s: with --rates %s, want one of the two", name, f.Value, path)
		}
	}
	f, err := many.ReadRates(path)
	if err != nil {
		return err
	}
	f.Put(s)
	_, err = f.Note()
	return err
}

// runOne makes one run, or finds it finished, and prints its last row.
func (a *app) runOne(ctx context.Context, x *run.Experiment, machine run.Machine, keep run.Keep) (err error) {
	log := progress.New(a.stderr) // the session logs through it, since it redraws the last line of a terminal
	ses := &run.Session{Machine: machine, Stderr: log}
	x.Was = folder.StampOf(x.Dir) // before a wait: --again keeps a run that another process finishes meanwhile
	if x.Dump != "" {             // checked before hours of training
		leave, err := run.Writable(x.Dump)
		if err != nil {
			return fmt.Errorf("dump: %w", err)
		}
		defer leave()
	}
	made, err := x.Await(ctx, ses, keep, log.Run(x.Settings.Method, run.Work(x.Settings.Method, &x.Settings)))
	log.Close()
	err = cmp.Or(err, ses.Close())
	switch _, refused := errors.AsType[*folder.RefusedError](err); {
	case refused:
		return fmt.Errorf("%w (%s)", err, many.WaysOut)
	case made.Kept:
		return cmp.Or(a.reportKept(x, made.Run), err)
	case len(made.Rows) == 0:
		return a.orResumes(err)
	}
	note := "complete" // an interrupted or failed run prints how far it has come, too
	switch {
	case errors.Is(err, context.Canceled), gpu.DeviceLost(err): // as run.json says
		note = "interrupted"
	case run.IsDiverged(err):
		note = "diverged"
	case err != nil:
		note = "failed"
	}
	return a.orResumes(cmp.Or(err, a.report(x, made.Rows, note)))
}

// reportKept prints the last row of a finished run. A run that diverged is an error again, as it was the first time.
func (a *app) reportKept(x *run.Experiment, kept *results.Run) error {
	if kept.Status() == results.RunDiverged {
		err := a.report(x, kept.Curve, "kept, diverged before (--again trains it again)")
		return cmp.Or(err, errors.New(kept.Info.Error))
	}
	return a.report(x, kept.Curve, "kept, finished before (--again trains it again)")
}

// report prints the last row of a run, the path of its curve, and note, which says how it ended.
func (a *app) report(x *run.Experiment, rows []results.CurveRow, note string) error {
	last := rows[len(rows)-1]
	_, err := fmt.Fprintf(a.stdout, "%s on %s, %s, seed %d, round %d: %s\n%s: %s\n",
		x.Settings.Method, x.Settings.Data, x.Settings.Availability, x.Seed, last.Round, progress.Reached(last),
		filepath.Join(x.Dir, results.CurveFile), note)
	return err
}
