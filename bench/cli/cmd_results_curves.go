package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"rollcall/results"
	"rollcall/results/compare"
)

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
