package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
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
cannot be told apart; then how many seeds would tell. It judges the order of the methods in every column
in the same way.`,
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
			return errors.Join(writeCompared(a, format, c.Rows, c), a.complain("results compare", bad))
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
	runs, bad, err := tableRuns(ctx, table, dir)
	if err != nil {
		return nil, nil, err
	}
	if len(runs) > 0 {
		rows = papers.Summaries(table, runs, mixed, further...)
		results.InGivenOrder(rows, results.SummariesOf(runs)...)
		return rows, bad, nil
	}
	dir = tableFolder(table, dir)
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

// tableFolder returns the folder of a table, if dir is the folder of all tables, and else dir.
func tableFolder(table, dir string) string {
	if own := filepath.Join(dir, table); isFolder(own) {
		return own
	}
	return dir
}

// tableRuns returns the runs of a table below dir/table or dir, and what is wrong with runs there.
func tableRuns(ctx context.Context, table, dir string) (runs []results.Run, bad []error, err error) {
	runs, bad, err = results.FindRuns(ctx, tableFolder(table, dir))
	if err != nil {
		return nil, nil, err
	}
	_, of := results.ByTable(runs)
	return of[table], bad, nil
}

// registerMetric adds --metric; usage says what the metrics are for, and the default.
func registerMetric(cmd *cobra.Command, named *[]string, usage string) {
	settings.Under(settings.Output, cmd.Flags(), func(fs *pflag.FlagSet) {
		fs.StringSliceVar(named, "metric", nil, usage+": final, last50, best and mean are test accuracies after the "+
			"last round, over the last 50 rounds, of the best round and over all rounds; rounds_to_60 is the first "+
			"evaluated round that reaches 60 %; others by their names in summary.csv")
	})
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
		format   string
		baseline string
		named    []string
		o        compare.DiffOptions
	)
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare two sets of runs, cell by cell and seed by seed",
		Long: `diff matches the complete runs below two folders by cell and seed. For every cell it prints the mean
over the seeds of B − A with a Student confidence interval. Differences are paired, so that the effect of a seed on both
sides cancels. diff also says in what else the two runs of a pair differ (numerics, data, version, device). --ignore
lets the sides differ in some columns: --ignore method compares two methods.

