package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
)

// scenarioCommand is `rollcall scenario`: what a run is given, for programs that are no method of this suite.
func (a *app) scenarioCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenario", Short: "Write split, availability, rates, weights and batches for your own program",
		Long: `A program with its own local loss, its own nets or its own loop is no method of rollcall. It can still
train on the same clients as the methods here.`,
	}
	cmd.AddCommand(a.scenarioExportCommand())
	for _, c := range cmd.Commands() { // newRoot does it for its own subcommands only
		completeNames(c)
	}
	return cmd
}

// scenarioExportCommand is `rollcall scenario export`.
func (a *app) scenarioExportCommand() *cobra.Command {
	var (
		x       run.Scenario
		machine run.Machine
		rates   string
	)
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the scenario of a run as NumPy files",
		Long: `export writes what a run with the same flags is given, and trains nothing: which samples each client
holds, who is available in every round and with which probability, the learning rates (scenario.npz), the initial
weights under PyTorch's names (weights.npz), and what all this is (scenario.json). DIR is a new or an empty folder.

--batches writes the samples, crops and flips of every local step, too. The samples themselves are written if they are
generated, and else with --with-data: their numbers count in the order of the published files.`,
		Example: `  rollcall scenario export mine --data cifar10 --availability sine --rounds 500
  rollcall scenario export tiny --method fedavg-active --data leaf --rounds 20 --batches`,
		Args: exactly(1, "%d arguments, want one folder"),
	}
	// The settings of run, but for those that decide nothing of a scenario: how models are evaluated, and what single
	// methods read.
	var without []string
	for _, r := range settings.Rows() {
		if r.Group == settings.Output || r.Group == settings.OfMethods {
			without = append(without, r.Name)
		}
	}
	flags := cmd.Flags()
	settings.AddFlags(flags, without...)
	settings.Under(settings.Usual, flags, func(fs *pflag.FlagSet) {
		fs.Uint32Var(&x.Seed, "seed", 3, "seed of every draw: split, availability, weights, batches, augmentation")
	})
	ratesFlag(flags, &rates)
	settings.Under(settings.DataSplit, flags, func(fs *pflag.FlagSet) {
		fs.StringVar(&machine.DataDir, "data-dir", "", "folder of the data sets")
		fs.BoolVar(&machine.Altered, "allow-altered", false, "accept data files that are not the official ones")
	})
	settings.Under(settings.Output, flags, func(fs *pflag.FlagSet) {
		fs.BoolVar(&x.Batches, "batches", false, "write batches.npz too: samples, crops and flips of every local step")
		fs.BoolVar(&x.Data, "with-data", false, "write data.npz too: the samples, also those that are not generated")
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		dir := args[0]
		if x.Settings, err = resolve(flags, rates); err != nil {
			return err
		}
		if err := refuseSeed(flags, &x.Settings, x.Seed); err != nil {
			return err
		}
		if x.Command, err = scenarioCommandLine(&x, machine.Altered); err != nil {
			return err
		}
		if err := unusedFolder(dir); err != nil {
			return err
		}
		leave, err := run.Writable(dir) // before a download
		if err != nil {
			return fmt.Errorf("scenario export: %w", err)
		}
		defer leave()
		for _, note := range x.Settings.TraceNotes() {
			run.Logf(a.stderr, "%s\n", note)
		}
		ses := &run.Session{Machine: machine, Stderr: a.stderr}
		info, err := x.Export(cmd.Context(), ses, dir)
		if err = cmp.Or(err, ses.Close()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s of %s, %s on %s, %s\n", dir,
			files.Count(x.Settings.Rounds, "round"), files.Count(x.Settings.Clients, "client"), info.Net, info.Data,
			x.Settings.Availability)
		for _, f := range info.Files {
			if err == nil {
				_, err = fmt.Fprintf(a.stdout, "  %s: %s\n", f.Name, files.Count(len(f.Arrays), "array"))
			}
		}
		return err
	}
	return cmd
}

// unusedFolder refuses what is neither new nor an empty folder, nor one with what a killed export has left.
func unusedFolder(dir string) error {
	if dir == "" {
		return settings.Usagef(`scenario export: "": want the name of a folder`)
	}
	files.Sweep(dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("scenario export: %s: %w, want a new or an empty folder", dir, files.Cause(err))
	}
	for _, e := range entries { // scenario.json is written last: with it the scenario is whole
		if !slices.Contains(run.ScenarioParts, e.Name()) {
			return fmt.Errorf("scenario export: %s: the folder has %s, want a new or an empty one", dir,
				files.Printable(e.Name()))
		}
	}
	return nil
}

// scenarioCommandLine returns the command that writes a scenario again, to a folder DIR.
func scenarioCommandLine(x *run.Scenario, altered bool) (string, error) {
	given, err := x.Settings.Flags()
	if err != nil {
		return "", err
	}
	words := []string{"rollcall scenario export DIR"}
	for name, value := range given.All() {
		words = append(words, "--"+files.ShellQuoted(name+"="+asGiven(name, value)))
	}
	words = append(words, fmt.Sprintf("--seed=%d", x.Seed))
	for _, f := range []struct {
		name  string
		given bool
	}{{"batches", x.Batches}, {"with-data", x.Data}, {"allow-altered", altered}} {
		if f.given {
			words = append(words, "--"+f.name)
		}
	}
	return strings.Join(words, " "), nil
}
