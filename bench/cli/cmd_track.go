package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/settings"
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
	for _, c := range cmd.Commands() { // newRoot does it for its own subcommands only
		completeNames(c)
	}
	return cmd
}

// trackFlags are the flags of every track command.
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

// validate reports the first impossible flag of register.
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

// validateVerdict reports the first impossible flag of registerVerdict.
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
