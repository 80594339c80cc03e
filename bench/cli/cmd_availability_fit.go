package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos/availability"
	"rollcall/algos/availability/fit"
	"rollcall/algos/availability/trace"
	"rollcall/bench/activity"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results/plot"
)

// fitRow is what is fitted to a client. Cells without a value are empty, and note says why.
type fitRow struct {
	Client         int            `csv:"client"`
	ID             string         `csv:"id"` // its name in the file
	Rounds         int            `csv:"rounds"`
	Active         int            `csv:"active"`  // rounds in which it is active
	Changes        int            `csv:"changes"` // how often it comes or goes
	Pi             float64        `csv:"pi"`
	PiLow          files.Optional `csv:"pi_low"`
	PiHigh         files.Optional `csv:"pi_high"`
	Lambda         float64        `csv:"lambda"`
	LambdaLow      files.Optional `csv:"lambda_low"`
	LambdaHigh     files.Optional `csv:"lambda_high"`
	ToActive       files.Optional `csv:"to_active"`
	ToActiveLow    files.Optional `csv:"to_active_low"`
	ToActiveHigh   files.Optional `csv:"to_active_high"`
	ToInactive     files.Optional `csv:"to_inactive"`
	ToInactiveLow  files.Optional `csv:"to_inactive_low"`
	ToInactiveHigh files.Optional `csv:"to_inactive_high"`
	PMarkov        files.Optional `csv:"p_markov"` // of the test that it remembers one round only
	PSine          float64        `csv:"p_sine"`   // p_i of the sine
	Note           string         `csv:"note"`
}

// chainRow is the chain of a client, as --chain of the model chain reads it.
type chainRow struct {
	Client int     `csv:"client"`
	Pi     float64 `csv:"pi"`
	Lambda float64 `csv:"lambda"`
}

// availabilityFitCommand is `rollcall availability fit`: the models that a trace looks like.
func (a *app) availabilityFitCommand() *cobra.Command {
	var (
		rowsPath, chainPath, picture string
		rounds                       int
		seed                         uint64
	)
	cmd := &cobra.Command{
		Use:   "fit TRACE",
		Short: "Fit the availability models to a trace, and test them",
		Long: `fit reads a trace and fits to it a chain of two states for every client, a sine for all of them, and
groups of clients who come and go together. It prints the fits with 95 % intervals and tests of
what they assume. --csv writes the fit of every client, --chain the chains alone, and --plot draws the
trace against the chains.`,
		Example: `  rollcall availability fit trace.csv --csv fit.csv --chain chain.csv`,
		Args:    exactly(1, "%d files named, want one trace"),
	}
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.AddFlags(all)
	fs := cmd.Flags()
	for _, name := range []string{"trace-format", "round-seconds", "trace-offset"} {
		fs.AddFlag(all.Lookup(name))
	}
	fs.IntVar(&rounds, "rounds", 0, "rounds read; 0: all that the trace has")
	fs.Uint64Var(&seed, "seed", 3, "seed of the simulated chains, and of the sample of many clients")
	fs.StringVar(&rowsPath, "csv", "", "file for the fit of every client; - is standard output, without the summary")
	fs.StringVar(&chainPath, "chain", "", "file for client, π and λ, as the model chain reads it")
	plotFlag(fs, &picture)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := args[0]
		if rounds < 0 {
			return settings.Usagef("--rounds %d: want at least 0", rounds)
		}
		s, err := settings.Defaults("fedawe", "code", "synthetic") // of which the flags of traces alone are read
		if err != nil {
			return err
		}
		s.Availability, s.Trace = "trace", path
		if err := s.Give(settings.GivenBy(cmd.Flags())); err != nil {
			return err
		}
		if err := s.Validate(); err != nil {
			return err
		}
		kind, inches, err := plot.FileOf(picture)
		if picture != "" && err != nil {
			return settings.Usagef("--plot %w", err)
		}
		outputs := map[string]*files.Output{}
		for _, f := range []struct{ flag, path string }{{"csv", rowsPath}, {"chain", chainPath}, {"plot", picture}} {
			if f.path == "" {
				continue
			}
			out, leave, err := a.output(f.flag, f.path)
			if err != nil {
				return err
			}
			defer leave()
			if out.Is(path) {
				return settings.Usagef("--%s %s: the trace, want another file", f.flag, f.path)
			}
			outputs[f.flag] = out
		}
		o := s.TraceOptions()
		o.Clients = 0 // as many as the file has
		tr, record, err := readRecord(path, o, rounds)
		if err != nil {
			return err
		}
		result, err := fit.Fit(record, fit.Options{Seed: seed})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		summary := true
		if out := outputs["csv"]; out != nil {
			summary = summary && !out.Stdout()
			err := out.Write(func(w io.Writer) error { return files.WriteCSV(w, fitRows(result, tr.IDs)) })
			if err != nil {
				return err
			}
		}
		if out := outputs["chain"]; out != nil {
			summary = summary && !out.Stdout()
			if err := out.Write(func(w io.Writer) error { return files.WriteCSV(w, chainRows(result)) }); err != nil {
				return err
			}
		}
		if out := outputs["plot"]; out != nil {
			drawn := activity.Activity{Title: filepath.Base(path), Record: record, Fit: &activity.Chains{}}
			for i := range result.Clients {
				pi, lambda := result.Clients[i].Feasible()
				drawn.Fit.Pi, drawn.Fit.Lambda = append(drawn.Fit.Pi, pi), append(drawn.Fit.Lambda, lambda)
			}
			for t := range result.Rounds {
				if result.Cycle.Found() {
					drawn.Fit.Mean = append(drawn.Fit.Mean, result.Cycle.At(t)/float64(len(result.Clients)))
				}
			}
			f := activity.Figure(drawn)
			if err := out.Write(func(w io.Writer) error { return f.Write(w, kind, inches) }); err != nil {
				return err
			}
		}
		if !summary {
			return nil
		}
		_, err = io.WriteString(a.stdout, fitSummary(path, tr.Notes, result))
		return err
	}
	return cmd
}

