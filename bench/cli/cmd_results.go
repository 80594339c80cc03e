package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/run/folder"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/papers"
)

// resultsCommand is `rollcall results`: commands that read what runs have left; recheck alone trains.
func (a *app) resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "results", Short: "List, show, verify, recheck, compare, merge and export what runs have left",
	}
	cmd.AddCommand(a.listCommand(), a.showCommand(), a.curvesCommand(), a.compareCommand(), a.diffCommand(),
		a.mergeCommand(), a.exportCommand(), a.verifyCommand(), a.powerCommand(),
		a.summariseCommand(), a.recheckCommand(), a.eventsCommand())
	return cmd
}

// formatFlag adds --format with its default and its possible values, and checks the value before the command runs:
// reading thousands of runs takes long.
func formatFlag(cmd *cobra.Command, format *string, otherwise string, known []string) {
	cmd.Flags().StringVar(format, "format", otherwise, "what is printed: "+strings.Join(known, ", "))
	completeWords(cmd, "format", known)
	cmd.PreRunE = func(*cobra.Command, []string) error { return settings.OneOf("format", *format, known) }
}

// registerMixed adds --mixed. Without it, seeds of a cell that are not alike have a row for each group: a mean over
// different programs or data says nothing.
func registerMixed(fs *pflag.FlagSet, mixed *bool) {
	fs.BoolVar(mixed, "mixed", false, "one mean over seeds that are not alike: of other numerics, revisions or data; "+
		"it is labelled [mixed: …], and compared with no printed number")
}

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
		return writeRows(a.stdout, format, compare.ListFailed(l.runs, l.work, l.why), compare.WriteFailed)
	}
	return writeRows(a.stdout, format, compare.ListRuns(l.runs, l.work), compare.WriteList)
}

func writeRows[R any](w io.Writer, format string, rows []R, text func(io.Writer, []R, int) error) error {
	switch {
	case format == "csv":
		return files.WriteCSV(w, rows)
	case len(rows) > 0:
		return text(w, rows, columnsOf(w, math.MaxInt))
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
				return fmt.Errorf("results show: %s: %s, want one", folder, files.Count(len(cells), "cell"))
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

// curvesCommand is `rollcall results curves`: all curves in one table, for pandas, R and spreadsheets.
func (a *app) curvesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "curves [DIR…]",
		Short: "Print all curves as one CSV, with the settings of their runs",
		Long: `curves prints one CSV of every row of every curve.csv below the folders (out if none is named). Its
columns are those of curve.csv, the status of the run as in results list, its folder, and each setting in run.json.
A setting is empty for a run that does not have it. A run without run.json, in progress or killed, has none; its
column params has what differs from the preset. The column lr is the rate of a round, and settings.lr the setting.
Damaged runs are named on standard error and left out, and the exit status is then 1.`,
		Example:           `  rollcall results curves out > curves.csv`,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"out"}
			}
			l := &lister{folders: args}
			if err := l.read(cmd.Context()); err != nil {
				return err
			}
			runs := slices.DeleteFunc(l.runs, func(r results.Run) bool { return r.Damaged })
			err := results.WriteCurvesWithSettings(a.stdout, runs, func(r *results.Run) results.RunStatus {
				return compare.StatusOf(r, l.work)
			})
			return errors.Join(err, a.complain("results curves", l.bad))
		},
	}
}

// verified is the output of `results verify --json`.
type verified struct {
	Runs     []verifiedRun `json:"runs"`
	Problems []string      `json:"problems"` // a line each
}

// verifiedRun is one run in the output of `results verify --json`.
type verifiedRun struct {
	Folder string            `json:"folder"`
	Status results.RunStatus `json:"status"`
	Schema int               `json:"schema"` // 0: there is no run.json
}

// verifyCommand is `rollcall results verify`: are the files of runs what their run.json says? Merging, reports and
// tables check the same, so that the command serves to look before a long job, and after copying files.
func (a *app) verifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [DIR…]",
		Short: "Check runs against their run.json",
		Long: `verify reads every run below each DIR (out if none is named) and compares it with its run.json: the
settings and the seed, the folder's name, every row of curve.csv (one run, the rounds of the settings, finite
numbers, accuracies in 0 … 1), and the checksums of its files. Two seeds of a cell with the same numbers count as
copies. verify names every error, and the exit status is then 1; a run of schema 1, which cannot be checked, is an
error too. table, sweep, figure, report and results check runs in the same way. Checksums find accidents, but not
forgeries: a forger can write checksums too.`,
		Example: `  rollcall results verify out
  rollcall results verify out/fedawe-2 --json`,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"out"}
			}
			runs, bad, err := results.FindRuns(cmd.Context(), args...)
			if err != nil {
				return err
			}
			if len(runs) == 0 && len(bad) == 0 {
				return fmt.Errorf("results verify: no run below %s, want one at least", strings.Join(args, ", "))
			}
			return a.verify(runs, bad, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return cmd
}

