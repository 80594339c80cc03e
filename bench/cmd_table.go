package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/results/papers"
)

// tableFlags narrow a table.
type tableFlags struct {
	methods, data, availability []string
	seeds                       []uint
	settings.EntryFlags
}

func (a *app) tableCommand() *cobra.Command {
	var (
		machine run.Machine
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
				return settings.Usagef("%s: %d tables named, want one of %s", commandName(cmd), len(args), strings.Join(papers.TableNames(), ", "))
			}
			return nil
		},
	}
	registerMachine(cmd.Flags(), &machine)
	registerEvents(cmd.Flags(), &machine)
	registerPack(cmd.Flags(), &machine)
	fs := cmd.Flags()
	fs.StringSliceVar(&narrow.methods, "methods", nil, "only these methods")
	fs.StringSliceVar(&narrow.data, "data", nil, "only these data sets")
	fs.StringSliceVar(&narrow.availability, "availability", nil, "only these availability processes")
	fs.UintSliceVar(&narrow.seeds, "seeds", nil, "seeds (default: 3,4,6)")
	fs.Lookup("seeds").DefValue = "" // the usage says it
	fs.StringVar(&narrow.Preset, "preset", "code", "code: as the authors' released code; paper: as the paper's text (default: code, and paper for fedar's, which have no other)")
	fs.Lookup("preset").DefValue = "" // the usage says it
	fs.IntVar(&narrow.Rounds, "rounds", 0, "rounds (default: the paper's; fedawe's 2000, cafed-1 150; fedar's 1000, which it does not print)")
	fs.IntVar(&narrow.Clients, "clients", 0, "clients (default: the paper's; fedawe's and fedar's 100, cafed-1 24)")
	fs.IntVar(&narrow.EvalEvery, "eval-every", 0, "evaluate every so many rounds (default: fedawe's 10, and 2 among the last 50; cafed-1 1, fedar's 5)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := settings.OneOf("table", args[0], papers.TableNames()); err != nil {
			return settings.Usagef("table %q: unknown%s, want one of %s", args[0], settings.DidYouMean(args[0], papers.TableNames()), strings.Join(papers.TableNames(), ", "))
		}
		t, err := papers.TableByID(args[0])
		if err != nil {
			return err
		}
		if err := machine.ValidatePack(); err != nil {
			return err
		}
		if err := machine.Validate(); err != nil {
			return err
		}
		if !fs.Changed("preset") && t.Preset != "" {
			narrow.Preset = t.Preset
		}
		cells, err := narrow.cells(&t, fs)
		if err != nil {
			return err
		}
		return a.table(cmd.Context(), t, cells, machine)
	}
	return cmd
}

// cells returns what is left of the table, in its order, and narrows t itself.
func (n *tableFlags) cells(t *papers.Table, given *pflag.FlagSet) ([]run.Cell, error) {
	method, err := settings.Narrow("methods", n.methods, t.Methods)
	if err != nil {
		return nil, err
	}
	data, err := settings.Narrow("data", n.data, columnNames(t, func(c papers.Column) string { return c.Data }))
	if err != nil {
		return nil, err
	}
	process, err := settings.Narrow("availability", n.availability, columnNames(t, func(c papers.Column) string { return c.Availability }))
	if err != nil {
		return nil, err
	}
	if err := n.override(t, given); err != nil {
		return nil, err
	}
	var cells []run.Cell
	for _, column := range t.Columns {
		if !data(column.Data) || !process(column.Availability) {
			continue
		}
		for _, name := range t.Methods {
			if !method(name) && name != t.Reference {
				continue
			}
			s, err := n.Settings("table "+t.ID, t.Rounds, column, name, given)
			if err != nil {
				return nil, err
			}
			cells = append(cells, run.Cell{Settings: s, Column: column})
		}
	}
	if len(cells) == 0 {
		return nil, settings.Usagef("table %s: no cell is left of these methods, data and availability", t.ID)
	}
	return cells, nil
}

// override puts --seeds, --rounds and --eval-every into the table.
func (n *tableFlags) override(t *papers.Table, given *pflag.FlagSet) error {
	if given.Changed("seeds") {
		seeds, err := settings.SeedList(n.seeds)
		if err != nil {
			return err
		}
		t.Seeds = seeds
	}
	if given.Changed("rounds") {
		t.Rounds = n.Rounds
	}
	if t.Entry == papers.AccuracyOverTime && t.Rounds < 3 {
		return settings.Usagef("--rounds %d: want at least 3, of whose second half table %s prints the spread", t.Rounds, t.ID)
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
