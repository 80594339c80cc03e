package cli

import (
	"errors"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// exportCommand is `rollcall results export`: a table to be put into a paper.
func (a *app) exportCommand() *cobra.Command {
	var (
		e     compare.Export
		named []string
		mixed bool
	)
	cmd := &cobra.Command{
		Use:   "export TABLE DIR",
		Short: "Print a finished table as CSV, Markdown or LaTeX",
		Long: `export reads the runs of the table below DIR and prints the table as papers do: a group of lines for
each availability, a line for each method, columns for data sets and metrics. The LaTeX table needs the package
booktabs; the best mean of a group is bold. --printed puts the paper's numbers next to ours. The caption names our
numbers that cannot be compared with the paper's, because they have other rounds, clients or seeds.`,
		Example: `  rollcall results export fedawe-2 out --format latex --metric test_acc --printed > table.tex`,
		Args:    exactly(2, "%d arguments, want a table and a folder"),
	}
	fs := cmd.Flags()
	formatFlag(cmd, &e.Format, "markdown", compare.ExportFormats())
	fs.BoolVar(&e.Printed, "printed", false, "with the paper's numbers next to ours")
	fs.StringSliceVar(&named, "metric", nil, "only these metrics (default: all of the table)")
	fs.StringVar(&e.Caption, "caption", "", "of the table in LaTeX or Markdown (default: what the numbers are)")
	fs.StringVar(&e.Label, "label", "", "of the LaTeX table")
	registerMixed(fs, &mixed)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		rows, bad, err := tableRows(cmd.Context(), args[0], args[1], mixed)
		if err != nil {
			return err
		}
		table, _ := papers.TableByID(args[0]) // a sweep is no paper's table, and has no printed numbers
		compare.SortSummary(args[0], rows)
		grid := compare.Table(&table, rows).Grid()
		var known []string
		var wanted []metrics.Metric
		for _, c := range grid.Columns {
			known = append(known, string(c.Metric))
		}
		for _, m := range named { // each column is of one data set, so that several have the same metric
			if err := settings.OneOf("metric", m, files.Unique(known)); err != nil {
				return err
			}
			wanted = append(wanted, metrics.Metric(m))
		}
		grid = grid.Only(wanted...)
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
