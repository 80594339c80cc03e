package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

var compareFormats = []string{"text", "csv", "markdown"}

// compareCommand is `rollcall results compare`: a table's entries beside the printed ones, with a verdict on each.
func (a *app) compareCommand() *cobra.Command {
	var (
		format string
		mixed  bool
	)
	cmd := &cobra.Command{
		Use:   "compare TABLE DIR",
		Short: "Compare a table's summary with the printed numbers",
		Long: `compare reads the runs of the table below DIR, its own folder or the folder of all tables. For every
entry it prints the difference from the printed number, its margin, and whether the two agree within it, differ, or
cannot be told apart; then how many seeds would tell. It says the same of the order of the methods in every column.`,
		Example:           `  rollcall results compare fedawe-2 out --format markdown`,
		ValidArgsFunction: cobra.FixedCompletions(papers.TableNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              exactly(2, "%d arguments, want a table and a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := papers.TableByID(args[0])
			if err != nil {
				return unknownName("table", args[0], papers.TableNames())
			}
			rows, bad, err := tableRows(cmd.Context(), table.ID, args[1], mixed)
			if err != nil {
				return err
			}
			c := compare.Table(&table, rows)
			switch format {
			case "csv":
				err = files.WriteCSV(a.stdout, c.Rows)
			case "markdown":
				err = c.Write(a.stdout, compare.Markdown)
			default:
				err = c.Write(a.stdout, compare.Plain)
			}
			return errors.Join(err, a.complain("results compare", bad))
		},
	}
	formatFlag(cmd, &format, "text", compareFormats)
	registerMixed(cmd.Flags(), &mixed)
	return cmd
}

// tableRows returns the summary rows of a table. It makes them from the runs below dir/table or dir, with further
// metrics. If there are no runs it reads summary.csv and marks its rows as unverified, because nothing shows which runs
// they came from. bad is what is wrong with runs.
func tableRows(
	ctx context.Context, table, dir string, mixed bool, further ...metrics.Metric,
) (rows []results.SummaryRow, bad []error, err error) {
	if own := filepath.Join(dir, table); isFolder(own) { // dir is the folder of all tables
		dir = own
	}
	runs, bad, err := results.FindRuns(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if _, of := results.ByTable(runs); len(of[table]) > 0 {
		return papers.Summaries(table, of[table], mixed, further...), bad, nil
	}
	path := filepath.Join(dir, results.SummaryFile)
	rows, err = results.ReadSummary(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(bad) > 0: // the faults may be why no run was found
		return nil, nil, errors.Join(bad...)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("results: no run of %s below %s, nor %s, want one ("+
			"`rollcall table %s` trains them)",
			table, dir, path, table)
	case err != nil:
		return nil, nil, err
	case len(rows) == 0 || rows[0].Table != table:
		return nil, nil, fmt.Errorf("%s: no rows of %s, want the summary of that table", path, table)
	}
	return results.Unverified(rows), bad, nil
}

// registerMetric adds --metric; usage says what the metrics are for, and the default.
func registerMetric(cmd *cobra.Command, named *[]string, usage string) {
	cmd.Flags().StringSliceVar(named, "metric", nil, usage+": final, last50, best and mean are test accuracies after "+
		"the last round, over the last 50 rounds, of the best round and over all rounds; rounds_to_60 is the first "+
		"evaluated round that reaches 60 %; others by their names in summary.csv")
	completeWords(cmd, "metric", metrics.Names())
}

// metricsNamed returns the metrics of the words of --metric; own are those of a table.
func metricsNamed(words []string, own ...metrics.Metric) (list []metrics.Metric, err error) {
	for _, word := range words {
		m, known := metrics.Named(word, own...)
		switch {
		case !known && strings.HasPrefix(word, "rounds_to_"):
			return nil, settings.Usagef("--metric %q: want rounds_to_P with a percentage P above 0 and up to 100", word)
		case !known:
			return nil, settings.OneOf("metric", word, metrics.Names(own...))
		}
		list = append(list, m)
	}
	return list, settings.Once("metric", list) // two words may stand for one
}

// measured are the columns of curve.csv that results power can look at.
var measured = []string{
	string(metrics.TestAcc), string(metrics.TrainAcc), string(metrics.TestLoss), string(metrics.TrainLoss),
}

// diffCommand is `rollcall results diff`: did a change of the program, a machine or a setting change the results?
func (a *app) diffCommand() *cobra.Command {
	var (
		format string
		named  []string
		o      compare.DiffOptions
	)
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two sets of runs, cell by cell and seed by seed",
		Long: `diff matches the complete runs below two folders by cell and seed. For every cell it prints the mean
over the seeds of B − A with a Student confidence interval. Differences are paired, so that the effect of a seed on both
sides cancels. diff also says in what else the two runs of a pair differ (numerics, data, version, device). --ignore
lets the sides differ in some columns: --ignore method compares two methods.`,
		Example: `  rollcall results diff out-v1 out-v2
  rollcall results diff out/fedawe-2 out-paper/fedawe-2 --ignore preset,params`,
		ValidArgsFunction: completeFolders,
		Args:              exactly(2, "%d folders named, want two"),
	}
	fs := cmd.Flags()
	formatFlag(cmd, &format, "text", compareFormats)
	registerMetric(cmd, &named, "what is compared (default: last50)")
	fs.Float64Var(&o.Level, "level", 0.95, "of the confidence intervals")
	fs.IntVar(&o.Last, "last", results.ProtocolRounds,
		"of how many last rounds last50, train_acc and the losses are the mean")
	fs.StringSliceVar(&o.Ignore, "ignore", nil, "columns that may differ: "+strings.Join(results.KeyColumns(), ", "))
	registerMixed(fs, &o.Mixed)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !(o.Level > 0 && o.Level < 1) { // refuses NaN too
			return settings.Usagef("--level %g: want more than 0 and less than 1", o.Level)
		}
		if o.Last < 1 {
			return settings.Usagef("--last %d: want at least 1", o.Last)
		}
		var err error
		if o.Metrics, err = metricsNamed(named); err != nil {
			return err
		}
		if len(o.Metrics) == 0 {
			o.Metrics = []metrics.Metric{metrics.TestAcc}
		}
		if fs.Changed("last") && !slices.ContainsFunc(o.Metrics, metrics.Metric.InWindow) {
			return settings.Usagef("--last %d: of no use with --metric %s, want one of the two", o.Last,
				strings.Join(named, ","))
		}
		for _, c := range o.Ignore {
			if err := settings.OneOf("ignore", c, results.KeyColumns()); err != nil {
				return err
			}
		}
		// A and B are read in two calls, because one call would count a run that both have once.
		runsA, badA, err := results.FindRuns(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		runsB, badB, err := results.FindRuns(cmd.Context(), args[1])
		if err != nil {
			return err
		}
		// A difference between damaged runs would be read as an effect, so that nothing is compared.
		if bad := slices.Concat(badA, badB); len(bad) > 0 {
			logErrors(a.stderr, bad...)
			problems := files.Count(len(bad), "problem")
			return fmt.Errorf("results diff: %s with files, named above; nothing is compared", problems)
		}
		d, err := compare.Diff(runsA, runsB, o)
		if err != nil {
			return err
		}
		switch {
		case len(d.Rows) == 0: // an error, because an empty table reads like "no difference"
			err = errors.New("results diff: no complete run of A has a partner in B: the same settings and seed " +
				"(--ignore lets settings differ)")
		case format == "csv":
			err = files.WriteCSV(a.stdout, d.Rows)
		case format == "markdown":
			err = d.Write(a.stdout, compare.Markdown)
		default:
			err = d.Write(a.stdout, compare.Plain)
		}
		return err
	}
	return cmd
}

// exportCommand is `rollcall results export`: a table to be put into a paper.
func (a *app) exportCommand() *cobra.Command {
	var (
		e     compare.Export
		named []string
		mixed bool
		wide  bool
	)
	cmd := &cobra.Command{
		Use:   "export TABLE DIR",
		Short: "Print a finished table as CSV, Markdown or LaTeX",
		Long: `export reads the runs of the table below DIR and prints the table as papers do: a group of lines for
each availability, a line for each method, columns for data sets and metrics. The LaTeX table needs the package
booktabs; the best mean of a group is bold. --printed puts the paper's numbers next to ours. The caption names our
numbers that cannot be compared with the paper's, because they have other rounds, clients or seeds.

--wide prints a CSV with a line for each run in place of the table: its settings, each in a column of its own, its
status, and the numbers of a complete run. With --wide, TABLE may be all, and several folders may be named.`,
		Example: `  rollcall results export fedawe-2 out --format latex --metric test_acc --printed > table.tex
  rollcall results export all out --wide > runs.csv`,
		Args: func(cmd *cobra.Command, args []string) error {
			if wide && len(args) > 2 {
				return nil
			}
			return exactly(2, "%d arguments, want a table and a folder")(cmd, args)
		},
	}
	fs := cmd.Flags()
	formatFlag(cmd, &e.Format, "markdown", compare.ExportFormats())
	fs.BoolVar(&e.Printed, "printed", false, "with the paper's numbers next to ours")
	registerMetric(cmd, &named, "only these numbers, in this order (default: all of the table)")
	fs.StringVar(&e.Caption, "caption", "", "of the table in LaTeX or Markdown (default: what the numbers are)")
	fs.StringVar(&e.Label, "label", "", "of the LaTeX table")
	registerMixed(fs, &mixed)
	fs.BoolVar(&wide, "wide", false, "a CSV with a line for each run, and a column for each setting")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if wide {
			return a.exportWide(cmd, args[0], args[1:], named)
		}
		if e.Format != "latex" && fs.Changed("label") {
			return settings.Usagef("--label: of no use with --format %s, want it with --format latex", e.Format)
		}
		if e.Format == "csv" && fs.Changed("caption") {
			return settings.Usagef("--caption: of no use with --format csv, want it with --format latex or markdown")
		}
		// [0] is the first character from i on, which may have several bytes.
		if i := strings.IndexFunc(e.Label, noLabel); i >= 0 {
			const want = `--label %q: %q, want none of {}\%%#$&~^",, no space and nothing that cannot be seen`
			return settings.Usagef(want, e.Label, []rune(e.Label[i:])[0])
		}
		own := papers.Named(args[0])
		chosen, err := metricsNamed(named, own.Metrics()...)
		if err != nil {
			return err
		}
		rows, bad, err := tableRows(cmd.Context(), args[0], args[1], mixed, chosen...)
		if err != nil {
			return err
		}
		table, _ := papers.TableByID(args[0]) // a sweep is no paper's table, and has no printed numbers
		compare.SortSummary(args[0], rows)
		grid := compare.Table(&table, rows).Grid()
		// A summary without its runs may lack what was asked for; so may runs that were not evaluated for it.
		for _, m := range chosen {
			if !slices.ContainsFunc(grid.Columns, func(c compare.GridColumn) bool { return c.Metric == m }) {
				return fmt.Errorf("results export: --metric %s: no such number of %s below %s", m, args[0], args[1])
			}
		}
		grid = grid.Only(chosen...)
		// Without a caption of the user's, the caption says what the numbers are: a table is copied into a paper
		// without the command that made it.
		if e.Caption == "" {
			e.Caption = grid.Caption()
			if e.Printed && table.Source != "" {
				e.Caption += "; printed: " + table.Source
			}
			e.Caption += "."
		}
		return errors.Join(grid.Write(a.stdout, e), a.complain("results export", bad))
	}
	return cmd
}

// noLabel reports whether a character cannot stand in \label{…}, which LaTeX does not escape.
func noLabel(r rune) bool {
	return strings.ContainsRune(`{}\%#$&~^",`, r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
}