With --baseline, diff compares the methods of one folder: in every cell each other method with the baseline, whatever
their learning rates, with a p-value of the paired t-test that is corrected by Holm's method for the methods of the
cell. Where the baseline has several settings in a cell, name one of them: --baseline 'fedau lr=0.1'.`,
		Example: `  rollcall results diff out-v1 out-v2
  rollcall results diff out --baseline fedavg-active --metric final,rounds_to_60
  rollcall results diff out/fedawe-2 out-paper/fedawe-2 --ignore preset,params`,
		ValidArgsFunction: completeFolders,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("baseline") {
			return exactly(1, "%d folders named, want one with --baseline")(cmd, args)
		}
		return exactly(2, "%d folders named, want two, or one with --baseline")(cmd, args)
	}
	fs := cmd.Flags()
	formatFlag(cmd, &format, "text", compareFormats)
	fs.StringVar(&baseline, "baseline", "", "the method with which all others of the folder are compared, perhaps "+
		"with settings that tell it from others of its kind: \"fedau lr=0.1\"")
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
		if fs.Changed("baseline") {
			return a.diffBaseline(cmd.Context(), args[0], baseline, format, o)
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
		if err := a.refuseDamaged(slices.Concat(badA, badB)); err != nil {
			return err
		}
		d, err := compare.Diff(runsA, runsB, o)
		if err != nil {
			return err
		}
		if len(d.Rows) == 0 { // an error, because an empty table reads like "no difference"
			return errors.New("results diff: no complete run of A has a partner in B: the same settings and seed " +
				"(--ignore lets settings differ)")
		}
		return writeCompared(a, format, d.Rows, d)
	}
	return cmd
}

// diffBaseline is `rollcall results diff` of one folder.
func (a *app) diffBaseline(ctx context.Context, dir, baseline, format string, o compare.DiffOptions) error {
	if slices.Contains(o.Ignore, "method") {
		return settings.Usagef("--ignore method: of no use with --baseline, want one of the two")
	}
	runs, bad, err := results.FindRuns(ctx, dir)
	if err != nil {
		return err
	}
	if err := a.refuseDamaged(bad); err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(r results.Run) bool { return r.Status() != results.RunComplete })
	if len(runs) == 0 {
		return fmt.Errorf("results diff: no complete run below %s, want those of two methods", dir)
	}
	var methods []string
	for i := range runs {
		methods = append(methods, runs[i].Method)
	}
	method, _, _ := strings.Cut(strings.TrimSpace(baseline), " ")
	if err := settings.OneOf("baseline", method, files.SortedSet(methods)); err != nil {
		return err
	}
	o.Own = ofMethods()
	d, err := compare.Against(runs, baseline, results.GivenOrder(results.SummariesOf(runs)...), o)
	if err != nil {
		return err
	}
	if len(d.Rows) == 0 {
		return fmt.Errorf("results diff: --baseline %q: no complete run below %s has these settings and a partner: "+
			"another method in the same cell, of the same seed (--ignore lets settings differ)", baseline, dir)
	}
	return writeCompared(a, format, d.Rows, d)
}

// ofMethods returns the names of the settings that are parameters of methods.
func ofMethods() (names []string) {
	for _, p := range algos.Params() {
		names = append(names, p.Name)
	}
	return names
}

// refuseDamaged returns an error if files are bad: a difference between damaged runs would be read as an effect.
func (a *app) refuseDamaged(bad []error) error {
	if len(bad) == 0 {
		return nil
	}
	logErrors(a.stderr, bad...)
	return fmt.Errorf("results diff: %s with files, named above; nothing is compared", files.Count(len(bad), "problem"))
}

// writeCompared prints rows as CSV, or what has them for people.
func writeCompared[T any](a *app, format string, rows []T, c interface {
	Write(w io.Writer, m compare.Markup) error
},
) error {
	switch format {
	case "csv":
		return files.WriteCSV(a.stdout, rows)
	case "markdown":
		return c.Write(a.stdout, compare.Markdown)
	}
	return c.Write(a.stdout, compare.Plain)
}

// exportCommand is `rollcall results export`: a table to be put into a paper.
func (a *app) exportCommand() *cobra.Command {
	var (
		e       compare.Export
		named   []string
		methods []string
		mixed   bool
		setup   bool
		wide    bool
	)
	cmd := &cobra.Command{
		Use:   "export TABLE DIR",
		Short: "Print a finished table as CSV, Markdown or LaTeX",
		Long: `export reads the runs of the table below DIR and prints the table as papers do: a group of lines for
each availability, a line for each method in the order of the sweep, columns for data sets and metrics. The best mean of
a group is bold; † marks those that paired t-tests over the seeds, corrected by Holm's method, do not tell from it. The
LaTeX table needs the packages booktabs and graphicx, and fits the column or the page. --printed puts the paper's
numbers next to ours. The caption names our numbers that cannot be compared with the paper's, because they have other
rounds, clients or seeds. --setup prints the paragraph that goes with the table.

