package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results/files"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

// figureFlags narrow a figure and say how it is drawn.
type figureFlags struct {
	data, methods []string
	seeds         []uint
	settings.EntryFlags
	ema         float64
	lossAsCoded bool
	beside      func(path string) error // prints and writes what the paper says beside; path is the figure's without extension
}

func (a *app) figureCommand() *cobra.Command {
	var (
		machine run.Machine
		f       figureFlags
	)
	cmd := &cobra.Command{
		Use:   "figure FIGURE",
		Short: "Regenerate what a figure of a paper plots, as CSV and SVG",
		Long: `figure runs what a paper's figure plots (` + strings.Join(papers.FigureNames(), ", ") + `), if it plots runs, and
writes OUT/FIGURE/FIGURE.csv and FIGURE.svg. Finished runs in OUT are kept, those of tables among them.`,
		Example: `  rollcall figure fedawe-f6
  rollcall figure fedawe-f7 --data cifar10 --rounds 100 --seeds 3`,
		ValidArgsFunction: cobra.FixedCompletions(papers.FigureNames(), cobra.ShellCompDirectiveNoFileComp),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return settings.Usagef("figure: %d figures named, want one of %s", len(args), strings.Join(papers.FigureNames(), ", "))
			}
			return nil
		},
	}
	registerMachine(cmd.Flags(), &machine)
	registerPack(cmd.Flags(), &machine)
	fs := cmd.Flags()
	fs.StringSliceVar(&f.data, "data", nil, "only these data sets; of fedawe-f5 the one whose split is shown (default cifar10)")
	fs.StringSliceVar(&f.methods, "methods", nil, "only these methods")
	fs.UintSliceVar(&f.seeds, "seeds", nil, "seeds (default: fedawe's, fedar's and cafed-i3 3,4,6, cafed-f's 1 … 10; one where a single run is shown)")
	fs.Lookup("seeds").DefValue = "" // the usage says it
	fs.StringVar(&f.Preset, "preset", "code", "code: as the authors' released code; paper: as the paper's text (default: code, and paper for fedar's, which have no other, and for cafed-f…, whose printed rates the code's momentum turns unstable)")
	fs.Lookup("preset").DefValue = "" // the usage says it
	fs.IntVar(&f.Rounds, "rounds", 0, "rounds (default: the paper's)")
	fs.IntVar(&f.Clients, "clients", 100, "clients (default: the paper's)")
	fs.IntVar(&f.EvalEvery, "eval-every", 10, "evaluate every so many rounds (default: fedawe's 10, cafed's 1, cafed-f1c and fedar's 5)")
	for _, name := range []string{"clients", "eval-every"} {
		fs.Lookup(name).DefValue = "" // the usage says it
	}
	fs.Float64Var(&f.ema, "ema", 0.99, "fedawe-f7: exponential moving average of FedAWE's curves; 0 shows them raw")
	fs.BoolVar(&f.lossAsCoded, "loss-as-coded", false, "fedawe-f7: losses divided by 256, as the released code's are")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if settings.OneOf("figure", args[0], papers.FigureNames()) != nil {
			return settings.Usagef("figure %q: unknown%s, want one of %s", args[0], settings.DidYouMean(args[0], papers.FigureNames()), strings.Join(papers.FigureNames(), ", "))
		}
		figure, err := papers.FigureByID(args[0])
		if err != nil {
			return err
		}
		if err := machine.ValidatePack(); err != nil {
			return err
		}
		if err := machine.Validate(); err != nil {
			return err
		}
		if !(f.ema >= 0 && f.ema <= 1) {
			return settings.Usagef("--ema %g: want 0 … 1", f.ema)
		}
		if !fs.Changed("preset") && figure.Preset != "" {
			f.Preset = figure.Preset
		}
		if err := f.override(&figure, fs); err != nil {
			return err
		}
		return a.figure(cmd.Context(), &figure, &f, fs, machine)
	}
	return cmd
}

// override puts --seeds and --rounds into the figure.
func (f *figureFlags) override(figure *papers.Figure, given *pflag.FlagSet) error {
	if given.Changed("seeds") {
		seeds, err := settings.SeedList(f.seeds)
		if err != nil {
			return err
		}
		figure.Seeds = seeds
	}
	if given.Changed("rounds") {
		if f.Rounds < 1 || f.Rounds > math.MaxInt32 {
			return settings.Usagef("--rounds %d: want 1 … %d", f.Rounds, math.MaxInt32)
		}
		figure.Rounds = f.Rounds
	}
	return nil
}

// figure computes a figure's rows, and writes and names its files.
func (a *app) figure(ctx context.Context, figure *papers.Figure, f *figureFlags, given *pflag.FlagSet, machine run.Machine) error {
	dir := filepath.Join(machine.Out, figure.ID)
	if err := run.Writable(dir); err != nil {
		return err
	}
	p := run.NewPool(a.stderr, machine)
	draw := a.drawFedAWE
	if figure.Shows != papers.Special {
		draw = a.drawCAFed
	}
	if strings.HasPrefix(figure.ID, "fedar-") {
		draw = a.drawFedAR
	}
	csv, drawn, err := draw(ctx, figure, f, given, p)
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	path := filepath.Join(dir, figure.ID)
	if err := csv(path + ".csv"); err != nil {
		return err
	}
	if err := plot.WriteFigure(path+".svg", drawn); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.stdout, "%s\n%s.csv\n%s.svg\n", figure.Title, path, path); err != nil {
		return err
	}
	if f.beside == nil {
		return nil
	}
	return f.beside(path)
}

func csvWriter[T any](rows []T) func(path string) error {
	return func(path string) error { return files.WriteCSVFile(path, rows) }
}
