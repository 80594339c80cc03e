package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// tableCommand is `rollcall table`: a paper's table beside its printed numbers. Package results/papers says which runs
// it has.
func (a *app) tableCommand() *cobra.Command {
	var (
		wanted many.Wanted
		file   string
		named  []string
	)
	cmd := &cobra.Command{
		Use:   "table TABLE",
		Short: "Reproduce a table of a paper, next to the printed numbers",
		Long: "table runs every cell of a paper's table (" + strings.Join(papers.TableNames(), ", ") +
			`), writes OUT/TABLE/summary.csv and prints it
next to the printed numbers. It keeps finished runs in OUT, and resumes interrupted ones from their last checkpoints.
Any number of workers may work on one table in one OUT, on machines that share it. It never trains on other data than
the table's.`,
		Example: `  rollcall table fedawe-2 --data cifar10 --availability sine \
    --methods fedawe,fedavg-active --rounds 100 --seeds 3`,
		ValidArgsFunction: cobra.FixedCompletions(papers.TableNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              oneNamed("tables", papers.TableNames()),
	}
	fs := cmd.Flags()
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&wanted.Methods, "methods", nil, "only these methods")
		fs.StringSliceVar(&wanted.Also, "also", nil, "further methods, which the table does not have: they train as "+
			"its own methods do, but at their own learning rates, and are below them without printed numbers")
		fs.StringSliceVar(&wanted.Data, "data", nil, "only these data sets")
		fs.StringSliceVar(&wanted.Availability, "availability", nil, "only these availability models")
		wanted.Rounds = fs.Int("rounds", 0,
			"rounds (default: the paper's; fedawe's 2000, cafed-1 150; fedar's 1000, which it does not print)")
		fs.Int("clients", 0, "clients (default: the paper's; fedawe's and fedar's 100, cafed-1 24)")
	})
	registerColumns(fs, &wanted, "seeds (default: 3,4,6)", "")
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&file, "rates", "",
			"file of learning rates that tune has written, in place of the paper's; such numbers are not compared "+
				"with printed ones")
	})
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		fs.Int("eval-every", 0,
			"evaluate every so many rounds (default: fedawe's 10, and 2 among the last 50; cafed-1 1, fedar's 5)")
		fs.String("eval-train-rounds", "last", "all: evaluate the training set at every evaluation, as figures that "+
			"show it do; last: in the last 50 rounds, which the table reads")
	})
	c := a.pooled(cmd)
	registerEvents(fs, &c.machine)
	registerMetric(cmd, &named, "further numbers of the runs, below the paper's (default: none)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := papers.TableByID(args[0])
		if err != nil {
			return unknownName("table", args[0], papers.TableNames())
		}
		if err := c.validate(); err != nil {
			return err
		}
		further, err := metricsNamed(named, t.Metrics()...)
		if err != nil {
			return err
		}
		t = t.With(further...)
		complete(&wanted, fs, t.Preset)
		if fs.Changed("rates") {
			if wanted.Rates, err = many.ReadRates(file); err != nil {
				return err
			}
		}
		cells, err := many.Cells(&t, &wanted)
		if err != nil {
			return err
		}
		if wanted.Rates != nil {
			if err := a.noteRates(wanted.Rates); err != nil {
				return err
			}
		}
		return c.table(&t, cells, a.printTable)
	}
	return cmd
}

// registerColumns adds the flags of tables and figures that choose columns, seeds and a preset, and how FedAWE's runs
// are drawn. others ends the usage of the preset.
func registerColumns(fs *pflag.FlagSet, w *many.Wanted, seeds, others string) {
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		settings.AddSeeds(fs, &w.Seeds, seeds)
		fs.StringSliceVar(&w.Columns, "column", nil, "only the columns with this setting, such as p-min=0.1 of "+
			"fedar-2 or gamma=0.3 of fedawe-9; may be repeated")
	})
	settings.Under(settings.Training, fs, func(fs *pflag.FlagSet) {
		fs.StringVar(&w.Preset, "preset", "code", "code: as the authors' released code; paper: as the paper's text; "+
			"code-no-momentum: as cafed's code, but with plain SGD (default: code, and paper for fedar's, which have "+
			"no other"+others+")")
		fs.StringSliceVar(&w.Readings, "reading", nil, "another way to read what the paper leaves open, over the "+
			"preset: "+strings.Join(papers.ReadingNames(), ", ")+" (docs/presets.md)")
	})
	settings.Under(settings.DataSplit, fs, func(fs *pflag.FlagSet) {
		fs.String("draws", "philox", "of fedawe's: philox, or numpy: split and availability exactly as the released "+
			"code draws them from the same seed")
	})
	for _, name := range []string{"seeds", "preset"} {
		fs.Lookup(name).DefValue = "" // the usage says it
	}
}

