package main

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

var trackFormats = []string{"text", "json"}

func (a *app) trackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "track", Short: "Follow the speed of machines night by night",
		Long: `track keeps a history of what the standard workloads take, one file per machine, and tells a shift from noise by a
distribution-free test. Status 1 is a regression, 2 any other failure.`,
	}
	cmd.AddCommand(a.trackRunCommand(), a.trackCompareCommand(), a.trackPlotCommand())
	for _, c := range cmd.Commands() {
		completeNames(c)
	}
	return cmd
}

// trackFlags are those of every track command.
type trackFlags struct {
	history string
	rule    track.Rule
	nights  int
	format  string
}

func (t *trackFlags) register(fs *pflag.FlagSet) {
	t.rule = track.DefaultRule()
	fs.StringVar(&t.history, "history", "results/history", "folder of the histories")
	fs.Float64Var(&t.rule.Level, "level", t.rule.Level,
		"share of false alarms that is accepted, over all metrics of a night")
	fs.Float64Var(&t.rule.MinEffect, "min-effect", t.rule.MinEffect,
		"least change of a median that counts, as a fraction")
}

// registerVerdict adds them and the flags of what is said about a history.
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

// failed gives an error status 2: status 1 is a regression's. An interrupted command keeps its own.
func failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return settings.Usagef("%w", err)
}

// say prints verdicts, and returns the error that ends the command with status 1 if there is a regression.
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

// histories reads those of a folder, or the one whose fingerprint begins as asked, and logs what is wrong in the files.
func (a *app) histories(dir, fingerprint string) ([]*track.History, error) {
	all, bad := track.ReadFolder(dir)
	logErrors(a.stderr, bad...)
	var kept []*track.History
	var known []string
	for _, h := range all {
		known = append(known, h.Machine.Fingerprint())
		if strings.HasPrefix(h.Machine.Fingerprint(), strings.ToLower(fingerprint)) {
			kept = append(kept, h)
		}
	}
	switch {
	case len(all) == 0:
		return nil, settings.Usagef("track: %s: no history, want one (rollcall track run begins it)", dir)
	case len(kept) == 0:
		return nil, settings.Usagef("--fingerprint %q: no such machine in %s, want one of %s", fingerprint, dir,
			strings.Join(known, ", "))
	}
	return kept, nil
}
