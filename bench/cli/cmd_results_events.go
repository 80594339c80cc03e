package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/events"
)

// eventsCommand is `rollcall results events`: what --events writes, of runs that were trained without it.
func (a *app) eventsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "events [DIR…]",
		Short: "Write TensorBoard event files of runs, without training them",
		Long: `events writes a TensorBoard event file next to every curve.csv below the folders (out if none is named),
as run, table and sweep do with --events (tensorboard --logdir out): the curve, every setting and the seed as
hyperparameters, the status, and of a complete run its numbers as in summary.csv. An event file that is there is
replaced. Runs in progress are left out. Damaged runs are named on standard error and left out, and the exit status is
then 1.`,
		Example:           `  rollcall results events out`,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"out"}
			}
			l := &lister{folders: args}
			if err := l.read(cmd.Context()); err != nil {
				return err
			}
			written, running, bad := 0, 0, l.bad
			for i := range l.runs {
				r := &l.runs[i]
				switch status := compare.StatusOf(r, l.work); {
				case status == results.RunRunning:
					running++
				case status == results.RunDamaged, len(r.Curve) == 0: // named already, or without a row to show
				default:
					if err := writeEvents(r); err != nil {
						bad = append(bad, err)
						continue
					}
					written++
				}
			}
			if running > 0 {
				run.Logf(a.stderr, "results events: %s in progress left out\n", files.Count(running, "run"))
			}
			if _, err := fmt.Fprintf(a.stdout, "%s written\n", files.Count(written, "event file")); err != nil {
				return err
			}
			return a.complain("results events", bad)
		},
	}
}

// writeEvents writes the event file of a run. A run that was killed has no run.json: its settings are those that its
// curve names, and it began as long before the last change of its curve as the last row took.
func writeEvents(r *results.Run) error {
	if r.Info != nil {
		return events.Write(r.Dir, *r.Info, r.Curve)
	}
	file, err := os.Stat(filepath.Join(r.Dir, results.CurveFile))
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	elapsed := r.Curve[len(r.Curve)-1].ElapsedSec
	info := results.RunInfo{Seed: r.Seed, Started: file.ModTime().Add(-time.Duration(elapsed * float64(time.Second)))}
	if s := unfinishedSettings(r); s != nil {
		info.Settings = s
	} else {
		info.Settings = curveSettings(r)
	}
	return events.Write(r.Dir, info, r.Curve)
}

// curveSettings returns the settings that the rows of a curve have: those of its cell, and those that differ from the
// preset.
func curveSettings(r *results.Run) map[string]any {
	known := map[string]any{
		"method": r.Method, "preset": r.Preset, "data": r.Data, "net": r.Net, "availability": r.Availability,
		"clients": r.Clients,
	}
	if r.Alpha.Valid {
		known["alpha"] = r.Alpha.Value
	}
	for name, text := range r.Params.All() {
		known[name] = text
		if x := 0.0; json.Unmarshal([]byte(text), &x) == nil { // refuses NaN, which has no JSON
			known[name] = x
		}
	}
	return known
}
