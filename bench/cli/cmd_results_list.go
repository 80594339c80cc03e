package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
)

// completeFolders lets the shell complete arguments that are folders.
var completeFolders = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

// listCommand is `rollcall results list`: which runs there are, and how far they are.
func (a *app) listCommand() *cobra.Command {
	var (
		format        string
		failed, watch bool
	)
	cmd := &cobra.Command{
		Use:   "list [DIR…]",
		Short: "List the runs of an output folder, and how far they are",
		Long: `list shows every cell below the folders (out if none is named): which seeds it has, how many of their
rounds are done, and the status of the runs. A run is complete, running, interrupted, diverged, failed, unfinished
(it was killed) or damaged (its files do not verify). Damaged files are named on standard error, and the exit status
is then 1.

A run counts as running until its worker is known to have ended. A worker on another machine counts as dead after
5 minutes of silence, and only workers that need the same run wait for that. Repeat the command that started a run to
resume it if it is interrupted, failed or unfinished.`,
		Example: `  rollcall results list out/fedawe-2
  rollcall results list --failed
  rollcall results list --watch`,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch && (failed || cmd.Flags().Changed("format")) {
				return settings.Usagef("results list: --watch: of no use with --failed and --format, want one of them")
			}
			if len(args) == 0 {
				args = []string{"out"}
			}
			// A list shows whatever can be read. Problems with files are logged after it.
			l := &lister{folders: args}
			if watch {
				return a.watch(cmd.Context(), l)
			}
			if err := l.read(cmd.Context()); err != nil {
				return err
			}
			return errors.Join(a.list(l, format, failed), a.complain("results list", l.bad))
		},
	}
	formatFlag(cmd, &format, "text", []string{"text", "csv"})
	cmd.Flags().BoolVar(&failed, "failed", false,
		"list only runs that are neither complete nor running, one per line, and why")
	cmd.Flags().BoolVar(&watch, "watch", false,
		"list again every 2 s, in place on a terminal, elsewhere only the changes, "+
			"until nothing is running or Ctrl-C")
	return cmd
}

// list prints the runs that l has read: all by cell, or only the failed ones, each with the reason. If there are none,
// text is empty and CSV is its header, so that programs can read it.
func (a *app) list(l *lister, format string, failed bool) error {
	if failed {
		rows := compare.ListFailed(l.runs, l.work, l.why)
		switch {
		case format == "csv":
			return files.WriteCSV(a.stdout, rows)
		case len(rows) > 0:
			return compare.WriteFailed(a.stdout, rows)
		}
		return nil
	}
	rows := compare.ListRuns(l.runs, l.work)
	switch {
	case format == "csv":
		return files.WriteCSV(a.stdout, rows)
	case len(rows) > 0:
		return compare.WriteList(a.stdout, rows)
	}
	return nil
}

// showCommand is `rollcall results show`: everything about one cell.
func (a *app) showCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "show CELL",
		Short: "Show settings and final numbers of one cell",
		Long: `show prints the settings of one cell and the numbers that each of its seeds has reached. CELL is a
cell's folder, or a part of its name that no other cell below --out has, such as the ten digits at its end.`,
		Example: `  rollcall results show out/run/fedawe_cifar10_sine_1a2b3c4d5e
  rollcall results show 1a2b3c4d5e`,
		ValidArgsFunction: completeFolders,
		Args:              exactly(1, "%d cells named, want one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isFolder(args[0]) && cmd.Flags().Changed("out") {
				return settings.Usagef("results show: --out %s: of no use with a cell's folder, %s, "+
					"want one of the two", out, args[0])
			}
			folder, err := cellNamed(args[0], out)
			if err != nil {
				return err
			}
			runs, bad, err := results.FindRuns(cmd.Context(), folder)
			if err != nil {
				return err
			}
			// true: seeds that are not alike are still one cell here, which names what they differ in.
			cells := results.Cells(runs, true)
			if len(cells) != 1 {
				return fmt.Errorf("results show: %s: %s, want one", folder, run.Count(len(cells), "cell"))
			}
			if err := compare.WriteCell(a.stdout, cells[0]); err != nil {
				return err
			}
			return a.complain("results show", bad)
		},
	}
	cmd.Flags().StringVar(&out, "out", "out", "folder of everything that was written")
	return cmd
}

// cellNamed returns the folder of a cell. name is its path, or a part of its name that only one cell below out has.
func cellNamed(name, out string) (string, error) {
	if isFolder(name) {
		return name, nil
	}
	// Cells lie at OUT/TABLE/CELL. No curve is read: the names of folders are enough to find one.
	// Glob within the folder, whose own name may have brackets or stars.
	found, err := fs.Glob(os.DirFS(out), "*/*")
	if err != nil {
		return "", fmt.Errorf("results show: %w", err)
	}
	for i, path := range found {
		found[i] = filepath.Join(out, filepath.FromSlash(path))
	}
	found = slices.DeleteFunc(found, func(path string) bool {
		return !strings.Contains(filepath.Base(path), name) || !isFolder(path)
	})
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("results show: %q: no folder, and no cell below %s has it in its name, want a cell "+
			"(`rollcall results list %s`)", name, out, out)
	}
	return "", fmt.Errorf("results show: %q: %d cells have it in their names, want one of %s",
		name, len(found), strings.Join(found, ", "))
}
