package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/algos/availability"
	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/plot"
	"rollcall/results/report"
)

// reportCommand is `rollcall report`: one HTML page of finished runs. Package results/report writes it.
func (a *app) reportCommand() *cobra.Command {
	var (
		to    string
		mixed bool
		named []string
	)
	cmd := &cobra.Command{
		Use:   "report [RUN…]",
		Short: "Write one HTML page of finished runs: tables next to the papers', figures",
		Long: `report reads the runs below each RUN (an output folder, or a folder of a table, a cell or a seed; out
if none is named) and writes one HTML page that needs no network and no server: the papers' tables next to ours,
training curves, availability, inclusion and importance for runs with decisions.csv, speed if there is a bench.csv.
The page's folder has each figure as SVG, PNG, PDF and CSV. Unreadable files are named and left out, and the exit
status is then 1.`,
		Example: `  rollcall report
  rollcall report out/fedawe-2 --to fedawe-2-report`,
	}
	cmd.ValidArgsFunction = completeFolders
	cmd.Flags().StringVar(&to, "to", "", "folder of the page (default: report in the first RUN)")
	registerMetric(cmd, &named, "numbers of sweeps and single runs, and further ones of the papers' tables (default: "+
		"each table's own)")
	registerMixed(cmd.Flags(), &mixed)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		chosen, err := metricsNamed(named)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			args = []string{"out"}
		}
		switch {
		case !cmd.Flags().Changed("to"):
			to = filepath.Join(args[0], "report")
		case to == "":
			return settings.Usagef(`report: --to "": want the folder of the page`)
		}
		return a.writeReport(cmd.Context(), to, args, mixed, chosen)
	}
	return cmd
}

// writeReport reads the runs below the folders, writes the page to a folder, and prints its path and size.
func (a *app) writeReport(
	ctx context.Context, to string, folders []string, mixed bool, chosen []metrics.Metric,
) error {
	in, err := readReport(ctx, folders, mixed, chosen)
	if err != nil {
		return err
	}
	if len(in.Runs) == 0 && len(in.Numbers) == 0 && len(in.Bad) == 0 {
		return fmt.Errorf("report: no run below %s, want %s of one at least (`rollcall run` and `rollcall table` "+
			"write it)", strings.Join(folders, ", "), results.CurveFile)
	}
	leave, err := run.Writable(to)
	if err != nil {
		return err
	}
	defer leave()
	in.Version, in.Made = run.Version(), time.Now()
	done, err := report.Write(ctx, to, in)
	if err != nil {
		return err
	}
	size := "less than 0.1 MB" // in place of 0.0 MB
	if mb := float64(done.Bytes) / 1e6; mb >= 0.1 {
		size = fmt.Sprintf("%.1f MB", mb)
	}
	runs, figures := files.Count(len(in.Runs), "run"), files.Count(done.Figures, "figure")
	if _, err := fmt.Fprintf(a.stdout, "%s: %s, %s, %s\n", done.Page, runs, figures, size); err != nil {
		return err
	}
	return a.complain("report", slices.Concat(in.Bad, done.Bad))
}

// complain logs the problems of files that could not be read, and returns one error for all of them. A command calls it
// last, after it has shown the rest.
func (a *app) complain(what string, bad []error) error {
	logErrors(a.stderr, bad...)
	if len(bad) > 0 {
		return fmt.Errorf("%s: %s with files, named above; the rest is done", what, files.Count(len(bad), "problem"))
	}
	return nil
}

