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
	}
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.compareCommand(), a.diffCommand(), a.mergeCommand(),
		a.exportCommand())
	return cmd
}

// formatFlag adds --format, which is checked before the command runs.
func formatFlag(cmd *cobra.Command, format *string, otherwise string, known []string) {
	cmd.Flags().StringVar(format, "format", otherwise, "what is printed: "+strings.Join(known, ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error { return settings.OneOf("format", *format, known) }
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
			table, err := papers.TableByID(args[0])
			if err != nil {
				return unknownName("table", args[0], papers.TableNames())
			}
			rows, err := readSummary(table.ID, args[1])
			if err != nil {
				return err
			}
			c := compare.Table(table.Printed, rows)
			switch format {
			case "csv":
				return files.WriteCSV(a.stdout, c.Rows)
			case "markdown":
				return c.Write(a.stdout, compare.Markdown)
			default:
				return c.Write(a.stdout, compare.Plain)
			}
		},
	}
	formatFlag(cmd, &format, "text", compareFormats)
	return cmd
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
	return nil, fmt.Errorf("results: no %s, want one there or at %s (`rollcall table %s` writes it)", places[0],
		places[1], table)
}
