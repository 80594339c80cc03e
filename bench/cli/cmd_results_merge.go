package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// isFolder reports whether there is a folder at a path, or a link to one: a linked output folder is a folder as well.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// mergeCommand is `rollcall results merge`: runs of several machines in one folder. compare.Merge checks everything
// before it writes anything.
func (a *app) mergeCommand() *cobra.Command {
	var (
		out   string
		mixed bool
	)
	cmd := &cobra.Command{
		Use:   "merge OUT… --out INTO",
		Short: "Put output folders of several machines together",
		Long: `merge copies the runs of output folders (each one --out of run and table) into one folder, and writes
new summaries of its tables from the runs. INTO may exist; its runs count as well. Of two copies of a run with
the same numbers it keeps one, a complete run before others. It checks everything before it writes anything: if files
do not verify, two runs differ, two seeds have the same numbers, or a folder is not an output folder, it names all of
these and writes nothing. Seeds of one cell that are not alike are named, and have separate rows in the summary.`,
		Example:           `  rollcall results merge machine-a/out machine-b/out --out all`,
		ValidArgsFunction: completeFolders,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return settings.Usagef("%s: no folder named, want one at least", commandName(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return settings.Usagef("results merge: --out missing, want the output folder")
			}
			m, err := compare.Merge(cmd.Context(), out, args, mixed)
			if err != nil {
				return err
			}
			for _, note := range m.Notes {
				run.Logf(a.stderr, "results merge: %s\n", note)
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %s copied, %d already there or twice, %s summarised\n", out,
				run.Count(m.Runs, "run"), m.Kept, run.Count(len(m.Tables), "table"))
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "output folder")
	registerMixed(cmd.Flags(), &mixed)
	return cmd
}

// summariseCommand is `rollcall results summarise`: summary.csv of a folder of runs.
func (a *app) summariseCommand() *cobra.Command {
	var mixed bool
	cmd := &cobra.Command{
		Use:   "summarise TABLE DIR",
		Short: "Rewrite a table's summary.csv from the runs in its folder",
		Long: `summarise reads the runs of a table in DIR, the table's folder, and writes DIR/summary.csv as table does.
Use it after you have copied or removed runs.`,
		Example:           `  rollcall results summarise fedawe-2 out/fedawe-2`,
		ValidArgsFunction: cobra.FixedCompletions(papers.TableNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              exactly(2, "%d arguments, want a table and a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			table, dir := args[0], args[1]
			runs, bad, err := results.FindRuns(cmd.Context(), dir)
			if err != nil {
				return err
			}
			_, of := results.ByTable(runs)
			if len(of[table]) == 0 {
				return errors.Join(append(bad, fmt.Errorf("results: no run of %s in %s, want one", table, dir))...)
			}
			path := filepath.Join(dir, results.SummaryFile)
			if err := compare.WriteSummary(path, table, of[table], mixed); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %s\n", path, run.Count(len(of[table]), "run"))
			return errors.Join(err, a.complain("results summarise", bad))
		},
	}
	registerMixed(cmd.Flags(), &mixed)
	return cmd
}
