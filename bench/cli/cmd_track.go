package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/nightly"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results/track"
)

// trackFormats are the values of --format of track run and track compare.
var trackFormats = []string{"text", "json"}

// trackCommand is `rollcall track`: histories of speed, one per machine. Package bench/nightly measures a night, and
// package results/track keeps histories and finds shifts in them. Its exit statuses differ from other commands', see
// [failed].
func (a *app) trackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "track", Short: "Follow the speed of machines night by night",
		Long: `track keeps a history of the times of the standard workloads, one file per machine, and tells a shift
from noise by a distribution-free test. Status 1 is a regression, 2 any other failure.`,
	}
	cmd.AddCommand(a.trackRunCommand(), a.trackCompareCommand(), a.trackPlotCommand())
	cmd.AddCommand(a.trackABCommand(), a.trackBisectCommand())
	for _, c := range cmd.Commands() { // newRoot does it for its own subcommands only
		completeNames(c)
	}
	return cmd
}

type trackFlags struct {
	history string     // folder of the histories
	rule    track.Rule // what counts as a shift
	nights  int        // the command fails on regressions that the last so many nights confirmed
	format  string     // one of trackFormats
}

// register adds the flags that every track command has.
func (t *trackFlags) register(fs *pflag.FlagSet) {
	t.rule = track.DefaultRule()
	fs.StringVar(&t.history, "history", "results/history", "folder of the histories")
	fs.Float64Var(&t.rule.Level, "level", t.rule.Level,
		"share of false alarms that is accepted, over all metrics of a night")
	fs.Float64Var(&t.rule.MinEffect, "min-effect", t.rule.MinEffect,
		"least change of a median that counts, as a fraction")
}

// registerVerdict adds the flags of register, and the flags of commands that judge a history.
func (t *trackFlags) registerVerdict(cmd *cobra.Command) {
	fs := cmd.Flags()
	t.register(fs)
	fs.IntVar(&t.nights, "nights", 1, "fail on regressions that one of the last so many nights confirmed")
	fs.StringVar(&t.format, "format", "text", "what is printed: "+strings.Join(trackFormats, ", "))
	completeWords(cmd, "format", trackFormats)
}

func (t *trackFlags) validate() error {
	if t.history == "" {
		return settings.Usagef("--history: empty, want a folder")
	}
	// Both conditions are written so that they refuse NaN too.
	if !(t.rule.Level > 0 && t.rule.Level < 1) {
		return settings.Usagef("--level %g: want above 0 and below 1", t.rule.Level)
	}
	if !(t.rule.MinEffect >= 0 && t.rule.MinEffect < 1e6) {
		return settings.Usagef("--min-effect %g: want 0 or more", t.rule.MinEffect)
	}
	return nil
}

func (t *trackFlags) validateVerdict() error {
	if err := t.validate(); err != nil {
		return err
	}
	if t.nights < 1 {
		return settings.Usagef("--nights %d: want 1 or more", t.nights)
	}
	return settings.OneOf("format", t.format, trackFormats)
}

// failed gives an error exit status 2, since status 1 says that something became slower. A cancelled context keeps its
// own status.
func failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return settings.Usagef("%w", err)
}

// say prints verdicts, and returns an error, which ends the command with status 1, if one has a regression.
func (a *app) say(verdicts []track.Verdict, format string) error {
	write := track.WriteText
	if format == "json" {
		write = track.WriteJSON
	}
	if err := write(a.stdout, verdicts); err != nil {
		return failed(err)
	}
	var slower []string
	for _, v := range verdicts {
		for _, f := range v.Regressions {
			slower = append(slower, fmt.Sprintf("%s %+.1f %% since run %s", f.Metric, 100*f.Change, f.FirstRun))
		}
	}
	if len(slower) > 0 {
		return fmt.Errorf("track: slower: %s", strings.Join(slower, "; "))
	}
	return nil
}

// histories reads the histories of a folder whose machines have a fingerprint that begins with this text; all of them
// for "". It logs what is wrong in the files, and fails if no history is left.
func (a *app) histories(dir, fingerprint string) ([]*track.History, error) {
	all, bad := track.ReadFolder(dir)
	logErrors(a.stderr, bad...)
	var kept []*track.History
	var known []string
	for _, h := range all {
		known = append(known, h.Machine.Fingerprint())
		// Fingerprints have hexadecimal digits in lower case.
		if strings.HasPrefix(h.Machine.Fingerprint(), strings.ToLower(fingerprint)) {
			kept = append(kept, h)
		}
	}
	switch {
	case len(all) == 0:
		return nil, settings.Usagef("track: %s: no history, want one (rollcall track run starts it)", dir)
	case len(kept) == 0:
		return nil, settings.Usagef("--fingerprint %q: no such machine in %s, want one of %s",
			fingerprint, dir, strings.Join(known, ", "))
	}
	return kept, nil
}

