package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
)

// allTables stands for every table with `results export --wide`.
const allTables = "all"

// exportWide is `rollcall results export --wide`: a line for each run of a table below some folders. The metrics are
// those of the words of --metric.
func (a *app) exportWide(cmd *cobra.Command, table string, folders, named []string) error {
	for _, flag := range []string{"printed", "caption", "label", "mixed", "methods", "setup"} {
		if cmd.Flags().Changed(flag) {
			return settings.Usagef("--%s: of no use with --wide, want one of the two", flag)
		}
	}
	if format := cmd.Flags().Lookup("format"); format.Changed && format.Value.String() != "csv" {
		return settings.Usagef("--format %s: of no use with --wide, want csv", format.Value)
	}
	chosen, err := metricsNamed(named)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		chosen = metrics.OfCurves
	}
	l := &lister{}
	for _, folder := range folders {
		if own := filepath.Join(folder, table); table != allTables && isFolder(own) { // folder is that of all tables
			folder = own
		}
		l.folders = append(l.folders, folder)
	}
	if err := l.read(cmd.Context()); err != nil {
		return err
	}
	runs := slices.DeleteFunc(l.runs, func(r results.Run) bool { return r.Damaged || len(r.Curve) == 0 })
	if table != allTables {
		tables, of := results.ByTable(runs)
		if runs = of[table]; len(runs) == 0 {
			return errors.Join(a.complain("results export", l.bad), fmt.Errorf(
				"results export: no run of %s below %s, want %s", table, strings.Join(folders, ", "),
				strings.Join(append(tables, allTables), ", ")))
		}
	}
	err = compare.WriteWide(a.stdout, runs, chosen, func(r *results.Run) results.RunStatus {
		return compare.StatusOf(r, l.work)
	})
	return errors.Join(err, a.complain("results export", l.bad))
}
