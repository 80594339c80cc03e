package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/results/papers"
)

// tableFlags narrow a table.
type tableFlags struct {
	methods, data, availability []string
	seeds                       []uint
	entryFlags
}

func (a *app) tableCommand() *cobra.Command {
	var (
		machine machineFlags
		narrow  tableFlags
	)
	cmd := &cobra.Command{
		Use:   "table TABLE",
		Short: "Regenerate a table of a paper beside the printed numbers",
		Long: `table runs every cell of a paper's table (` + strings.Join(papers.TableNames(), ", ") + `), writes OUT/TABLE/summary.csv and prints it
beside the printed numbers. Finished runs in OUT are kept, so an interrupted table goes on where it was. It never
trains on other data than the table's.`,
		Example:           `  rollcall table fedawe-2 --data cifar10 --availability sine --methods fedawe,fedavg-active --rounds 100 --seeds 3`,
		ValidArgsFunction: cobra.FixedCompletions(papers.TableNames(), cobra.ShellCompDirectiveNoFileComp),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: %d tables named, want one of %s", commandName(cmd), len(args), strings.Join(papers.TableNames(), ", "))
			}
			return nil
		},
	}
	machine.register(cmd.Flags())
	machine.registerEvents(cmd.Flags())
	machine.registerPack(cmd.Flags())
	fs := cmd.Flags()
	fs.StringSliceVar(&narrow.methods, "methods", nil, "only these methods")
	fs.StringSliceVar(&narrow.data, "data", nil, "only these data sets")
	fs.StringSliceVar(&narrow.availability, "availability", nil, "only these availability processes")
	fs.UintSliceVar(&narrow.seeds, "seeds", nil, "seeds (default: 3,4,6)")
	fs.Lookup("seeds").DefValue = "" // the usage says it
	fs.StringVar(&narrow.preset, "preset", "code", "code: as the authors' released code; paper: as the paper's text (default: code, and paper for fedar's, which have no other)")
	fs.Lookup("preset").DefValue = "" // the usage says it
	fs.IntVar(&narrow.rounds, "rounds", 0, "rounds (default: the paper's; fedawe's 2000, cafed-1 150; fedar's 1000, which it does not print)")
	fs.IntVar(&narrow.clients, "clients", 0, "clients (default: the paper's; fedawe's and fedar's 100, cafed-1 24)")
	fs.IntVar(&narrow.evalEvery, "eval-every", 0, "evaluate every so many rounds (default: fedawe's 10, and 2 among the last 50; cafed-1 1, fedar's 5)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := oneOf("table", args[0], papers.TableNames()); err != nil {
			return usagef("table %q: unknown%s, want one of %s", args[0], didYouMean(args[0], papers.TableNames()), strings.Join(papers.TableNames(), ", "))
		}
		t, err := papers.TableByID(args[0])
		if err != nil {
			return err
		}
		if err := machine.validatePack(); err != nil {
			return err
		}
		if err := machine.validate(); err != nil {
			return err
		}
		if !fs.Changed("preset") && t.Preset != "" {
			narrow.preset = t.Preset
		}
		cells, err := narrow.cells(&t, fs)
		if err != nil {
			return err
		}
		return a.table(cmd.Context(), t, cells, machine)
	}
	return cmd
}

// cell is one method in one column of a table.
type cell struct {
	settings Settings
	column   papers.Column
}

// cells returns what is left of the table, in its order, and narrows t itself.
func (n *tableFlags) cells(t *papers.Table, given *pflag.FlagSet) ([]cell, error) {
	method, err := narrow(given, "methods", n.methods, t.Methods)
	if err != nil {
		return nil, err
	}
	data, err := narrow(given, "data", n.data, columnNames(t, func(c papers.Column) string { return c.Data }))
	if err != nil {
		return nil, err
	}
	process, err := narrow(given, "availability", n.availability, columnNames(t, func(c papers.Column) string { return c.Availability }))
	if err != nil {
		return nil, err
	}
	if err := n.override(t, given); err != nil {
		return nil, err
	}
	var cells []cell
	for _, column := range t.Columns {
		if !data(column.Data) || !process(column.Availability) {
			continue
		}
		for _, name := range t.Methods {
			if !method(name) && name != t.Reference {
				continue
			}
			s, err := n.settings("table "+t.ID, t.Rounds, column, name, given)
			if err != nil {
				return nil, err
			}
			cells = append(cells, cell{s, column})
		}
	}
	if len(cells) == 0 {
		return nil, usagef("table %s: no cell is left of these methods, data and availability", t.ID)
	}
	return cells, nil
}

// narrow returns which names a list flag leaves: all, if it was not given.
func narrow(given *pflag.FlagSet, flag string, wanted, known []string) (func(name string) bool, error) {
	if !given.Changed(flag) {
		return func(string) bool { return true }, nil
	}
	known = unique(known)
	for _, name := range wanted {
		if err := oneOf(flag, name, known); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, usagef("--%s: empty, want at least one of %s", flag, strings.Join(known, ", "))
	}
	return func(name string) bool { return slices.Contains(wanted, name) }, nil
}

// unique returns the different names, in order.
func unique(names []string) (different []string) {
	for _, name := range names {
		if !slices.Contains(different, name) {
			different = append(different, name)
		}
	}
	return different
}

// seedList returns the value of --seeds, each seed once.
func seedList(given []uint) (seeds []uint32, err error) {
	for _, s := range given {
		if s > math.MaxUint32 {
			return nil, usagef("--seeds %d: want 0 … %d", s, uint32(math.MaxUint32))
		}
		if !slices.Contains(seeds, uint32(s)) {
			seeds = append(seeds, uint32(s))
		}
	}
	if len(seeds) == 0 {
		return nil, usagef("--seeds: empty, want at least one")
	}
	return seeds, nil
}

// override puts --seeds, --rounds and --eval-every into the table.
func (n *tableFlags) override(t *papers.Table, given *pflag.FlagSet) error {
	if given.Changed("seeds") {
		seeds, err := seedList(n.seeds)
		if err != nil {
			return err
		}
		t.Seeds = seeds
	}
	if given.Changed("rounds") {
		t.Rounds = n.rounds
	}
	if t.Entry == papers.AccuracyOverTime && t.Rounds < 3 {
		return usagef("--rounds %d: want at least 3, of whose second half table %s prints the spread", t.Rounds, t.ID)
	}
	return nil
}

// columnNames returns a name of every column.
func columnNames(t *papers.Table, name func(papers.Column) string) (names []string) {
	for _, c := range t.Columns {
		names = append(names, name(c))
	}
	return names
}
