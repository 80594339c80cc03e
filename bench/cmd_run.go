package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"rollcall/results"
)

func (a *app) runCommand() *cobra.Command {
	var (
		given   Settings
		machine machineFlags
		seed    uint32
		dump    string
		again   bool

		decisions bool
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Train one federation and write its learning curve",
		Long: `run trains one federation with one method under one availability process, and writes curve.csv and run.json to
OUT/run/METHOD_DATA_AVAILABILITY_HASH/seed-N. A finished run is kept when the command is repeated.`,
		Example: `  rollcall run --method fedawe --data cifar10 --availability sine --rounds 20
  rollcall run --method mifa --data synthetic --clients 20 --rounds 5 --seed 3`,
		Args: noArgs,
	}
	settingFlags(cmd.Flags(), &given)
	machine.register(cmd.Flags())
	machine.registerEvents(cmd.Flags())
	cmd.Flags().Uint32Var(&seed, "seed", 3, "seed of every draw: split, availability, weights, batches, augmentation, dropout")
	cmd.Flags().StringVar(&dump, "dump", "", "write the one round of --rounds 1 to this folder, for replay in another framework")
	cmd.Flags().BoolVar(&decisions, "decisions", false, "write decisions.csv too: who was there and taken in every round, by which weight, and what the server held of their availability")
	cmd.Flags().BoolVar(&again, "again", false, "run even if the result is there already")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := resolve(cmd.Flags())
		if err != nil {
			return err
		}
		if err := machine.validate(); err != nil {
			return err
		}
		if dump != "" && s.Rounds != 1 {
			return usagef("--dump: %d rounds, want --rounds 1", s.Rounds)
		}
		if dump != "" && s.LocalEpochs.value != nil {
			return usagef("--dump: with --local-epochs %s, want as many local steps of every client: --local-steps", &s.LocalEpochs)
		}
		if decisions && !slices.Contains(weighted, s.Method) {
			return usagef("--decisions: of no use with --method %s, want it with %s", s.Method, orList(weighted))
		}
		x := &experiment{clients: decisions, table: "run", settings: s, seed: seed, dir: folder(machine.Out, "run", s, seed), dump: dump}
		return a.runOne(cmd.Context(), x, machine, again)
	}
	return cmd
}

func (a *app) runOne(ctx context.Context, x *experiment, machine machineFlags, again bool) error {
	l := &lab{machine: machine, stderr: a.stderr}
	if !again && x.dump == "" {
		finished, err := x.finished(ctx, l, x.dir)
		if err != nil {
			return err
		}
		if finished {
			rows, err := results.ReadCurve(filepath.Join(x.dir, results.CurveFile))
			if err != nil {
				return err
			}
			if err := machine.keptEvents(x.dir); err != nil {
				return err
			}
			return a.report(x, rows, "kept, as finished before (--again runs it anew)")
		}
	}
	if err := writable(x.dir); err != nil {
		return err
	}
	if x.dump != "" {
		if err := writable(x.dump); err != nil {
			return fmt.Errorf("dump: %w", err)
		}
	}
	rows, err := x.do(ctx, l, newProgress(a.stderr, x.settings.Method))
	if closeErr := l.close(); err == nil {
		err = closeErr
	}
	if len(rows) > 0 {
		note := "complete"
		switch {
		case errors.Is(err, context.Canceled):
			note = "interrupted"
		case err != nil:
			note = "failed"
		}
		if reportErr := a.report(x, rows, note); err == nil {
			err = reportErr
		}
	}
	return err
}

// report prints the last row of a run, and where the rest is.
func (a *app) report(x *experiment, rows []results.CurveRow, note string) error {
	last := rows[len(rows)-1]
	_, err := fmt.Fprintf(a.stdout, "%s on %s, %s, seed %d, round %d: %s\n%s: %s\n", x.settings.Method, x.settings.Data, x.settings.Availability, x.seed, last.Round, reached(last), filepath.Join(x.dir, results.CurveFile), note)
	return err
}

// writable creates a folder and checks that files can be made in it, before hours are spent.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("output folder %s: %w, want a folder that can be written to", dir, cause(err))
	}
	f, err := os.CreateTemp(dir, ".write-test-*")
	if err != nil {
		return fmt.Errorf("output folder %s: %w, want a folder that can be written to", dir, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