--wide prints a CSV with a line for each run in place of the table: its settings, each in a column of its own, its
status, and the numbers of a complete run. With --wide, TABLE may be all, and several folders may be named.`,
		Example: `  rollcall results export sweep out --format latex --methods mifa,fedavg-active > table.tex
  rollcall results export sweep out --format latex --setup > setup.tex
  rollcall results export fedawe-2 out --format latex --metric test_acc --printed > table.tex
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
	registerMetric(cmd, &named, "only these numbers, in this order (default: all of the table; of a sweep in LaTeX, "+
		"the test accuracy)")
	fs.StringSliceVar(&methods, "methods", nil, "only these methods, in this order (default: all, as in the summary)")
	fs.StringVar(&e.Caption, "caption", "", "of the table in LaTeX or Markdown (default: what the numbers are)")
	fs.StringVar(&e.Label, "label", "", "of the LaTeX table")
	fs.BoolVar(&setup, "setup", false, "print the paragraph \"Experimental setup\" in place of the table: what the "+
		"runs' run.json say of data, availability, training, rates, seeds and machines")
	registerMixed(fs, &mixed)
	fs.BoolVar(&wide, "wide", false, "a CSV with a line for each run, and a column for each setting")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if wide {
			return a.exportWide(cmd, args[0], args[1:], named)
		}
		if setup {
			for _, other := range []string{"printed", "caption", "label", "mixed"} {
				if fs.Changed(other) {
					return settings.Usagef("--%s: of no use with --setup, want one of the two", other)
				}
			}
			if e.Format == "csv" {
				return settings.Usagef("--setup: of no use with --format csv, want markdown or latex")
			}
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
		if err := settings.Once("methods", methods); err != nil {
			return err
		}
		if setup {
			return a.exportSetup(cmd.Context(), args[0], args[1], e.Format, methods, chosen)
		}
		rows, bad, err := tableRows(cmd.Context(), args[0], args[1], mixed, chosen...)
		if err != nil {
			return err
		}
		table, _ := papers.TableByID(args[0]) // a sweep is no paper's table, and has no printed numbers
		labels, err := results.ReadLabels(tableFolder(args[0], args[1]))
		if err != nil {
			return err
		}
		table.Label(labels)
		compare.SortSummary(args[0], rows)
		grid := compare.Table(&table, rows).Grid()
		// A summary without its runs may lack what was asked for; so may runs that were not evaluated for it.
		for _, m := range chosen {
			if !slices.ContainsFunc(grid.Columns, func(c compare.GridColumn) bool { return c.Metric == m }) {
				return fmt.Errorf("results export: --metric %s: no such number of %s below %s", m, args[0], args[1])
			}
		}
		if test := grid.Only(metrics.TestAcc); table.ID == "" && e.Format == "latex" && len(chosen) == 0 &&
			len(test.Columns) > 0 {
			grid = test
		}
		grid = grid.Only(chosen...)
		if err := areThere(methods, grid.Methods(), args[0], args[1]); err != nil {
			return err
		}
		grid = grid.OfMethods(methods...)
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

// areThere returns an error for the first of some methods that a table does not have.
func areThere(methods, there []string, table, dir string) error {
	for _, m := range methods {
		if !slices.Contains(there, m) {
			return fmt.Errorf("results export: --methods %s: no such method of %s below %s%s, want one of %s",
				m, table, dir, files.DidYouMean(m, there), strings.Join(there, ", "))
		}
	}
	return nil
}

// exportSetup prints the paragraph about the runs of a table.
func (a *app) exportSetup(
	ctx context.Context, table, dir, format string, methods []string, chosen []metrics.Metric,
) error {
	runs, bad, err := tableRuns(ctx, table, dir)
	if err != nil {
		return err
	}
	place := results.GivenOrder(results.SummariesOf(runs)...)
	slices.SortStableFunc(runs, func(a, b results.Run) int { return place(a.Key()) - place(b.Key()) })
	there, _ := results.Grouped(runs, func(r results.Run) string { return r.Method })
	if err := areThere(methods, there, table, dir); err != nil {
		return err
	}
	if len(methods) > 0 {
		at := func(r results.Run) int { return slices.Index(methods, r.Method) }
		runs = slices.DeleteFunc(runs, func(r results.Run) bool { return at(r) < 0 })
		slices.SortStableFunc(runs, func(a, b results.Run) int { return at(a) - at(b) })
	}
	if len(chosen) == 0 {
		chosen = []metrics.Metric{metrics.TestAcc}
	}
	text := compare.Setup(runs, ofMethods(), chosen...)
	if text == "" {
		return errors.Join(fmt.Errorf("results export: --setup: no complete run of %s below %s, want one: it needs "+
			"their run.json", table, dir), a.complain("results export", bad))
	}
	const title = "Experimental setup."
	if format == "latex" {
		text = `\paragraph{` + title + "} " + compare.EscapeLaTeX(text)
	} else {
		text = "**" + title + "** " + files.EscapeMarkdown(text)
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return errors.Join(err, a.complain("results export", bad))
}

// noLabel reports whether a character cannot stand in \label{…}, which LaTeX does not escape.
func noLabel(r rune) bool {
	return strings.ContainsRune(`{}\%#$&~^",`, r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
}
