package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// Help fits a window of helpWidth columns, whatever names and flags there are.
func TestHelpWidth(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if strings.HasPrefix(c.CommandPath(), "rollcall completion") {
			return // cobra's own
		}
		for line := range strings.Lines(c.Long + "\n" + c.UsageString()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns, want at most %d: %s", c.CommandPath(), n, helpWidth, line)
			}
		}
	}
	walk(Root())
}

// Every flag of a command with many of them stands below a heading, and the usual ones come first.
func TestFlagGroups(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		groups := grouped(c.Flags())
		if groups == nil {
			return
		}
		if first := groups[0]; first.name != settings.Usual || len(first.flags) > 13 {
			t.Errorf("%s: first %q with %d flags, want at most a dozen usual ones, and --help", c.CommandPath(),
				first.name, len(first.flags))
		}
		n := 0
		for _, g := range groups {
			for _, f := range g.flags {
				if n++; settings.GroupOf(f) != g.name && f.Name != "help" {
					t.Errorf("%s: --%s has the group %q, want one of settings.Groups", c.CommandPath(), f.Name,
						settings.GroupOf(f))
				}
			}
			if g.name == settings.Usual && !slices.ContainsFunc(g.flags, func(f *pflag.Flag) bool {
				return strings.HasPrefix(f.Name, "method") || f.Name == "data"
			}) {
				t.Errorf("%s: neither method nor data among the usual flags", c.CommandPath())
			}
		}
		shown := 0
		_, usage, _ := strings.Cut(c.UsageString(), string(settings.Usual)+":\n")
		for line := range strings.Lines(usage) {
			if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[0], "-") &&
				strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "       ") {
				shown++
			}
		}
		if shown != n {
			t.Errorf("%s: help shows %d flags, want all %d", c.CommandPath(), shown, n)
		}
	}
	walk(Root())
}

// Whatever is listed as a method or an availability model has a description that fits any window.
func TestDescriptions(t *testing.T) {
	for _, name := range slices.Concat(algos.Names(), availability.Names()) {
		for _, width := range []int{leastWidth, 80, helpWidth} {
			var out strings.Builder
			if status := Run(t.Context(), []string{"help", name}, &out, io.Discard); status != StatusOK {
				t.Fatalf("%s: status %d", name, status)
			}
			text := describeModel(name, width)
			if slices.Contains(algos.Names(), name) {
				text = must.Get(describeMethod(name, width))(t)
			}
			if width == helpWidth && text != out.String() {
				t.Errorf("help %s: %q, want %q", name, out.String(), text)
			}
			if !strings.Contains(text, "Formula:") || !strings.Contains(text, "Paper:") {
				t.Errorf("%s: %q, want a formula and a paper", name, text)
			}
			about, _, _ := strings.Cut(text, "\nExample:")
			for line := range strings.Lines(about) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
					t.Errorf("%s: %d columns, want at most %d: %s", name, n, width, line)
				}
			}
		}
	}
}

// The defaults that the usage of table and figure names are those of the papers' tables and figures.
func TestUsageNamesDefaults(t *testing.T) {
	columns := map[string]papers.Table{}
	for _, id := range []string{"fedawe-2", "cafed-1", "fedar-2"} {
		of := must.Get(papers.TableByID(id))(t)
		columns[id] = of
	}
	value := func(id, name string) string {
		of := columns[id]
		w := many.Wanted{Preset: of.Preset, Methods: of.Methods[:1]}
		if w.Preset == "" {
			w.Preset = "code"
		}
		cells := must.Get(many.Cells(&of, &w))(t)
		return cells[0].Settings.Values()[name]
	}
	flags := (&app{stdout: io.Discard, stderr: io.Discard}).tableCommand().Flags()
	for flag, want := range map[string]string{
		"rounds": fmt.Sprintf("fedawe's %s, cafed-1 %s; fedar's %s, which",
			value("fedawe-2", "rounds"), value("cafed-1", "rounds"), value("fedar-2", "rounds")),
		"clients": fmt.Sprintf("fedawe's and fedar's %s, cafed-1 %s)",
			value("fedawe-2", "clients"), value("cafed-1", "clients")),
		"eval-every": fmt.Sprintf("fedawe's %s, and %s among the last %d; cafed-1 %s, fedar's %s)",
			value("fedawe-2", "eval-every"), value("fedawe-2", "eval-last"), results.ProtocolRounds,
			value("cafed-1", "eval-every"), value("fedar-2", "eval-every")),
	} {
		if got := flags.Lookup(flag).Usage; !strings.Contains(got, want) {
			t.Errorf("--%s: %q, want %q in it", flag, got, want)
		}
	}
	seeds := strings.Trim(strings.ReplaceAll(fmt.Sprint(columns["fedawe-2"].Seeds), " ", ","), "[]")
	for id, of := range columns {
		if !slices.Equal(of.Seeds, columns["fedawe-2"].Seeds) || !strings.Contains(flags.Lookup("seeds").Usage, seeds) {
			t.Errorf("%s: seeds %v, the usage says %q", id, of.Seeds, flags.Lookup("seeds").Usage)
		}
	}
	if fedar, fedawe := value("fedar-2", "clients"), value("fedawe-2", "clients"); fedar != fedawe {
		t.Errorf("%s and %s clients, the usage has one number for both", fedar, fedawe)
	}
	figures := (&app{stdout: io.Discard, stderr: io.Discard}).figureCommand().Flags()
	for _, f := range papers.Figures() {
		data := ""
		switch of := f.Measure.(type) {
		case papers.ClassShares:
			data = "of " + f.ID + " and -f5 the one whose split is shown (default " + of.Data + ")"
		case papers.BaseAvailability:
			data = "and " + strings.TrimPrefix(f.ID, "fedawe") + " the one whose split is shown (default " +
				of.Data + ")"
		}
		if got := figures.Lookup("data").Usage; !strings.Contains(got, data) {
			t.Errorf("--data: %q, want %q in it", got, data)
		}
		for _, o := range f.Options {
			own := figures.Lookup(o.Name)
			if own == nil || own.Usage != f.ID+": "+o.Help || own.DefValue != fmt.Sprint(o.Default) {
				t.Errorf("--%s of %s: %+v, want the option's usage and default %v", o.Name, f.ID, own, o.Default)
			}
		}
	}
}

// Every flag of figure is of the machine, of all figures or of one: TestFiguresRefuseFlags goes over the latter two.
func TestFlagsOfFigures(t *testing.T) {
	cmd := &cobra.Command{}
	(&app{}).pooled(cmd)
	known := slices.Clone(papers.FigureFlags())
	for _, f := range papers.Figures() {
		for _, o := range f.Options {
			known = append(known, o.Name)
		}
	}
	(&app{}).figureCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if cmd.Flags().Lookup(f.Name) == nil && !slices.Contains(known, f.Name) {
			t.Errorf("--%s: neither of all figures nor of one, want it in this test", f.Name)
		}
	})
}
