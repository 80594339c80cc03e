package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// trackFormats are the values of --format of the commands that judge.
var trackFormats = []string{"text", "json"}

// trackCommand is `rollcall track`: histories of speed, one per machine. Package bench/nightly measures a night, and
// package results/track keeps histories and finds events in them. Its exit statuses differ from other commands', see
// [failed].
func (a *app) trackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "track", Short: "Follow the speed of machines night by night",
		Long: `track keeps a history of the times of the standard workloads, one file per machine, tells a shift
from noise by a distribution-free test, and follows every cause of shifts as an event until it is fixed or accepted.
Status 1: something is slower. Status 2: any other failure, or a metric of the last night that cannot be judged.`,
	}
	cmd.AddCommand(a.trackRunCommand(), a.trackStatusCommand(), a.trackAcceptCommand(), a.trackReportCommand(),
		a.trackJudgeCommand(), a.trackABCommand(), a.trackBisectCommand())
	for _, c := range cmd.Commands() { // newRoot does it for its own subcommands only
		completeNames(c)
	}
	return cmd
}

type trackFlags struct {
	history string     // folder of the histories
	machine string     // name of a machine; when histories are read, or the beginning of its fingerprint
	rule    track.Rule // what counts as a shift
	nights  int        // events that ended before the last so many nights are not printed
	format  string     // one of trackFormats
	github  bool       // write for GitHub Actions too
	metrics string     // file for Prometheus; "" for none
}

// register adds the flags that every track command has.
func (t *trackFlags) register(fs *pflag.FlagSet) {
	t.registerRule(fs)
	fs.StringVar(&t.history, "history", "results/history", "folder of the histories")
}

// registerRule adds the flags that say what counts as a shift.
func (t *trackFlags) registerRule(fs *pflag.FlagSet) {
	t.rule = track.DefaultRule()
	fs.Float64Var(&t.rule.Level, "level", t.rule.Level,
		"share of false alarms that is accepted, over all metrics of a night")
	fs.Float64Var(&t.rule.MinEffect, "min-effect", t.rule.MinEffect,
		"least change of a median that counts, as a fraction")
}

// registerMachine adds the flag that chooses among the histories of a folder.
func (t *trackFlags) registerMachine(fs *pflag.FlagSet) {
	fs.StringVar(&t.machine, "machine", "", "name of the machine, or the beginning of its fingerprint (default: all)")
}

// registerFormat adds the flags of what is printed.
func (t *trackFlags) registerFormat(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.IntVar(&t.nights, "nights", 30, "also print the events that were fixed or accepted in the last so many nights")
	fs.StringVar(&t.format, "format", "text", "what is printed: "+strings.Join(trackFormats, ", "))
	completeWords(cmd, "format", trackFormats)
}

// registerVerdict adds the flags of register, and the flags of commands that judge a history.
func (t *trackFlags) registerVerdict(cmd *cobra.Command) {
	t.register(cmd.Flags())
	t.registerFormat(cmd)
	cmd.Flags().BoolVar(&t.github, "github", false,
		"for GitHub Actions: annotations, and a page of the job's summary, to $"+githubSummary)
	cmd.Flags().StringVar(&t.metrics, "openmetrics", "", "file for Prometheus, which is replaced")
}

func (t *trackFlags) validate() error {
	return validRule(t.rule.Level, t.rule.MinEffect)
}

// validRule checks the flags of what counts as a change. Both conditions are written so that they refuse NaN too.
func validRule(level, minEffect float64) error {
	if !(level > 0 && level < 1) {
		return settings.Usagef("--level %g: want above 0 and below 1", level)
	}
	if !(minEffect >= 0 && minEffect < 1e6) {
		return settings.Usagef("--min-effect %g: want 0 or more", minEffect)
	}
	return nil
}

func (t *trackFlags) validateVerdict() error {
	if err := t.validate(); err != nil {
		return err
	}
	if t.nights < 0 {
		return settings.Usagef("--nights %d: want 0 or more", t.nights)
	}
	if t.github && t.format != "text" {
		return settings.Usagef("--github: prints annotations, want --format text")
	}
	if t.github && os.Getenv(githubSummary) == "" {
		return settings.Usagef("--github: $%s is not set, want it, as in a step of GitHub Actions", githubSummary)
	}
	return settings.OneOf("format", t.format, trackFormats)
}

// githubSummary is the variable with the file to which a step of GitHub Actions appends its summary.
const githubSummary = "GITHUB_STEP_SUMMARY"

// failed gives an error exit status 2, since status 1 says that something became slower. A cancelled context keeps its
// own status.
func failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return settings.Usagef("%w", err)
}

