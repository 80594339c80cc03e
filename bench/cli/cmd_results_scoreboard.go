package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results/scoreboard"
)

// scoreboardFolder holds the results that are kept in the repository.
const scoreboardFolder = "results/replay"

// scoreboardCommand is `rollcall results scoreboard`: every table and figure of the papers, and whether ours agrees.
func (a *app) scoreboardCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "scoreboard [DIR]",
		Short: "Say of every table and figure of the papers whether ours agrees",
		Long: `scoreboard reads DIR/ID/ and DIR/ID/READING/, where ID is a table or a figure: summary.csv of a table,
and ID.json, ID.csv and ID-paper.csv of a figure. It says for every table and figure of the five documents how much
of it was run, and what agrees with the paper, differs from it, or cannot be told. A number or a sentence with fewer
rounds or seeds, or with other clients than the paper's, is not judged. Then it lists what the papers say in words and
in single numbers, with ours and the verdict.`,
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
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		if format == "csv" {
			return files.WriteCSV(a.stdout, rows)
		}
		return scoreboard.WriteMarkdown(a.stdout, rows)
	}
	return cmd
}

// fillCommand is `rollcall results fill`: a page with what other commands of results print.
func (a *app) fillCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fill PAGE",
		Short: "Write into a page what commands of results print",
		Long: `fill runs, in the current folder, the command of each line <!-- rollcall results … --> of a page, and
replaces the text between this line and the next line ` + scoreboard.BlockEnd + ` with its output. The rest of the page
stays as it is. If a command fails, the page is not written.`,
		Example: `  rollcall results fill docs/reproduction.md`,
		Args:    exactly(1, "%d arguments, want a page"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("results fill: %w", err)
			}
			filled, err := scoreboard.FillPage(string(text), func(words []string) (string, error) {
				return a.printed(cmd.Context(), words)
			})
			if err != nil {
				return fmt.Errorf("results fill: %s: %w", args[0], err)
			}
			return files.WriteFile(args[0], func(w io.Writer) error {
				_, err := io.WriteString(w, filled)
				return err
			})
		},
	}
}

// printed returns what a command of results prints. Commands that write files are refused: a page is no script.
func (a *app) printed(ctx context.Context, words []string) (string, error) {
	var out bytes.Buffer
	root := newRoot(&out, a.stderr, &texts{w: &out})
	named, _, err := root.Find(words)
	if err != nil {
		return "", err
	}
	group, name, _ := strings.Cut(commandName(named), " ")
	if group != "results" || slices.Contains([]string{"", "merge", "summarise", "fill"}, name) {
		return "", settings.Usagef("%s: want a command of results that writes nothing", strings.Join(words, " "))
	}
	root.SetArgs(words)
	err = root.ExecuteContext(ctx)
	return out.String(), err
}
