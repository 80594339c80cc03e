package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/results/plot"
	"rollcall/results/track"
)

// trackPlotCommand is `rollcall track plot`: drawings of histories.
func (a *app) trackPlotCommand() *cobra.Command {
	var t trackFlags
	var fingerprint, out string
	cmd := &cobra.Command{
		Use:   "plot [METRIC…]",
		Short: "Draw histories, with their shifts marked",
		Long: `plot writes an SVG per machine to OUT/track and prints its path: a panel per metric, with the value
of every night, its samples as a band, the level between shifts, and a line at the first night of each shift.`,
		Example: `  rollcall track plot
  rollcall track plot round/cifar10 --fingerprint 3fa9`,
		RunE: func(_ *cobra.Command, metrics []string) error {
			if err := t.validate(); err != nil {
				return err
			}
			histories, err := a.histories(t.history, fingerprint)
			if err != nil {
				return err
			}
			for _, h := range histories {
				if err := a.trackPlot(h, t.rule, metrics, out); err != nil {
					return err
				}
			}
			return nil
		},
	}
	t.register(cmd.Flags())
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "",
		"the machine whose fingerprint starts with this (default: all)")
	cmd.Flags().StringVar(&out, "out", "out", "folder of everything that is written")
	return cmd
}

// trackPlot draws the history of one machine and prints the path of the SVG: all metrics, or those that are named.
func (a *app) trackPlot(h *track.History, rule track.Rule, metrics []string, out string) error {
	trends := rule.Trends(h) // of all metrics: whether one shifts depends on the others of its night
	var names []string
	for _, t := range trends {
		names = append(names, t.Metric)
	}
	for _, m := range metrics {
		if !slices.Contains(names, m) {
			return settings.Usagef("track plot: %s: no metric %q%s, want one of %s", h.Path, m,
				settings.DidYouMean(m, names), strings.Join(names, ", "))
		}
	}
	name := strings.TrimSuffix(filepath.Base(h.Path), ".csv")
	if len(metrics) > 0 {
		trends = slices.DeleteFunc(trends, func(t track.Trend) bool { return !slices.Contains(metrics, t.Metric) })
		// A drawing of some metrics does not replace the drawing of all. Names of metrics have a slash: round/cifar10.
		name += "_" + strings.ReplaceAll(strings.Join(metrics, "_"), "/", "-")
	}
	figure, err := track.Plot(h, trends)
	if err != nil {
		return failed(err)
	}
	path := filepath.Join(out, "track", name+".svg")
	if err := plot.WriteFigure(path, figure); err != nil {
		return failed(err)
	}
	_, err = fmt.Fprintln(a.stdout, path)
	return failed(err)
}
