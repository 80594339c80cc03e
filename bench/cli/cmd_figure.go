package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// figureCommand is `rollcall figure`: the data and the drawing of a paper's figure. Package results/papers says what a
// figure shows and draws it; package many measures it.
func (a *app) figureCommand() *cobra.Command {
	var wanted many.Wanted
	cmd := &cobra.Command{
		Use:   "figure FIGURE",
		Short: "Reproduce the data and the plot of a paper's figure, as CSV, SVG and PDF",
		Long: "figure runs what a paper's figure plots (" + strings.Join(papers.FigureNames(), ", ") +
			`), if it plots runs, and writes
OUT/FIGURE/FIGURE.csv, and the drawing as FIGURE.svg, .png and .pdf, 6.8 inches wide and, as FIGURE-column.*, 3.3
inches. FIGURE.json says how they were made, and FIGURE-paper.csv what the paper says about the figure, and whether ours
agrees. Finished runs in OUT are kept, also runs of tables.`,
		Example: `  rollcall figure fedawe-f6
  rollcall figure fedawe-f7 --data cifar10 --rounds 100 --seeds 3`,
		ValidArgsFunction: cobra.FixedCompletions(papers.FigureNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              oneNamed("figures", papers.FigureNames()),
	}
	fs := cmd.Flags()
	settings.Under(settings.Usual, fs, func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&wanted.Methods, "methods", nil, "only these methods")
		fs.StringSliceVar(&wanted.Data, "data", nil,
			"only these data sets; of fedawe-f4 and -f5 the one whose split is shown (default cifar10)")
		wanted.Rounds = fs.Int("rounds", 0, "rounds (default: the paper's)")
		fs.Int("clients", 0, "clients (default: the paper's, 20 of fedawe-f4)")
	})
	registerColumns(fs, &wanted,
		"seeds (default: fedawe's, fedar's and cafed-i3 3,4,6, cafed-f's 1 … 10; one where a single run is shown)",
		", and for cafed-f…, whose printed rates the code's momentum turns unstable")
	settings.Under(settings.Output, fs, func(fs *pflag.FlagSet) {
		fs.Int("eval-every", 0,
			"evaluate every so many rounds (default: fedawe's 10, cafed's 1, cafed-f1c and fedar's 5)")
	})
	c := a.pooled(cmd)
	// Every figure's own flags are there for every figure: cobra reads the flags before it knows which figure is asked
	// for. refuseUnusedFlags sorts them out.
	var options map[string]func() any
	settings.Under(settings.OfFigures, fs, func(fs *pflag.FlagSet) { options = optionFlags(fs) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		figure, err := papers.FigureByID(args[0])
		if err != nil {
			return unknownName("figure", args[0], papers.FigureNames())
		}
		if err := c.validate(); err != nil {
			return err
		}
		if err := refuseUnusedFlags(fs, &figure); err != nil {
			return err
		}
		own, err := optionValues(options)
		if err != nil {
			return err
		}
		complete(&wanted, fs, figure.Preset)
		if err := wanted.Figure(&figure); err != nil {
			return err
		}
		if _, made := figure.Measure.(papers.Curves); !made { // its numbers are in no folder of a run
			for _, name := range []string{"part", "slurm", "collect", "format"} {
				if fs.Changed(name) {
					return settings.Usagef("--%s: of no use with figure %s, which has no folder of a run", name,
						figure.ID)
				}
			}
		}
		here, err := c.begin(planned{
			id: figure.ID, title: figure.Title,
			runs: func(ctx context.Context, p *many.Pool) ([]many.Planned, error) {
				return p.PlanFigure(ctx, &figure, &wanted)
			},
		})
		if err != nil || !here {
			return err
		}
		return c.end(figure.ID, c.figure(&figure, &wanted, own, givenTo(fs, &figure)))
	}
	return cmd
}

// refuseUnusedFlags reports the first flag on the command line that makes no difference to this figure: a common flag
// that this kind of figure does not read, or another figure's own flag.
func refuseUnusedFlags(fs *pflag.FlagSet, figure *papers.Figure) error {
	// A user who gives a flag expects an effect, so that a flag without one is an error.
	for _, name := range papers.FigureFlags() {
		if fs.Changed(name) && !slices.Contains(figure.Measure.Takes(), name) {
			return settings.Usagef("--%s: of no use with figure %s, want it not at all", name, figure.ID)
		}
	}
	for _, other := range papers.Figures() {
		for _, o := range other.Options {
			if fs.Changed(o.Name) && other.ID != figure.ID {
				return settings.Usagef("--%s: of no use with figure %s, want it with %s", o.Name, figure.ID, other.ID)
			}
		}
	}
	return nil
}

