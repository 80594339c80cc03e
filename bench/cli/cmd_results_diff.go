package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
)

// measured are the metrics of curve.csv, which every run has. Other metrics exist for single tables alone.
var measured = []string{
	string(metrics.TestAcc), string(metrics.TrainAcc), string(metrics.TestLoss), string(metrics.TrainLoss),
}

// diffCommand is `rollcall results diff`: did a change of the program, a machine or a setting change the results?
func (a *app) diffCommand() *cobra.Command {
	var (
		format string
		named  []string
		o      compare.DiffOptions
	)
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two sets of runs, cell by cell and seed by seed",
		Long: `diff matches the complete runs below two folders by cell and seed. For every cell it prints the mean
over the seeds of B − A with a Student confidence interval; the number of a run is the mean over its last rounds, see
--last. Differences are paired, so that the effect of a seed on both sides cancels. diff also says in what else the two
runs of a pair differ (numerics, data, version, device). --ignore lets the sides differ in some columns: --ignore method
compares two methods.`,
		Example: `  rollcall results diff out-v1 out-v2
  rollcall results diff out/fedawe-2 out-paper/fedawe-2 --ignore preset,params`,
		ValidArgsFunction: completeFolders,
		Args:              exactly(2, "%d folders named, want two"),
	}
	fs := cmd.Flags()
	formatFlag(cmd, &format, "text", compareFormats)
	fs.StringSliceVar(&named, "metric", []string{string(metrics.TestAcc)},
		"what is compared: "+strings.Join(measured, ", "))
	fs.Float64Var(&o.Level, "level", 0.95, "of the confidence intervals")
	fs.IntVar(&o.Last, "last", results.ProtocolRounds, "how many last rounds a run's number is the mean of")
	fs.StringSliceVar(&o.Ignore, "ignore", nil, "columns that may differ: "+strings.Join(results.KeyColumns(), ", "))
	registerMixed(fs, &o.Mixed)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !(o.Level > 0 && o.Level < 1) { // refuses NaN too
			return settings.Usagef("--level %g: want more than 0 and less than 1", o.Level)
		}
		if o.Last < 1 {
			return settings.Usagef("--last %d: want at least 1", o.Last)
		}
		for _, m := range named {
			if err := settings.OneOf("metric", m, measured); err != nil {
				return err
			}
			o.Metrics = append(o.Metrics, metrics.Metric(m))
		}
		for _, c := range o.Ignore {
			if err := settings.OneOf("ignore", c, results.KeyColumns()); err != nil {
				return err
			}
		}
		// A and B are read in two calls, because one call would count a run that both have once.
		runsA, badA, err := results.FindRuns(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		runsB, badB, err := results.FindRuns(cmd.Context(), args[1])
		if err != nil {
			return err
		}
		// A difference between damaged runs would be read as an effect, so that nothing is compared.
		if bad := slices.Concat(badA, badB); len(bad) > 0 {
			logErrors(a.stderr, bad...)
			problems := run.Count(len(bad), "problem")
			return fmt.Errorf("results diff: %s with files, named above; nothing is compared", problems)
		}
		d, err := compare.Diff(runsA, runsB, o)
		if err != nil {
			return err
		}
		switch {
		case len(d.Rows) == 0: // an error, because an empty table reads like "no difference"
			err = errors.New("results diff: no complete run of A has a partner in B: the same settings and seed " +
				"(--ignore lets settings differ)")
		case format == "csv":
			err = files.WriteCSV(a.stdout, d.Rows)
		case format == "markdown":
			err = d.Write(a.stdout, compare.Markdown)
		default:
			err = d.Write(a.stdout, compare.Plain)
		}
		return err
	}
	return cmd
}
