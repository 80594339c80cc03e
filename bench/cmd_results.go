package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/files"
	"rollcall/results/papers"
)

var compareFormats = []string{"text", "csv", "markdown"}

func (a *app) resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "results", Short: "List, show, compare, merge and export what runs have left",
		Args: subcommandArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.compareCommand(), a.diffCommand(), a.mergeCommand(), a.exportCommand())
	return cmd
}

// exactly is for commands that take n arguments. otherwise says what there is and what is wanted: "%d cells, want one".
func exactly(n int, otherwise string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return settings.Usagef("%s: "+otherwise, commandName(cmd), len(args))
		}
		return nil
	}
}

func (a *app) compareCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "compare TABLE DIR",
		Short: "Set a table's summary beside the printed numbers",
		Long: `compare reads DIR/summary.csv (or DIR/TABLE/summary.csv, as ` + "`rollcall table`" + ` writes it under --out) and says of every
entry how far it is from the printed number, whether that is within two standard errors of the difference,
2·sqrt(s₁²/n₁ + s₂²/n₂), and of every column whether the methods come in the paper's order (Kendall's τ_b).`,
		Example:           `  rollcall results compare fedawe-2 out --format markdown`,
		ValidArgsFunction: cobra.FixedCompletions(papers.TableNames(), cobra.ShellCompDirectiveNoFileComp),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return settings.Usagef("%s: %d arguments, want a table and a folder", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := settings.OneOf("format", format, compareFormats); err != nil {
				return err
			}
			known := papers.TableNames()
			if settings.OneOf("table", args[0], known) != nil {
				return settings.Usagef("table %q: unknown%s, want one of %s", args[0], settings.DidYouMean(args[0], known), strings.Join(known, ", "))
			}
			return a.compare(args[0], args[1], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "what is printed: "+strings.Join(compareFormats, ", "))
	return cmd
}

func (a *app) compare(table, dir, format string) error {
	of, err := papers.TableByID(table)
	if err != nil {
		return err
	}
	rows, err := readSummary(table, dir)
	if err != nil {
		return err
	}
	c := compare.Table(of.Printed, rows)
	switch format {
	case "csv":
		return files.WriteCSV(a.stdout, c.Rows)
	case "markdown":
		return c.Write(a.stdout, compare.Markdown)
	default:
		return c.Write(a.stdout, compare.Plain)
	}
}

// readSummary reads the summary of a table in its own folder or in the one that holds all tables.
func readSummary(table, dir string) ([]results.SummaryRow, error) {
	places := []string{filepath.Join(dir, results.SummaryFile), filepath.Join(dir, table, results.SummaryFile)}
	for _, path := range places {
		rows, err := results.ReadSummary(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 || rows[0].Table != table {
			return nil, fmt.Errorf("%s: no rows of %s, want the summary of that table", path, table)
		}
		return rows, nil
	}
	return nil, fmt.Errorf("results: no %s, want one there or at %s (`rollcall table %s` writes it)", places[0], places[1], table)
}
