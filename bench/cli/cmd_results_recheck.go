package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/recheck"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
)

// recheckCommand is `rollcall results recheck`: are kept results what the program computes?
func (a *app) recheckCommand() *cobra.Command {
	var (
		o       recheck.Options
		minutes float64
		page    string
	)
	cmd := &cobra.Command{
		Use:   "recheck DIR…",
		Short: "Train the first rounds of kept runs again, and compare their rows",
		Long: `recheck draws complete runs below each DIR at random, also from archives named runs.tar.gz, and trains
the first rounds of each from the settings in its run.json. Every row must be as the kept curve.csv has it, in all
columns but elapsed_s and version, with any engine of the same numerics. Nothing is written below DIR. Every item,
which is a folder directly below DIR, has its turn before any has its second. Runs that this machine and program
cannot train to the same bytes are left out: those of other numerics or revisions, or on data that are not here.
The exit status is 1 if a row differs, if a file is damaged, or if nothing could be rechecked.`,
		Example: `  rollcall results recheck out --minutes 2
  rollcall results recheck out --seed 3 --report recheck.md`,
		ValidArgsFunction: completeFolders,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return settings.Usagef("%s: no folder named, want one at least", commandName(cmd))
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.Float64Var(&minutes, "minutes", 10, "how long all may take")
	fs.Uint32Var(&o.Seed, "seed", 0, "of the draw, to repeat one (default: a random one)")
	fs.StringSliceVar(&o.Only, "only", nil, "items, such as fedar-2,cafed-f1b (default: all)")
	fs.StringVar(&page, "report", "",
		"write a page in Markdown too, with the checksums of the kept curves; with - the page alone is on standard "+
			"output")
	fs.IntVar(&o.Machine.Threads, "threads", runtime.GOMAXPROCS(0), "threads of the CPU engine")
	fs.StringVar(&o.Machine.DataDir, "data-dir", "",
		"folder of the data sets (default: $ROLLCALL_DATA, then the user's cache folder)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !(minutes > 0 && minutes <= 1e6) { // refuses NaN too
			return settings.Usagef("--minutes %g: want more than 0", minutes)
		}
		if !fs.Changed("seed") {
			o.Seed = rand.Uint32()
		}
		o.Dirs, o.For, o.Log = args, time.Duration(minutes*float64(time.Minute)), progress.New(a.stderr)
		o.Machine.Device, o.Machine.Out = "cpu", "out" // of no meaning: each run has its own
		if err := o.Machine.Validate(); err != nil {
			return err
		}
		var out *files.Output
		text := a.stdout
		if slices.Contains(append(slices.Clone(results.RunFiles), recheck.ArchiveName), filepath.Base(page)) {
			return settings.Usagef("--report %s: the name of a file of a run, want another", page)
		}
		if page != "" { // looked at before minutes of training
			var leave func()
			var err error
			if out, leave, err = a.output("report", page); err != nil {
				return err
			}
			defer leave()
			if out.Stdout() {
				text = a.stderr
			}
		}
		r, stopped := recheck.Run(cmd.Context(), o)
		if r == nil {
			return stopped
		}
		err := r.Text(text)
		if out != nil {
			command := recheckLine(cmd, args, o.Seed)
			err = errors.Join(err, out.Write(func(w io.Writer) error { return r.Markdown(files.Printed(w), command) }))
		}
		logErrors(a.stderr, r.Problems...)
		if stopped != nil {
			return errors.Join(stopped, err)
		}
		return errors.Join(err, r.Err())
	}
	return cmd
}

// recheckLine returns the command line of a recheck, with the seed that was drawn and without the page.
func recheckLine(cmd *cobra.Command, args []string, seed uint32) string {
	words := append([]string{cmd.CommandPath()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "seed" && f.Name != "report" {
			words = append(words, "--"+f.Name, strings.Trim(f.Value.String(), "[]")) // those of a list
		}
	})
	return strings.Join(append(words, "--seed", fmt.Sprint(seed)), " ")
}