// readRecord reads a trace, of which rounds are looked at, 0: all.
func readRecord(path string, o trace.Options, rounds int) (*trace.Trace, availability.Record, error) {
	fail := func(err error) (*trace.Trace, availability.Record, error) { return nil, availability.Record{}, err }
	file, _, err := files.OpenRegular(path)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	tr, err := trace.Read(file, o)
	switch {
	case err != nil:
		return fail(fmt.Errorf("%s: %w", path, err))
	case tr.Drawn:
		return fail(fmt.Errorf("%s: holds probabilities, not who was active: nothing to fit", path))
	case tr.Rounds == 0 && rounds == 0:
		return fail(settings.Usagef("%s: never ends: want --rounds", path))
	case rounds == 0, tr.Rounds > 0 && rounds > tr.Rounds:
		rounds = tr.Rounds
	}
	tr = byNumber(tr)
	record := availability.NewRecord(len(tr.IDs), rounds)
	words := make([]uint64, len(tr.IDs))
	for block := 0; 64*block < rounds; block++ {
		tr.Block(block, words)
		left := ^uint64(0) >> max(0, 64-(rounds-64*block))
		for i, word := range words {
			record.Rows[i][block] = word & left
		}
	}
	return tr, record, nil
}

// byNumber returns a trace whose clients are in the order of their ids, if all of these are numbers: as a run numbers
// the clients of a file that has all numbers from 0 on.
func byNumber(tr *trace.Trace) *trace.Trace {
	number, index := make([]int, len(tr.IDs)), make([]int32, len(tr.IDs))
	for i, id := range tr.IDs {
		n, err := strconv.Atoi(id)
		if err != nil {
			return tr
		}
		number[i], index[i] = n, int32(i)
	}
	slices.SortStableFunc(index, func(a, b int32) int { return cmp.Compare(number[a], number[b]) })
	return tr.Take(index)
}

// known returns a number, missing if it is NaN.
func known(x float64) files.Optional {
	if math.IsNaN(x) {
		return files.Optional{}
	}
	return files.Some(x)
}

func fitRows(result *fit.Result, ids []string) []fitRow {
	rows := make([]fitRow, len(result.Clients))
	for i := range rows {
		c := &result.Clients[i]
		rows[i] = fitRow{
			i, ids[i], c.Rounds, c.Active, c.Changes,
			c.Pi.Value, known(c.Pi.Low), known(c.Pi.High), c.Lambda.Value, known(c.Lambda.Low), known(c.Lambda.High),
			known(c.ToActive.Value), known(c.ToActive.Low), known(c.ToActive.High),
			known(c.ToInactive.Value), known(c.ToInactive.Low), known(c.ToInactive.High),
			known(c.Order), c.P, "",
		}
		switch {
		case c.Changes == 0 && c.Active == 0:
			rows[i].Note = "never active: no intervals, λ unknown"
		case c.Changes == 0:
			rows[i].Note = "always active: no intervals, λ unknown"
		case !c.Pi.Given():
			rows[i].Note = fmt.Sprintf("changes %s: no intervals below %d", times(c.Changes), fit.FewestChanges)
		}
	}
	return rows
}

