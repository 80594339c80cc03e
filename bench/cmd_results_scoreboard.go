package main

import (
	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results/files"
	"rollcall/results/scoreboard"
)

// scoreboardFolder holds the results that are kept in the repository.
const scoreboardFolder = "results/replay"

// scoreboardCommand is `rollcall results scoreboard`: every table and figure of the papers, and whether ours agrees.
func (a *app) scoreboardCommand() *cobra.Command {
	var format, page string
	cmd := &cobra.Command{
		Use:   "scoreboard [DIR]",
		Short: "Say of every table and figure of the papers whether ours agrees",
		Long: `scoreboard reads DIR/ID/ and DIR/ID/READING/, where ID is a table or a figure: summary.csv of a table,
and ID.json, ID.csv and ID-paper.csv of a figure. It says for every table and figure of the five documents how much
of it was run, and what agrees with the paper: numbers within two standard errors of the difference, and
sentences. A number or a sentence of fewer rounds or seeds, or of other clients than the paper's, is not judged.
Then it lists what the papers say in words, and whether that holds.`,
		Example: `  rollcall results scoreboard
  rollcall results scoreboard out --format csv`,
		ValidArgsFunction: completeFolders,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return settings.Usagef("%s: %d folders named, want one at most", commandName(cmd), len(args))
			}
			return nil
		},
	}
	formatFlag(cmd, &format, "markdown", []string{"markdown", "csv"})
	cmd.Flags().StringVar(&page, "update", "", "write the tables into this page, between its two marked lines")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if page != "" && format != "markdown" {
			return settings.Usagef("--update: of no use with --format %s, want it with --format markdown", format)
		}
		dir := scoreboardFolder
		if len(args) > 0 {
			dir = args[0]
		}
		rows, notes, err := scoreboard.Read(cmd.Context(), dir)
		if err != nil {
			return err
		}
		for _, note := range notes {
			run.Logf(a.stderr, "results scoreboard: %s\n", note)
		}
		switch {
		case page != "":
			return scoreboard.Update(page, rows)
		case format == "csv":
			return files.WriteCSV(a.stdout, rows)
		}
		return scoreboard.WriteMarkdown(a.stdout, rows)
	}
	return cmd
}