// trackCompareCommand is `rollcall track compare`: the shifts of speed in histories that are there already.
func (a *app) trackCompareCommand() *cobra.Command {
	var t trackFlags
	var fingerprint string
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Say which shifts the histories show",
		Long: `compare goes through every history night by night and reports the shifts, each with the first run
that shows it. A machine is compared only with itself. Status 1: one of the last --nights nights confirmed a
regression.`,
		Example: `  rollcall track compare
  rollcall track compare --fingerprint 3fa9 --nights 7 --format json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			histories, err := a.histories(t.history, fingerprint)
			if err != nil {
				return err
			}
			var verdicts []track.Verdict
			for _, h := range histories {
				verdicts = append(verdicts, track.Judge(h, t.rule.Trends(h), t.nights))
			}
			return a.say(verdicts, t.format)
		},
	}
	t.registerVerdict(cmd)
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "",
		"the machine whose fingerprint starts with this (default: all)")
	return cmd
}

// trackRunCommand is `rollcall track run`: one night of measurements, usually started by cron.
func (a *app) trackRunCommand() *cobra.Command {
	var t trackFlags
	var m run.Machine
	s := nightly.StandardSuite()
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure the standard workloads and append them to the machine's history",
		Long: `run measures rounds, client-steps and evaluations with the nets and the shapes of cifar10, svhn and
cinic10 on generated data (nothing is downloaded), the server's arithmetic, and the kernels of a
client-step; it appends the night to the history of the machine's fingerprint and says whether something became slower.
An interrupted night is not appended. If $` + nightly.WebhookVariable + ` is set, the verdict is posted there as JSON.`,
		Example: `  rollcall track run
  rollcall track run --device cuda:0 --precision tf32 --history /srv/rollcall/history`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			if err := s.Validate(); err != nil {
				return err
			}
			m.Out = t.history // Validate wants an output folder, and the history is the only one
			if err := m.Validate(); err != nil {
				return failed(err)
			}
			return a.trackRun(cmd.Context(), t, &nightly.Bench{Suite: s, Machine: m, Stderr: a.stderr})
		},
	}
	fs := cmd.Flags()
	t.registerVerdict(cmd)
	machine := pflag.NewFlagSet("", pflag.ContinueOnError) // a night reads no data set and writes to the history alone
	registerMachine(machine, &m)
	for _, name := range []string{"device", "precision", "threads"} {
		fs.AddFlag(machine.Lookup(name))
	}
	fs.IntVar(&s.Samples, "samples", s.Samples, "of every metric")
	fs.IntVar(&s.Passes, "passes", s.Passes, "in which the samples are taken, each with its own engine")
	fs.IntVar(&s.Clients, "clients", s.Clients, "clients that train in a round; another number is another history")
	return cmd
}

// nightBench measures a night. It is an interface so that tests need not measure for minutes. Identify says which
// machine this is, so that a history that cannot take the night is found before it is measured.
type nightBench interface {
	Identify() (track.Machine, error)
	Measure(ctx context.Context) ([]track.Measurement, error)
	Conditions() track.Conditions // after Measure
}

// trackRun measures a night, appends it to the history, and prints and posts the verdict. If posting fails it logs that
// and keeps its exit status: what a machine measured does not depend on a web server.
func (a *app) trackRun(ctx context.Context, t trackFlags, bench nightBench) error {
	hook := os.Getenv(nightly.WebhookVariable)
	if err := nightly.CheckWebhook(hook); err != nil {
		return failed(err)
	}
	v, err := a.night(ctx, t, bench)
	if err != nil {
		return failed(err)
	}
	slower := a.say([]track.Verdict{v}, t.format)
	if hook != "" {
		if err := nightly.PostVerdict(ctx, hook, v); err != nil {
			logErrors(a.stderr, err)
		}
	}
	return slower
}

// night measures one night, appends it to the machine's history, and judges the history.
func (a *app) night(ctx context.Context, t trackFlags, bench nightBench) (v track.Verdict, err error) {
	// The writer locks the folder for the whole night: two nights at once would slow each other down.
	w, err := track.NewWriter(t.history)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	machine, err := bench.Identify()
	if err != nil {
		return v, err
	}
	if err := w.Check(machine); err != nil {
		return v, err
	}
	begun := time.Now().Truncate(time.Second) // the run's name has whole seconds
	run.Logf(a.stderr, "track: %s\n", machine)
	values, err := bench.Measure(ctx)
	if err != nil {
		return v, err
	}
	n := track.Night{
		Run: track.RunName(begun), Time: begun, Version: run.Version(), Go: runtime.Version(),
		Conditions: bench.Conditions(), Values: values,
	}
	for _, line := range nightly.Warnings(machine, n) {
		run.Logf(a.stderr, "track: %s\n", line)
	}
	if err := w.Append(machine, n); err != nil {
		return v, err
	}
	// Judge what is on disk, so that the verdict is the one that compare would give.
	h, bad := track.Read(w.Path(machine))
	logErrors(a.stderr, bad...)
	if h == nil || h.Machine != machine {
		return v, fmt.Errorf("track: %s: its first row is of another machine, want %s",
			w.Path(machine), machine.Fingerprint())
	}
	run.Logf(a.stderr, "track: run %s, %d metrics, %.0f s, %s\n",
		n.Run, len(values), time.Since(begun).Seconds(), h.Path)
	return track.Judge(h, t.rule.Trends(h), t.nights), nil
}

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
				files.DidYouMean(m, names), strings.Join(names, ", "))
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
	if err := files.WriteFile(path, figure.WriteSVG); err != nil {
		return failed(err)
	}
	_, err = fmt.Fprintln(a.stdout, path)
	return failed(err)
}