func chainRows(result *fit.Result) []chainRow {
	rows := make([]chainRow, len(result.Clients))
	for i := range rows {
		pi, lambda := result.Clients[i].Feasible()
		rows[i] = chainRow{i, pi, lambda}
	}
	return rows
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// fitSummary says in words what was fitted.
func fitSummary(path string, notes []string, result *fit.Result) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	n := len(result.Clients)
	line("%s: %s, %s, %.1f active on average", path, files.Count(n, "client"), files.Count(result.Rounds, "round"),
		result.Mean())
	for _, note := range notes {
		line("  %s", note)
	}

	s := result.Chains()
	line("\nA chain of two states for every client (95 %% intervals of each in --csv)")
	line("  π       %s", s.Pi)
	line("  λ       %s", s.Lambda)
	if s.Never > 0 || s.Always > 0 {
		line("  never active: %d; always active: %d; their λ is unknown and written as 0", s.Never, s.Always)
	}
	if s.Few > 0 {
		line("  without intervals, as they come or go less than %s: %d", times(fit.FewestChanges), s.Few)
	}
	if s.Given > 0 {
		line("  λ = 0, no memory of the round before, is outside the interval of %d of %d (%.0f %%; 5 %% by chance)",
			s.Dependent, s.Given, 100*float64(s.Dependent)/float64(s.Given))
	}

	c := &result.Cycle
	line("\nA sine for all: p_i·(γ sin(2πt/P + φ) + 1 − γ)")
	switch {
	case math.IsNaN(c.P):
		line("  not fitted: needs %d rounds in which the number of active clients is not constant", fit.FewestRounds)
	case !c.Found():
		line("  no cycle found (%s)", probability(c.P))
	default:
		line("  a cycle (%s), which explains %.0f %% of the variance of the number of active clients", probability(c.P),
			100*c.Share)
		line("  P = %.5g rounds (%.5g to %.5g)", c.Period.Value, c.Period.Low, c.Period.High)
		line("  γ = %s, φ = %s", within(c.Gamma), within(c.Phase))
		if c.Harmonics < 0.05 {
			line("  its shape is no sine: it has overtones (%s)", probability(c.Harmonics))
		}
	}

	g := &result.Groups
	line("\nGroups of clients who come and go together")
	if g.Compared == 0 {
		line("  not looked for: needs %d rounds, and two clients who change ten times", fit.FewestRounds)
	} else {
		line("  compared: %s; largest correlation of the changes of two %.2f, by chance up to %.2f (5 %%)",
			files.Count(g.Compared, "client"), g.Largest, g.Chance)
		switch {
		case g.Above == 0:
			line("  no two clients depend on each other more than by chance: each has a chain of its own")
		case len(g.Groups) == 0:
			line("  above that: %s; none shares half of its changes, so that each has a chain of its own",
				files.Count(g.Above, "pair"))
		default:
			line("  %s; in none: %s", files.Count(len(g.Groups), "group"), files.Count(g.Alone(), "client"))
			for k, of := range g.Groups {
				if k == 10 {
					line("  and %d more", len(g.Groups)-k)
					break
				}
				line("  %s (%s): π = %s, λ = %s, correlation of changes %.2f", files.Count(len(of.Clients), "client"),
					some(of.Clients), within(of.Pi), within(of.Lambda), of.Together)
			}
		}
	}

	line("\nTests of the chains, of one client of each group")
	for _, t := range []struct {
		fit.Test
		name, kept, broken string
	}{
		{
			result.Tests.Stationary, "stationary",
			"the record has no trend beyond what chains have", "clients are more active in some parts of the record",
		},
		{
			result.Tests.Order, "first order",
			"a state depends on the one before alone", "a state depends on more than the one before",
		},
		{
			result.Tests.Runs, "run lengths",
			"times active and inactive are geometric", "times active and inactive are not geometric",
		},
	} {
		says := t.kept + ", as far as can be seen"
		if t.P < 0.05 {
			says = t.broken
		}
		if math.IsNaN(t.P) {
			line("  %-12s not tested: needs %d rounds, and clients who change ten times", t.name, fit.FewestRounds)
			continue
		}
		line("  %-12s %-10s %s (%s)", t.name, probability(t.P), says, files.Count(t.Clients, "client"))
	}

	line("\nModels")
	for _, v := range result.Verdicts() {
		line("  %-11s %s", v.Model, v.Says)
	}
	return b.String()
}

// within formats an estimate with its interval.
func within(v fit.Interval) string {
	if !v.Given() {
		return fmt.Sprintf("%.3g", v.Value)
	}
	return fmt.Sprintf("%.3g (%.3g to %.3g)", v.Value, v.Low, v.High)
}

// probability formats a p-value.
func probability(p float64) string {
	if p < 1e-4 {
		return "p < 0.0001"
	}
	return fmt.Sprintf("p = %.2g", p)
}

// some lists the first few numbers.
func some(x []int) string {
	const most = 8
	words := strings.Fields(strings.Trim(fmt.Sprint(x[:min(len(x), most)]), "[]"))
	if len(x) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}
