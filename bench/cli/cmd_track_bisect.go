package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/bench/ab"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
)

// mostBisectPasses is the default of --most-passes.
const mostBisectPasses = 40

// trackBisectCommand is `rollcall track bisect`: the first slow one of a series of programs.
func (a *app) trackBisectCommand() *cobra.Command {
	var f abFlags
	var build string
	var most int
	cmd := &cobra.Command{
		Use: "bisect BINARY… [flags] [-- BENCH FLAGS…]", DisableFlagsInUseLine: true,
		Short: "Find the first slow one of a series of rollcall programs",
		Long: `bisect takes rollcall programs from old to new, the first fast and the last slow, and finds the first
slow one by binary search. It compares the first and the last as ab does. Then it measures the middle one in turn with
both, until it is known to which it is nearer. With --build, the arguments are names such as revisions, and each program
is built when it is to be measured; one that cannot be built or measured is skipped. Status 0: the first slow one is
found; 2: it is not. ` + benchFlagsHelp,
		Example: `  rollcall track bisect old/rollcall middle/rollcall new/rollcall
  rollcall track bisect v1 v2 v3 main --build \
    'git checkout "$NAME" && make build BIN="$BINARY"'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if programs, _ := programsBefore(cmd, args); len(programs) < 2 {
				return settings.Usagef("track bisect: %s, want two or more from old to new, and flags of bench "+
					"after --", files.Count(len(programs), "program"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			if most < leastPasses || most > mostPasses {
				return settings.Usagef("--most-passes %d: want %d … %d", most, leastPasses, mostPasses)
			}
			if cmd.Flags().Changed("build") && strings.TrimSpace(build) == "" {
				return settings.Usagef("--build: empty, want a command of the shell")
			}
			names, flags := programsBefore(cmd, args)
			s := &series{names: names, build: build, bench: ab.Bench{Flags: flags}, app: a}
			return a.trackBisect(cmd.Context(), f, most, s)
		},
	}
	fs := cmd.Flags()
	f.register(fs)
	fs.IntVar(&most, "most-passes", mostBisectPasses, "passes after which a program between the first and the last "+
		"is given up")
	fs.StringVar(&build, "build", "", "command of the shell that builds the program of $NAME at the path $BINARY")
	return cmd
}

// series is the programs of a search.
type series struct {
	names []string // from old to new
	build string   // the command that builds a program; "": names are programs
	bench ab.Bench
	app   *app
	dir   string // for what is built, and for the files of bench

	programs map[int]ab.Program // found or built already
	metric   string             // which is compared
}

// program returns a program of the series, which it builds the first time.
func (s *series) program(ctx context.Context, i int) (ab.Program, error) {
	if p, known := s.programs[i]; known {
		return p, nil
	}
	var p ab.Program
	var err error
	if s.build == "" {
		p, err = ab.Find(s.names[i])
	} else {
		run.Logf(s.app.stderr, "bisect: builds %s\n", s.names[i])
		p, err = ab.Build(ctx, s.build, s.names[i], filepath.Join(s.dir, "rollcall-"+strconv.Itoa(i)))
	}
	if err == nil {
		s.programs[i] = p
	}
	return p, err
}

// measure measures programs of the series in turn, in one pass.
func (s *series) measure(ctx context.Context, builds ...int) (numbers []float64, err error) {
	programs := make([]ab.Program, len(builds))
	for i, build := range builds {
		if programs[i], err = s.program(ctx, build); err != nil {
			return nil, &ab.ProgramError{Program: i, Err: err}
		}
	}
	reports, err := s.bench.Pass(ctx, programs...)
	if err != nil {
		return nil, err
	}
	if s.metric == "" {
		if s.metric = ab.Deciding(reports[0]); s.metric == "" {
			return nil, fmt.Errorf("%s: no metric of speed in its report", s.names[0])
		}
	}
	for i, report := range reports {
		at := slices.IndexFunc(report.Metrics, func(m results.BenchMetric) bool { return m.Metric == s.metric })
		if at < 0 {
			err := fmt.Errorf("%s: no metric %s, want it as in %s", programs[i].Name, s.metric, s.names[0])
			return nil, &ab.ProgramError{Program: i, Err: err}
		}
		numbers = append(numbers, ab.Number(report.Metrics[at]))
	}
	return numbers, nil
}

// trackBisect searches a series and prints what was measured, and the first slow program in the last line.
func (a *app) trackBisect(ctx context.Context, f abFlags, most int, s *series) (err error) {
	if s.dir, err = os.MkdirTemp("", "rollcall-ab-*"); err != nil {
		return failed(err)
	}
	defer func() { err = cmp.Or(err, failed(os.RemoveAll(s.dir))) }()
	s.bench.Out, s.programs = filepath.Join(s.dir, "out"), map[int]ab.Program{}
	begun := time.Now()
	search := ab.Bisect{
		Rule: f.rule, Passes: f.passes, Most: most, Measure: s.measure,
		Say: func(build, pass int) {
			what, of := s.names[build], ""
			if build == 0 {
				what, of = "the first and the last", fmt.Sprintf(" of %d", f.passes)
			}
			run.Logf(a.stderr, "bisect: %s, pass %d%s, %.0f s\n", what, pass, of, time.Since(begun).Seconds())
		},
	}
	found, err := search.Find(ctx, len(s.names))
	if err != nil && !errors.Is(err, ab.ErrNoDifference) {
		return failed(prefixed("track bisect", err))
	}
	ended := err
	text := s.answer(found, ended)
	if err := s.print(found, text); err != nil {
		return failed(err)
	}
	if ended != nil || !found.Alone() {
		return settings.Usagef("track bisect: %s", text)
	}
	return nil
}

// print writes a line for each program that was measured, from old to new, and the answer.
func (s *series) print(found *ab.Found, text string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, compared with %s\n\n", s.metric, s.names[0])
	table := files.TextTable{Align: "lrrl", Gap: "  ", Lines: [][]string{{"program", "change", "passes", ""}}}
	byAge := func(a, b ab.Probe) int { return cmp.Compare(a.Build, b.Build) }
	for _, p := range slices.SortedFunc(slices.Values(found.Probes), byAge) {
		change := "–"
		if p.Build > 0 && p.Err == nil {
			change = ab.Words(p.Change, p.Low, p.High)
		}
		what := string(p.Side)
		if p.Err != nil {
			what += ": " + p.Err.Error()
		}
		table.Lines = append(table.Lines, []string{s.names[p.Build], change, strconv.Itoa(p.Passes), what})
	}
	table.Text(&b)
	fmt.Fprintf(&b, "\n%s\n", text)
	_, err := fmt.Fprint(s.app.stdout, b.String())
	return err
}

// answer returns the last line.
func (s *series) answer(found *ab.Found, err error) string {
	of := map[int]ab.Probe{}
	for _, p := range found.Probes {
		of[p.Build] = p
	}
	first, slow := s.names[0], of[found.Slow]
	change := ab.Words(slow.Change, slow.Low, slow.High)
	before := s.names[found.Fast]
	asFast := fmt.Sprintf("%s is as fast as %s", before, first)
	if found.Fast == 0 {
		asFast = first + " is fast"
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%s is not shown to be slower than %s: %s after %d passes, want a slower last one, or more "+
			"passes", s.names[found.Slow], first, change, slow.Passes)
	case found.Alone():
		return fmt.Sprintf("first slow: %s, %s; %s", s.names[found.Slow], change, asFast)
	}
	why := "those between could not be built or measured"
	if last := found.Probes[len(found.Probes)-1]; last.Side == ab.HalfWay {
		why = fmt.Sprintf("cannot tell whether %s is nearer to %s or to %s after %d passes", s.names[last.Build], first,
			s.names[len(s.names)-1], last.Passes)
	}
	return fmt.Sprintf("first slow is one of %s: %s; %s", strings.Join(s.names[found.Fast+1:found.Slow+1], ", "), why,
		asFast)
}
