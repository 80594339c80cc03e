package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// compareFormats are the values of --format of compare and diff.
var compareFormats = []string{"text", "csv", "markdown"}

// resultsCommand is `rollcall results`: commands that read what runs have left, and train nothing.
func (a *app) resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "results", Short: "List, show, verify, compare, merge and export what runs have left",
	}
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.curvesCommand(), a.compareCommand(), a.diffCommand(),
		a.mergeCommand(), a.exportCommand(), a.verifyCommand(), a.scoreboardCommand(), a.powerCommand(),
		a.fillCommand(), a.summariseCommand())
	return cmd
}

// formatFlag adds --format with its default and its possible values, and checks the value before the command runs:
// reading thousands of runs takes long.
func formatFlag(cmd *cobra.Command, format *string, otherwise string, known []string) {
	cmd.Flags().StringVar(format, "format", otherwise, "what is printed: "+strings.Join(known, ", "))
	completeWords(cmd, "format", known)
	cmd.PreRunE = func(*cobra.Command, []string) error { return settings.OneOf("format", *format, known) }
}

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
entry it prints the difference from the printed number, and whether it is within two standard errors of the
difference, 2·sqrt(s₁²/n₁ + s₂²/n₂). For every column it says whether the methods have the paper's order
(Kendall's τ_b).`,
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

// registerMixed adds --mixed. Without it, seeds of a cell that are not alike have a row for each group: a mean over
// different programs or data says nothing.
func registerMixed(fs *pflag.FlagSet, mixed *bool) {
	fs.BoolVar(mixed, "mixed", false, "one mean over seeds that are not alike: of other numerics, revisions or data; "+
		"it is labelled [mixed: …], and compared with no printed number")
}

// tableRows returns the summary rows of a table. It makes them from the runs below dir/table or dir. If there are no
// runs it reads summary.csv and marks its rows as unverified, because nothing shows which runs they came from. bad is
// what is wrong with runs.
func tableRows(
	ctx context.Context, table, dir string, mixed bool,
) (rows []results.SummaryRow, bad []error, err error) {
	if own := filepath.Join(dir, table); isFolder(own) { // dir is the folder of all tables
		dir = own
	}
	runs, bad, err := results.FindRuns(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if _, of := results.ByTable(runs); len(of[table]) > 0 {
		return papers.Summaries(table, of[table], mixed), bad, nil
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
