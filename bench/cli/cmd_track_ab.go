package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/ab"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
)

// Fewer passes than leastPasses show no change: their smallest p-value, 2/2⁶, is above half of the usual level.
const leastPasses, mostPasses = 6, 1000

// abFlags are the flags of track ab and track bisect.
type abFlags struct {
	rule   ab.Rule
	passes int
}

func (f *abFlags) register(fs *pflag.FlagSet) {
	f.rule = ab.DefaultRule()
	fs.Float64Var(&f.rule.MinEffect, "min-effect", f.rule.MinEffect, "least change that counts, as a fraction")
	fs.Float64Var(&f.rule.Level, "level", f.rule.Level, "share of false alarms that is accepted")
	fs.IntVar(&f.passes, "passes", 16, "in each of which both programs run four times in turn")
}

func (f *abFlags) validate() error {
	if err := validRule(f.rule.Level, f.rule.MinEffect); err != nil {
		return err
	}
	if f.passes < leastPasses || f.passes > mostPasses {
		return settings.Usagef("--passes %d: want %d … %d", f.passes, leastPasses, mostPasses)
	}
	return nil
}

// programsBefore returns the arguments before --, and the flags of bench after it.
func programsBefore(cmd *cobra.Command, args []string) (programs, flags []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// benchFlagsHelp says what stands after --, for the help of both commands.
var benchFlagsHelp = "Flags of rollcall bench follow --, after " + strings.Join(ab.DefaultFlags, " ") + ", and after " +
	strings.Join(ab.DefaultData, " ") + " unless they name other data."

// trackABCommand is `rollcall track ab`: whether one program is slower than another on this machine.
func (a *app) trackABCommand() *cobra.Command {
	var f abFlags
	var format string
	cmd := &cobra.Command{
		Use: "ab OLD NEW [flags] [-- BENCH FLAGS…]", DisableFlagsInUseLine: true,
		Short: "Say whether one rollcall program is slower than another",
		Long: `ab measures two rollcall programs in turn on this machine by rollcall bench, and compares them pass by
pass. The verdict follows the processor time of a client-step in runs of the reference loop, which depends least on
what else the machine does; on CUDA it follows wall time. Status 0: NEW is not slower; 1: it is; 2: the passes cannot
tell, or any other failure. ` + benchFlagsHelp,
		Example: `  rollcall track ab bin/rollcall.old bin/rollcall
  rollcall track ab old/rollcall new/rollcall --passes 10 -- --net resnet20 --batch 32`,
		Args: func(cmd *cobra.Command, args []string) error {
			if programs, _ := programsBefore(cmd, args); len(programs) != 2 {
				return settings.Usagef("track ab: %s, want two, OLD and NEW, and flags of bench after --",
					files.Count(len(programs), "program"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(f.validate(), settings.OneOf("format", format, trackFormats)); err != nil {
				return err
			}
			programs, flags := programsBefore(cmd, args)
			return a.trackAB(cmd.Context(), f, format, programs, flags)
		},
	}
	fs := cmd.Flags()
	f.register(fs)
	fs.StringVar(&format, "format", "text", "what is printed: "+strings.Join(trackFormats, ", "))
	completeWords(cmd, "format", trackFormats)
	return cmd
}

// trackAB measures two programs and prints the report. The error of a slower one ends the command with status 1.
func (a *app) trackAB(ctx context.Context, f abFlags, format string, programs, flags []string) (err error) {
	bench := &ab.Bench{Flags: flags}
	var old, next ab.Program
	for i, p := range []*ab.Program{&old, &next} {
		if *p, err = ab.Find(programs[i]); err != nil {
			return failed(prefixed("track ab", err))
		}
	}
	if bench.Out, err = os.MkdirTemp("", "rollcall-ab-*"); err != nil {
		return failed(err)
	}
	defer func() { err = cmp.Or(err, failed(os.RemoveAll(bench.Out))) }()
	begun := time.Now()
	all, last, err := bench.Compare(ctx, old, next, f.passes, func(pass int) {
		run.Logf(a.stderr, "ab: pass %d of %d, %.0f s\n", pass, f.passes, time.Since(begun).Seconds())
	})
	if err != nil {
		return failed(prefixed("track ab", err))
	}
	report, err := f.rule.Judge(old, next, all, last)
	if err != nil {
		return failed(prefixed("track ab", err))
	}
	report.Seconds = time.Since(begun).Round(time.Millisecond).Seconds()
	write := report.WriteText
	if format == "json" {
		write = report.WriteJSON
	}
	if err := write(a.stdout); err != nil {
		return failed(err)
	}
	switch report.Verdict {
	case ab.Worse:
		return fmt.Errorf("track ab: %s", report.Text)
	case ab.Unknown:
		return settings.Usagef("track ab: %s", report.Text)
	}
	return nil
}

// prefixed puts the name of a command before its error.
func prefixed(command string, err error) error { return fmt.Errorf("%s: %w", command, err) }
