package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/results/papers"
)

// sweepFlags say what is crossed with what.
type sweepFlags struct {
	methods, data, nets, availability []string
	rates                             []string
	seeds                             []uint
	name, like                        string
}

// crossed are the settings of which a sweep takes lists, and what decides them.
var crossed = []string{"method", "data", "net", "availability", "preset"}

func (a *app) sweepCommand() *cobra.Command {
	var (
		machine run.Machine
		sweep   sweepFlags
		given   settings.Settings
	)
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Run any methods under any processes on any nets, all on the same trace",
		Long: `sweep runs every method under every availability process on every net and data set, and writes OUT/NAME/summary.csv as
table does. All cells of one process and data set share split, availability, initial weights and batches, seed by
seed: methods of different papers stand side by side under the same conditions. All train as --like does in its
paper, and flags of run change that for all of them; each method keeps its own learning rates, unless --lr, --server-lr
or --rates say otherwise. Finished runs in OUT are kept.`,
		Example: `  rollcall sweep --methods fedawe,ca-fed,fedar,scaffold --availability markov --data cifar10 --rounds 200 --seeds 3,4,6
  rollcall sweep --methods fedar,mifa --availability uniform,trace --trace log.csv --like fedar --nets lenet5,cnn-cifar10`,
		Args: noArgs,
	}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	settings.SettingFlags(shared, &given)
	shared.VisitAll(func(f *pflag.Flag) {
		if f.Name == "preset" || !slices.Contains(crossed, f.Name) {
			cmd.Flags().AddFlag(f)
		}
	})
	registerMachine(cmd.Flags(), &machine)
	registerEvents(cmd.Flags(), &machine)
	registerPack(cmd.Flags(), &machine)
	fs := cmd.Flags()
	fs.StringSliceVar(&sweep.methods, "methods", nil, "methods: "+strings.Join(algos.Names(), ", "))
	fs.StringSliceVar(&sweep.availability, "availability", []string{"stationary"}, "availability processes: "+strings.Join(availability.Names(), ", "))
	fs.StringSliceVar(&sweep.data, "data", []string{"cifar10"}, "data sets: "+strings.Join(datasets.Names(), ", "))
	fs.StringSliceVar(&sweep.nets, "nets", nil, "nets (default: each data set's)")
	fs.UintSliceVar(&sweep.seeds, "seeds", []uint{3}, "seeds")
	fs.StringSliceVar(&sweep.rates, "rates", nil, "learning rates of single methods, METHOD=LR or METHOD=LR/SERVERLR")
	fs.StringVar(&sweep.like, "like", "fedawe", "all train as this method in its paper: split, batches, steps, schedule, clipping, augmentation, weight decay")
	fs.StringVar(&sweep.name, "name", "sweep", "folder below OUT of summary and runs")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := machine.ValidatePack(); err != nil {
			return err
		}
		if err := machine.Validate(); err != nil {
			return err
		}
		t, cells, err := sweep.cells(fs)
		if err != nil {
			return err
		}
		return a.table(cmd.Context(), t, cells, machine)
	}
	return cmd
}

// cells returns the sweep as a table, and its cells.
func (w *sweepFlags) cells(given *pflag.FlagSet) (t papers.Table, cells []run.Cell, err error) {
	if err := w.validate(); err != nil {
		return t, nil, err
	}
	rates, err := w.ratesOf()
	if err != nil {
		return t, nil, err
	}
	seeds, err := settings.SeedList(w.seeds)
	if err != nil {
		return t, nil, err
	}
	t = papers.Table{ID: w.name, Title: "Sweep " + w.name + ": methods under one and the same availability", Methods: w.methods, Seeds: seeds}
	asked := givenSettings(given)
	used := map[string]bool{}
	for _, data := range w.data {
		for _, net := range w.netsOf(data) {
			for _, process := range w.availability {
				column := papers.Column{Data: data, Availability: process}
				for _, method := range w.methods {
					s, err := w.settings(method, given.Lookup("preset").Value.String(), data, net, process, asked, rates)
					if err != nil {
						return t, nil, err
					}
					for _, set := range asked {
						if _, ok := s.Uses(set.Flag); ok {
							used[set.Flag] = true
						}
					}
					t.Rounds = s.Rounds
					column.Base = sharedSettings(&s)
					shown := column
					if len(w.nets) > 1 {
						shown.Set = []papers.Setting{{Flag: "net", Value: s.Net}}
					}
					cells = append(cells, run.Cell{Settings: s, Column: shown})
				}
				t.Columns = append(t.Columns, column)
			}
		}
	}
	for _, set := range asked {
		if !used[set.Flag] {
			in, _ := cells[0].Settings.Uses(set.Flag)
			return t, nil, settings.Usagef("--%s %s: of no use in any cell of this sweep, want it with %s, or not at all", set.Flag, set.Value, in)
		}
	}
	return t, cells, nil
}

