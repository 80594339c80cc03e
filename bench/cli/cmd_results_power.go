package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/power"
	"rollcall/results/stats"
)

// usualDetect is what `rollcall results power` looks for without flags: a percentage point of accuracy.
var usualDetect = stats.Detect{Difference: 0.01, Significance: 0.05, Power: 0.8}

// powerCommand is `rollcall results power`: which seeds make the spread, and how many seeds a difference needs.
func (a *app) powerCommand() *cobra.Command {
	var (
		format string
		metric = string(metrics.TestAcc)
		find   = usualDetect
	)
	cmd := &cobra.Command{
		Use:   "power DIR",
		Short: "Say which seeds make the spread, and how many a difference needs",
		Long: `power reads the runs of rollcall sweep --crossed below DIR. It splits the variance of a metric into
the parts of the seeds: split, φ, availability, initial weights, batches, and interactions, by an analysis of variance
of random effects, with 95 % intervals. Then it says how many seeds a t-test needs to find a difference of two methods:
with different seeds, and with the same seeds for both, from the variance of their differences.`,
		Example: `  rollcall results power out/sweep --difference 0.005
  rollcall results power out/sweep --format csv > power.csv`,
		ValidArgsFunction: completeFolders,
		Args:              exactly(1, "%d folders named, want one"),
	}
	fs := cmd.Flags()
	formatFlag(cmd, &format, "text", compareFormats)
	fs.StringVar(&metric, "metric", metric, "what is measured: "+strings.Join(measured, ", "))
	fs.Float64Var(&find.Difference, "difference", find.Difference,
		"difference of the means to be found; of accuracies a fraction")
	fs.Float64Var(&find.Significance, "significance", find.Significance,
		"of the two-sided test: how often it finds a difference by chance")
	fs.Float64Var(&find.Power, "power", find.Power, "how often the test finds the difference")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := validateDetect(find); err != nil {
			return err
		}
		if err := settings.OneOf("metric", metric, measured); err != nil {
			return err
		}
		runs, bad, err := results.FindRuns(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		rows, err := crossedRows(runs, args[0], metrics.Metric(metric), find)
		if err == nil {
			if format == "csv" {
				err = files.WriteCSV(a.stdout, rows)
			} else {
				err = power.Write(a.stdout, rows, find, format == "markdown")
			}
		}
		return errors.Join(err, a.complain("results power", bad))
	}
	return cmd
}

// validateDetect reports the first impossible number. Its comparisons refuse NaN too.
func validateDetect(find stats.Detect) error {
	switch {
	case !(find.Difference > 0) || !stats.Finite(find.Difference):
		return settings.Usagef("--difference %g: want a positive number", find.Difference)
	case !(find.Significance > 0 && find.Significance < 1):
		return settings.Usagef("--significance %g: want more than 0 and less than 1", find.Significance)
	case !(find.Power > find.Significance && find.Power < 1):
		return settings.Usagef("--power %g: want more than --significance %g and less than 1",
			find.Power, find.Significance)
	}
	return nil
}

// crossedRows returns the parts of the spread in all crossed designs among the runs below a folder.
func crossedRows(
	runs []results.Run, folder string, metric metrics.Metric, find stats.Detect,
) ([]power.Spread, error) {
	designs, bad := power.Designs(runs)
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	if len(designs) == 0 {
		return nil, fmt.Errorf("results power: no complete runs below %s that differ in two seeds or more, "+
			"want the runs of rollcall sweep --crossed", folder)
	}
	return power.Estimate(designs, metric, find)
}

// printCrossed prints the parts of the spread in the runs of a crossed sweep, in place of its table, which has a line
// for every run. path is the summary.csv beside the runs. If runs are missing it only names the file.
func (a *app) printCrossed(_ *papers.Table, rows []results.SummaryRow, path string) error {
	whole := !slices.ContainsFunc(rows, func(r results.SummaryRow) bool { return r.N == 0 })
	if len(rows) > 0 && whole {
		folder := filepath.Dir(path)
		// The runs have ended, so that reading them needs no context that ends.
		runs, bad, err := results.FindRuns(context.Background(), folder)
		if err != nil {
			return err
		}
		parts, err := crossedRows(runs, folder, metrics.TestAcc, usualDetect)
		if err := errors.Join(err, a.complain("sweep", bad)); err != nil {
			return err
		}
		if err := power.Write(a.stdout, parts, usualDetect, false); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "\n%s\n", path)
	return err
}