// noteRates says which runs keep their own learning rates, because the file of --rates has none for them.
func (a *app) noteRates(f *many.Rates) error {
	note, err := f.Note()
	if note != "" {
		run.Logf(a.stderr, "%s\n", note)
	}
	return err
}

// pool returns the sessions that make the runs of the command.
func (s *pooled) pool() *many.Pool { return many.NewPool(s.stderr, s.machine, s.keep) }

// table makes the runs of the cells and prints their summary, also when the table is interrupted. It fails if a cell
// has no number: because its runs failed, or because one diverged.
func (s *pooled) table(
	t *papers.Table, cells []many.Cell, print func(t *papers.Table, rows []results.SummaryRow, path string) error,
) error {
	here, err := s.begin(planned{
		id: t.ID, title: t.Title,
		runs: func(ctx context.Context, p *many.Pool) ([]many.Planned, error) { return p.PlanTable(ctx, t, cells) },
	})
	if err != nil || !here {
		return err
	}
	done, err := s.makeTable(t, cells)
	if err == nil { // the rows come before any error: they hold the cells that are done
		err = cmp.Or(print(t, done.Rows, done.Path), s.tableError(t, len(cells), &done))
	}
	return s.end(t.ID, err)
}

// makeTable makes the runs of the cells and writes their summary.
func (s *pooled) makeTable(t *papers.Table, cells []many.Cell) (done many.Summary, err error) {
	leave, err := run.Writable(filepath.Join(s.machine.Out, t.ID))
	if err != nil {
		return done, err
	}
	defer leave()
	p := s.pool()
	done, err = p.Table(s.cmd.Context(), t, cells)
	if err == nil && run.Saved() > s.saved { // and not where all runs were found
		err = s.keepCommand(t.ID)
	}
	if labels := t.CellLabels(); err == nil && labels != nil {
		err = results.AddLabels(filepath.Join(s.machine.Out, t.ID), labels)
	}
	return done, errors.Join(err, p.Close())
}

// tableError returns why a table of so many cells is not whole; nil: it is.
func (s *pooled) tableError(t *papers.Table, cells int, done *many.Summary) error {
	if done.Stopped != nil { // wraps context.Canceled: the status is that of an interruption, whatever failed before it
		return done.Stopped
	}
	if done.Undone.Parts > 0 {
		run.Logf(s.stderr, "table %s: part %s leaves out %s; results merge merges the parts\n", t.ID,
			s.keep.Part, files.Count(done.Undone.Parts, "run"))
	}
	if words := done.Undone.Words(); words != "" {
		return fmt.Errorf("table %s: %d of %d cells failed: %s", t.ID, done.Failed, cells, words)
	}
	if done.Failed > 0 {
		return fmt.Errorf("table %s: %d of %d cells failed", t.ID, done.Failed, cells)
	}
	if done.Undone.Held > 0 {
		return fmt.Errorf("table %s: %s of %s: %w", t.ID, files.Count(done.Undone.Held, "run"),
			files.Count(done.Lacking, "cell"), many.ErrHeld)
	}
	if done.Diverged > 0 {
		return fmt.Errorf("table %s: %d of %d cells have runs that diverged, named above", t.ID, done.Diverged, cells)
	}
	return nil
}

// complete puts the flags that were given into Wanted. preset is the table's own, for a command line without --preset;
// "" leaves the flag's default.
func complete(w *many.Wanted, fs *pflag.FlagSet, preset string) {
	if !fs.Changed("preset") && preset != "" {
		w.Preset = preset
	}
	// The flags' own defaults, 0, stand for the paper's numbers, and must not be put over them.
	if !fs.Changed("rounds") {
		w.Rounds = nil
	}
	for _, name := range []string{"clients", "eval-every", "eval-train-rounds", "draws"} {
		if fs.Changed(name) {
			w.Given = append(w.Given, algos.Setting{Name: name, Value: fs.Lookup(name).Value.String()})
		}
	}
}

// printTable prints a table with our numbers beside the paper's. Above it stand what our numbers are (seeds, rounds,
// settings) and why they are not compared, if they are not. path is the summary.csv with the same numbers.
func (a *app) printTable(t *papers.Table, rows []results.SummaryRow, path string) error {
	if len(rows) == 0 {
		return nil
	}
	width := columnsOf(a.stdout, 120)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nours: %s, %s; %s\n", t.Title, files.Count(len(t.Seeds), "seed"),
		files.Count(t.Rounds, "round"), t.About(t.Rounds))
	if t.Source != "" {
		fmt.Fprintf(&b, "paper: %s\n", t.Source)
	}
	if why := compare.NotCompared(t, rows); why != "" {
		fmt.Fprintf(&b, "not compared with the paper: %s\n", why)
	}
	b.WriteString("\n")
	if err := compare.WriteTable(&b, t, rows, width); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n%s\n", b.String(), path)
	return err
}