// validate reports the first list or name that cannot be meant.
func (w *sweepFlags) validate() error {
	for _, c := range []struct {
		flag         string
		names, known []string
	}{
		{"methods", w.methods, algos.Names()},
		{"availability", w.availability, availability.Names()},
		{"data", w.data, datasets.Names()},
		{"like", []string{w.like}, algos.Names()},
	} {
		if len(c.names) == 0 {
			return settings.Usagef("--%s: empty, want at least one of %s", c.flag, strings.Join(c.known, ", "))
		}
		for i, name := range c.names {
			if err := settings.OneOf(c.flag, name, c.known); err != nil {
				return err
			}
			if slices.Contains(c.names[:i], name) {
				return settings.Usagef("--%s: %s twice, want it once", c.flag, name)
			}
		}
	}
	for _, data := range w.data {
		if err := settings.DataLoads(data); err != nil {
			return err
		}
	}
	if w.name == "" || w.name == "run" || strings.HasPrefix(w.name, ".") || strings.ContainsAny(w.name, `/\:`) ||
		slices.Contains(papers.TableNames(), w.name) || slices.Contains(papers.FigureNames(), w.name) {
		return settings.Usagef("--name %q: want the name of a folder that is no table, figure or run", w.name)
	}
	return nil
}

// netsOf returns the nets of a data set: its own, if none are asked for.
func (w *sweepFlags) netsOf(data string) []string {
	if len(w.nets) > 0 {
		return settings.Unique(w.nets)
	}
	about, err := datasets.About(data)
	if err != nil {
		return nil // validated before
	}
	return []string{about.Net}
}

// rate is a method's η_0 and η_g; a missing one is the method's own.
type rate struct{ lr, serverLR settings.Optional }

// ratesOf reads --rates.
func (w *sweepFlags) ratesOf() (map[string]rate, error) {
	rates := map[string]rate{}
	for _, text := range w.rates {
		method, value, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(w.methods, method) {
			return nil, settings.Usagef("--rates %q: want METHOD=LR or METHOD=LR/SERVERLR of a method in --methods", text)
		}
		var r rate
		parts := strings.Split(value, "/")
		for i, part := range parts {
			v, err := strconv.ParseFloat(part, 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) || len(parts) > 2 {
				return nil, settings.Usagef("--rates %q: want one or two positive numbers, METHOD=LR/SERVERLR", text)
			}
			if i == 0 {
				r.lr = settings.Some(v)
			} else {
				r.serverLR = settings.Some(v)
			}
		}
		rates[method] = r
	}
	return rates, nil
}

// givenSettings returns the flags on the command line that are settings of a run, in order of names.
func givenSettings(given *pflag.FlagSet) (list []papers.Setting) {
	known := (&settings.Settings{}).Flags()
	given.Visit(func(f *pflag.Flag) {
		if known.Lookup(f.Name) == nil || slices.Contains(crossed, f.Name) {
			return
		}
		switch f.Name { // as in run
		case "eval-every":
			list = append(list, papers.Setting{Flag: "eval-last", Value: "none"})
		case "local-steps":
			list = append(list, papers.Setting{Flag: "local-epochs", Value: "none"})
		case "kappa":
			list = append(list, papers.Setting{Flag: "bias-const", Value: "none"})
		}
		list = append(list, papers.Setting{Flag: f.Name, Value: f.Value.String()})
	})
	return list
}

// settings returns the settings of one cell: those of --like, the method's own rates, and what the command line says.
func (w *sweepFlags) settings(method, preset, data, net, process string, list []papers.Setting, rates map[string]rate) (settings.Settings, error) {
	own, err := settings.Defaults(method, preset, data)
	if err != nil {
		return own, err
	}
	s, err := settings.Defaults(w.like, preset, data)
	if err != nil {
		return s, err
	}
	s.Method, s.Net, s.Availability = method, net, process
	s.LR, s.ServerLR = own.LR, own.ServerLR
	if process == "trace" {
		for _, set := range list {
			if set.Flag == "trace" {
				s.Trace = set.Value
			}
		}
	}
	if err := s.Apply(list); err != nil {
		return s, settings.Usagef("%w", err)
	}
	r := rates[method]
	s.LR, s.ServerLR = r.lr.Or(s.LR), r.serverLR.Or(s.ServerLR)
	if err := s.Validate(); err != nil {
		return s, err
	}
	if s.Availability == "trace" {
		if _, err := s.ReadTrace(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// sharedSettings are those that all cells have alike, which say nothing of any.
func sharedSettings(s *settings.Settings) (list []papers.Setting) {
	for name, value := range s.Values() {
		if !slices.Contains(settings.Columns, name) && name != "lr" && name != "server-lr" {
			list = append(list, papers.Setting{Flag: name, Value: value})
		}
	}
	slices.SortFunc(list, func(a, b papers.Setting) int { return strings.Compare(a.Flag, b.Flag) })
	return list
}
