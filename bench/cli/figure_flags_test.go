package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"rollcall/results/papers"
)

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