// readReport reads the input of a report: runs, summaries without runs, speed, and the data of figures that show no
// runs.
func readReport(
	ctx context.Context, folders []string, mixed bool, chosen []metrics.Metric,
) (in report.Input, err error) {
	in.Folders, in.Mixed, in.Metrics = folders, mixed, chosen
	if in.Runs, in.Bad, err = results.FindRuns(ctx, folders...); err != nil {
		return in, err
	}
	tables, of := results.ByTable(in.Runs)
	for _, table := range tables {
		rows := papers.Summaries(table, of[table], mixed, chosen...)
		results.InGivenOrder(rows, results.SummariesOf(of[table])...)
		in.Numbers = append(in.Numbers, rows...)
	}
	// A folder may have a summary.csv without its runs. Its numbers are shown as unverified.
	alone, bad, err := results.FindSummaries(ctx, in.Numbers, folders...)
	if err != nil {
		return in, err
	}
	in.Numbers, in.Bad = append(in.Numbers, alone...), append(in.Bad, bad...)
	for _, folder := range folders {
		// bench and figure write to --out itself, so that the folder of a table or a cell has none of these files.
		in.Bench = append(in.Bench, optionalCSV[results.BenchRow](filepath.Join(folder, results.BenchFile), &in.Bad)...)
		for _, f := range papers.Figures() {
			rows := filepath.Join(folder, f.ID, f.ID+".csv")
			about := "As `rollcall figure " + f.ID + "` left them in " + folder + "."
			switch f.Measure.(type) {
			case papers.BaseAvailability:
				if len(in.Base) == 0 { // of the first folder that has it: the page has one such figure
					in.Base, in.BaseOf = optionalCSV[plot.Bin](rows, &in.Bad), about
				}
			case papers.Trajectories:
				if len(in.Paths) == 0 {
					in.Paths, in.PathsOf = optionalCSV[papers.FedAWEF6Row](rows, &in.Bad), about
				}
			}
		}
	}
	// Trajectories need no training: without the figure's file they follow from the settings of the runs.
	if len(in.Paths) == 0 {
		var bad []error
		in.Paths, in.PathsOf, bad = pathsOf(in.Runs)
		in.Bad = append(in.Bad, bad...)
	}
	return in, err
}

// optionalCSV reads a CSV file, and returns no rows if it is not there. It appends to bad what cannot be read.
func optionalCSV[T any](path string, bad *[]error) []T {
	rows, _, wrong := files.ReadCSVFileLenient[T](path, files.MostTable)
	missing := func(err error) bool { return errors.Is(err, fs.ErrNotExist) }
	*bad = append(*bad, slices.DeleteFunc(wrong, missing)...)
	return rows
}

// pathRounds is how many rounds of availability a report shows: 80, as many as FedAWE's Figure 6.
const pathRounds = 80

// pathsOf returns the availability of three example clients under each of FedAWE's processes that the runs have. The
// first run under a process gives its parameters. Other processes are left out, since FedAWE's Figure 6 shows these.
// bad names the runs whose settings are of no process.
func pathsOf(runs []results.Run) (rows []papers.FedAWEF6Row, about string, bad []error) {
	seen := map[string]bool{}
	for i := range runs {
		r := &runs[i]
		// The parameters are in run.json, which a run under way does not have yet.
		if r.Info == nil || seen[r.Availability] || !slices.Contains(papers.FedAWEPaths.Models, r.Availability) {
			continue
		}
		seen[r.Availability] = true
		text, _ := json.Marshal(r.Info.Settings) // it was read from JSON, so that it can be written as JSON
		o := availability.Defaults(papers.FedAWEPaths.Base, r.Seed)
		s := struct {
			Period             int
			Gamma, Cutoff, Low float64
		}{o.Period, o.Gamma, o.Cutoff, o.Low} // a run has only the parameters that its process reads
		err := json.Unmarshal(text, &s)
		var of []papers.FedAWEF6Row
		if err == nil {
			o.Period, o.Gamma, o.Cutoff, o.Low = s.Period, s.Gamma, s.Cutoff, s.Low
			of, err = many.Trajectories(r.Availability, o, pathRounds)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("report: %s: settings: %w", filepath.Join(r.Dir, results.RunFile), err))
			continue
		}
		rows = append(rows, of...)
		if about == "" {
			about = fmt.Sprintf("Period, amplitudes and the seed, %d, are the same as in the runs; the three "+
				"clients are examples.", r.Seed)
		}
	}
	return rows, about, bad
}