// say prints verdicts, and writes them for GitHub and Prometheus. It returns an error if a regression is open, which
// ends the command with status 1, or else if metrics of the last night cannot be judged.
func (a *app) say(verdicts []track.Verdict, t trackFlags) error {
	var err error
	if t.format == "json" {
		err = track.WriteJSON(a.stdout, verdicts)
	} else {
		err = track.WriteText(a.stdout, verdicts, t.nights)
	}
	if err == nil && t.github {
		err = a.github(verdicts)
	}
	if err == nil && t.metrics != "" {
		err = files.WriteFile(t.metrics, func(w io.Writer) error { return track.WriteOpenMetrics(w, verdicts) })
	}
	if err != nil {
		return failed(err)
	}
	var open, missing []string
	for _, v := range verdicts {
		for _, line := range v.Warnings() {
			run.Logf(a.stderr, "%s\n", line)
		}
		for _, f := range v.Open() {
			open = append(open, f.Text)
		}
		if m := v.Incomplete(); m != "" {
			missing = append(missing, v.File+": "+m)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("track: %s", strings.Join(open, "; "))
	}
	if len(missing) > 0 {
		return failed(fmt.Errorf("track: not judged: %s", strings.Join(missing, "; ")))
	}
	return nil
}

// github writes verdicts for a step of GitHub Actions.
func (a *app) github(verdicts []track.Verdict) error {
	summary, err := os.OpenFile(os.Getenv(githubSummary), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(track.WriteGitHub(a.stdout, summary, verdicts), summary.Close())
}

// histories reads the histories of a folder: of the machine with this name, or of those whose fingerprints begin with
// it; all of them for "". It logs what is wrong in the files, and fails if no history is left.
func (a *app) histories(t trackFlags) ([]*track.History, error) {
	if t.history == "" {
		return nil, settings.Usagef("--history: empty, want a folder")
	}
	all, bad := track.ReadFolder(t.history)
	logErrors(a.stderr, bad...)
	var kept []*track.History
	var known []string
	named := func(h *track.History) bool { return t.machine != "" && h.Machine.Name == t.machine }
	anyNamed := slices.ContainsFunc(all, named)
	for _, h := range all {
		m := h.Machine
		known = append(known, cmp.Or(m.Name, m.Fingerprint()))
		// Fingerprints have hexadecimal digits in lower case.
		if named(h) || !anyNamed && strings.HasPrefix(m.Fingerprint(), strings.ToLower(t.machine)) {
			kept = append(kept, h)
		}
	}
	switch {
	case len(all) == 0:
		return nil, settings.Usagef("track: %s: no history, want one (rollcall track run starts it)", t.history)
	case len(kept) == 0:
		return nil, settings.Usagef("--machine %q: no such machine in %s, want one of %s",
			t.machine, t.history, strings.Join(known, ", "))
	}
	return kept, nil
}

// judge returns the verdict on a history up to now.
func (a *app) judge(h *track.History, rule track.Rule, now time.Time) track.Verdict {
	accepted, bad := track.ReadAcceptances(h.Path)
	logErrors(a.stderr, bad...)
	return rule.Judge(h, now, accepted)
}

// judgeAll reads and judges the histories that the flags choose.
func (a *app) judgeAll(t trackFlags) (histories []*track.History, verdicts []track.Verdict, err error) {
	if histories, err = a.histories(t); err != nil {
		return nil, nil, err
	}
	for _, h := range histories {
		verdicts = append(verdicts, a.judge(h, t.rule, time.Now()))
	}
	return histories, verdicts, nil
}

// trackStatusCommand is `rollcall track status`: what the histories say.
func (a *app) trackStatusCommand() *cobra.Command {
	var t trackFlags
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"compare"},
		Short:   "Say what is slower, since when, and since which version",
		Long: `status goes through every history night by night and reports its events: all metrics that shifted on
the same night, with the versions before and after. An event is open until its metrics are back (fixed), or until
"track accept". A machine is compared only with itself. Status 1: an event is open.`,
		Example: `  rollcall track status
  rollcall track status --machine 3fa9 --nights 7 --format json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			_, verdicts, err := a.judgeAll(t)
			if err != nil {
				return err
			}
			return a.say(verdicts, t)
		},
	}
	t.registerVerdict(cmd)
	t.registerMachine(cmd.Flags())
	return cmd
}

// trackAcceptCommand is `rollcall track accept`: people say that an event stays.
func (a *app) trackAcceptCommand() *cobra.Command {
	var t trackFlags
	var because string
	cmd := &cobra.Command{
		Use:   "accept ID",
		Short: "Accept an event: its new speeds are as they should be",
		Long: `accept closes an open event whose cause is known and stays. Time, event and reason are kept beside the
history, in NAME.accepted.csv; whoever deletes the line opens the event again.`,
		Example: `  rollcall track accept 63b1f0 --because 'the new loss costs this'`,
		Args:    exactly(1, "%d events, want the ID of one, as track status prints it"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.validate(); err != nil {
				return err
			}
			histories, verdicts, err := a.judgeAll(t)
			if err != nil {
				return err
			}
			var open []string
			for i, v := range verdicts {
				for _, f := range v.Events {
					if f.ID == args[0] && f.State.IsOpen() {
						if err := track.Accept(histories[i], f, because, time.Now()); err != nil {
							return failed(err)
						}
						_, err := fmt.Fprintf(a.stdout, "%s  accepted: %s\n", f.ID, f.Text)
						return failed(err)
					}
					if f.State.IsOpen() {
						open = append(open, f.ID)
					}
				}
			}
			if len(open) == 0 {
				return settings.Usagef("track accept %s: no event is open", args[0])
			}
			return settings.Usagef("track accept %s: no such open event, want one of %s",
				args[0], strings.Join(open, ", "))
		},
	}
	t.register(cmd.Flags())
	t.registerMachine(cmd.Flags())
	cmd.Flags().StringVar(&because, "because", "", "the reason, for those who ask later")
	return cmd
}

// trackJudgeCommand is `rollcall track judge`: the rule on any series.
func (a *app) trackJudgeCommand() *cobra.Command {
	var t trackFlags
	var better string
	betters := []string{"lower", "higher"}
	cmd := &cobra.Command{
		Use:   "judge CSV",
		Short: "Name the shifts of any series of measurements",
		Long: `judge reads a CSV file of a time and a value, or of several values, one metric each, and names their
shifts by the rule of the nightly histories: one row is one night. Times are dates, RFC 3339 or seconds since 1970;
other texts, such as versions, are taken in the order of the file. Values are positive, and empty cells were not
measured. Status 1: a metric is worse since a shift.`,
		Example: `  rollcall track judge series.csv
  rollcall track judge series.csv --better higher --format json`,
		Args: exactly(1, "%d files, want one CSV"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			if err := settings.OneOf("better", better, betters); err != nil {
				return err
			}
			f, _, err := files.OpenUpTo(args[0], files.MostText)
			if err != nil {
				return failed(fmt.Errorf("track: %w", err))
			}
			defer func() { _ = f.Close() }() // nothing was written
			h, err := track.ReadSeries(f, args[0], better == "higher")
			if err != nil {
				return failed(err)
			}
			return a.say([]track.Verdict{t.rule.Judge(h, time.Now(), nil)}, t)
		},
	}
	t.registerRule(cmd.Flags())
	t.registerFormat(cmd)
	cmd.Flags().StringVar(&better, "better", "lower", "which values are better: "+strings.Join(betters, ", "))
	completeWords(cmd, "better", betters)
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
client-step; it appends the night to the history of the machine's fingerprint and judges it as "track status" does.
An interrupted night is not appended. If $` + nightly.WebhookVariable + ` is set, the verdict is posted there as JSON.`,
		Example: `  rollcall track run
  rollcall track run --device cuda:0 --precision tf32 --history /srv/rollcall/history`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			if t.history == "" {
				return settings.Usagef("--history: empty, want a folder")
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
	fs.StringVar(&t.machine, "machine", "", "name of this machine, where others of its model write to the same "+
		"folder: it has a history of its own (default: the history of its fingerprint)")
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
	slower := a.say([]track.Verdict{v}, t)
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
	machine.Name = t.machine
	if err := w.Check(machine); err != nil {
		return v, err
	}
	begun := time.Now().Truncate(time.Second) // the run's name has whole seconds
	run.Logf(a.stderr, "track: %s\n", machine)
	values, err := bench.Measure(ctx)
	if err != nil {
		return v, err
	}
	host, err := os.Hostname()
	if err != nil {
		logErrors(a.stderr, fmt.Errorf("track: the name of this computer is not known: %w", err))
	}
	n := track.Night{
		Run: track.RunName(begun), Time: begun, Version: run.Version(), Go: runtime.Version(), Host: host,
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
	return a.judge(h, t.rule, n.Time), nil // later nights are of a clock that was wrong
}

// trackReportCommand is `rollcall track report`: a page for each machine.
func (a *app) trackReportCommand() *cobra.Command {
	var t trackFlags
	var out string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make a page of each machine, with its events marked",
		Long: `report writes an HTML page per machine to OUT/track and prints its path: the verdict, the events, and a
chart of each metric, with the value of every night, its samples as a band, the level between shifts, and the first
night of each event. The page needs no other file and no network.`,
		Example: `  rollcall track report
  rollcall track report --machine 3fa9`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := t.validate(); err != nil {
				return err
			}
			histories, verdicts, err := a.judgeAll(t)
			if err != nil {
				return err
			}
			for i, h := range histories {
				path := filepath.Join(out, "track", strings.TrimSuffix(filepath.Base(h.Path), ".csv")+".html")
				page := func(w io.Writer) error { return track.WritePage(w, h, verdicts[i]) }
				if err := files.WriteFile(path, page); err != nil {
					return failed(err)
				}
				if _, err := fmt.Fprintln(a.stdout, path); err != nil {
					return failed(err)
				}
			}
			return nil
		},
	}
	t.register(cmd.Flags())
	t.registerMachine(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "out", "folder of everything that is written")
	return cmd
}
