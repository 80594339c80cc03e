package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// isFolder reports whether there is a folder at a path.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (a *app) mergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge OUT… --out INTO",
		Short: "Put output folders of several machines together",
		Long: `merge copies the runs of output folders (each as --out of run and table had it) into one, and writes the summaries of its
tables anew. INTO may exist; what is in it counts as well. A run that is there twice with the same numbers is kept once,
and a complete one is preferred to others. Two that differ are an error that names both files, and nothing is written then.
Files that cannot be read are named and left out; the exit status is 1 then.`,
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
				return settings.Usagef("results merge: --out missing, want the folder that everything goes to")
			}
			m, err := compare.Merge(cmd.Context(), out, args, papers.Summaries)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(a.stdout, "%s: %s copied, %d there already or twice, %s summarised\n", out, run.Count(m.Runs, "run"), m.Kept, run.Count(len(m.Tables), "table")); err != nil {
				return err
			}
			return a.complain("results merge", m.Bad)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder that everything goes to")
	return cmd
}