// unfinishedSettings returns the settings of a run that has no run.json yet: those that its curve names, if they have
// the hash in the name of its folder; otherwise, as with a trace, nil.
func unfinishedSettings(r *results.Run) *settings.Settings {
	s, err := settings.Defaults(r.Method, r.Preset, r.Data)
	given := settings.Given{
		{Name: "net", Value: r.Net},
		{Name: "availability", Value: r.Availability},
		{Name: "clients", Value: strconv.Itoa(r.Clients)},
	}
	if r.Alpha.Valid {
		given = append(given, algos.Setting{Name: "alpha", Value: r.Alpha.String()})
	}
	for name, value := range r.Params.All() {
		given = append(given, algos.Setting{Name: name, Value: value})
	}
	for name, value := range given.All() {
		if err == nil {
			err = s.Set(name, value)
		}
	}
	cell := filepath.Base(filepath.Dir(r.Dir))
	if err != nil || cell != results.CellFolder(r.Setup, results.Hash(s)) {
		return nil
	}
	return &s
}

// checkUnfinished compares the rounds of a run that has no run.json yet with those of its [unfinishedSettings].
func checkUnfinished(r *results.Run) error {
	if r.Status() != results.RunUnfinished {
		return nil
	}
	s := unfinishedSettings(r)
	if s == nil {
		return nil
	}
	w := folder.Want{AnyKind: true, Evaluates: s.Evaluates}
	w.About.Rounds, w.Row = s.Rounds, results.CurveRow{Setup: r.Setup, Params: r.Params, Seed: r.Seed}
	if err := w.CheckRows(r.Curve); err != nil {
		return fmt.Errorf("results: %s: %w", filepath.Join(r.Dir, results.CurveFile), err)
	}
	return nil
}

// verify prints how many runs there are of each status, and what is wrong with them. It fails if anything is.
func (a *app) verify(runs []results.Run, bad []error, asJSON bool) error {
	found := verified{Problems: []string{}} // not nil, so that JSON without problems has [] and not null
	counts := map[results.RunStatus]int{}
	for i := range runs {
		r := &runs[i]
		v := verifiedRun{Folder: r.Dir, Status: r.Status()}
		counts[v.Status]++
		if err := checkUnfinished(r); err != nil {
			bad = append(bad, err)
		}
		if r.Info != nil {
			v.Schema = r.Info.Schema
			// Schema 1 had no checksums and no revisions: nothing is wrong with such a run, and nothing is proved.
			if v.Schema < results.Schema && !r.Damaged {
				bad = append(bad,
					fmt.Errorf("%s: run.json of schema %d, want %d: unverified", r.Dir, v.Schema, results.Schema))
			}
		}
		found.Runs = append(found.Runs, v)
	}
	for _, err := range bad {
		found.Problems = append(found.Problems, files.OneLine(err.Error()))
	}
	if asJSON {
		if err := files.WriteJSON(a.stdout, found); err != nil {
			return err
		}
	} else {
		var words []string
		for _, s := range results.RunStatuses() {
			if counts[s] > 0 {
				words = append(words, fmt.Sprintf("%d %s", counts[s], s))
			}
		}
		all := files.Count(len(runs), "run")
		if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", all, strings.Join(words, ", ")); err != nil {
			return err
		}
	}
	logErrors(a.stderr, bad...)
	if len(bad) > 0 {
		return fmt.Errorf("results verify: %s, named above", files.Count(len(bad), "problem"))
	}
	return nil
}

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
				run.Logf(a.stderr, "results merge: %s\n", files.OneLine(note))
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %s copied, %d already there or twice, %s summarised\n", out,
				files.Count(m.Runs, "run"), m.Kept, files.Count(len(m.Tables), "table"))
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
			if err := compare.WriteSummary(path, table, of[table], mixed, path); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %s\n", path, files.Count(len(of[table]), "run"))
			return errors.Join(err, a.complain("results summarise", bad))
		},
	}
	registerMixed(cmd.Flags(), &mixed)
	return cmd
}