// givenTo returns the flags on the command line that change what the figure shows, with their values, besides --preset.
func givenTo(fs *pflag.FlagSet, figure *papers.Figure) map[string]string {
	names := figure.Measure.Takes()
	for _, o := range figure.Options {
		names = append(names, o.Name)
	}
	given := map[string]string{}
	for _, name := range names {
		if f := fs.Lookup(name); f.Changed && name != "preset" {
			given[name] = strings.Trim(f.Value.String(), "[]") // lists are printed in brackets
		}
	}
	return given
}

// figure measures and draws a figure, writes FIGURE.csv, FIGURE.json and the drawing, and prints their paths. Where the
// paper says something about the figure, FIGURE-paper.csv sets ours beside it. given are the flags of [givenTo].
func (s *pooled) figure(
	figure *papers.Figure, wanted *many.Wanted, options map[string]any, given map[string]string,
) error {
	dir := filepath.Join(s.machine.Out, figure.ID)
	leave, err := run.Writable(dir)
	if err != nil {
		return err
	}
	defer leave()
	p := s.pool()
	measured, err := p.Measure(s.cmd.Context(), figure, wanted)
	var info results.FigureInfo
	if err == nil {
		info, err = p.FigureInfo(figure, wanted, &measured, given)
	}
	err = errors.Join(err, p.Close())
	if held, ok := errors.AsType[*many.LackingError](err); ok {
		return fmt.Errorf("figure %s: %w: %w", figure.ID, held, many.ErrHeld)
	}
	if elsewhere, ok := errors.AsType[*many.OtherPartError](err); ok { // a part has made its runs
		run.Logf(s.stderr, "figure %s: %s: not drawn; results merge merges the parts\n", figure.ID, elsewhere)
		return nil
	}
	if err != nil {
		return err
	}
	// Package papers knows what the figure shows, and returns rows, drawing and, for some figures, the paper's claims.
	measured.Options = options
	drawn, err := figure.Draw(measured)
	if err != nil {
		return err
	}
	var methods []string
	for _, l := range measured.Lines {
		methods = append(methods, l.Method)
	}
	drawn.Figure.Keys = papers.Keys(methods, drawn.Figure.Names())
	path := filepath.Join(dir, figure.ID)
	if err := cmp.Or(
		drawn.Rows.WriteCSV(path+".csv"), plot.WriteFigure(path, drawn.Figure),
		results.WriteFigureInfo(path+".json", info), s.keepCommand(figure.ID),
	); err != nil {
		return err
	}
	written := fmt.Sprintf("%s\n%s.csv\n%s.svg\n%s.pdf\n%s.json\n", figure.Title, path, path, path, path)
	if drawn.Says != nil {
		if err := files.WriteCSVFile(path+papers.PaperSuffix, drawn.Says); err != nil {
			return err
		}
		written += path + papers.PaperSuffix + "\n"
	}
	_, err = fmt.Fprint(s.stdout, written+drawn.Words)
	return err
}

// optionFlags adds a flag for every option of every figure, such as --ema of fedawe-f7. It returns a function per flag
// that returns its value once the command line is read.
func optionFlags(fs *pflag.FlagSet) map[string]func() any {
	values := map[string]func() any{}
	for _, figure := range papers.Figures() {
		for _, o := range figure.Options {
			help := figure.ID + ": " + o.Help
			switch def := o.Default.(type) {
			case float64:
				v := fs.Float64(o.Name, def, help)
				values[o.Name] = func() any { return *v }
			case bool:
				v := fs.Bool(o.Name, def, help)
				values[o.Name] = func() any { return *v }
			default: // a mistake in package papers, which every command line shows at once
				panic(fmt.Sprintf("figure %s: option %s is a %T, want a float64 or a bool", figure.ID, o.Name, def))
			}
		}
	}
	return values
}

// optionValues returns the values of the options of all figures, by name, and an error for a value that its option
// refuses.
func optionValues(flags map[string]func() any) (map[string]any, error) {
	values := map[string]any{}
	for _, figure := range papers.Figures() {
		for _, o := range figure.Options {
			v := flags[o.Name]()
			if o.Check != nil {
				if err := o.Check(v); err != nil {
					return nil, settings.Usagef("--%s %v: %w", o.Name, v, err)
				}
			}
			values[o.Name] = v
		}
	}
	return values, nil
}
