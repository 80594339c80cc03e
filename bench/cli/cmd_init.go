package cli

import (
	_ "embed" // for the experiment to start from
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/results"
)

//go:embed experiment.yaml
var firstExperiment string

// initCommand is `rollcall init`: the file of an experiment to begin with.
func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write the file of an experiment with comments, to start from",
		Long: `init writes ` + results.ExperimentFile + `, or FILE, an experiment that rollcall sweep trains within a
minute on a CPU: three methods under two availability models, on data that need no download. - is standard output. If
the file already exists, it stays as it is, and init fails.`,
		Example: "  rollcall init",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return settings.Usagef("init: %d arguments, want one file, or none", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := results.ExperimentFile
			if len(args) > 0 {
				path = args[0]
			}
			if path == "-" {
				_, err := io.WriteString(a.stdout, firstExperiment)
				return err
			}
			if !isExperiment(path) {
				return settings.Usagef("init: %q: want a file whose name ends in .yaml, which sweep reads", path)
			}
			err := writeNew(path, firstExperiment)
			switch {
			case errors.Is(err, fs.ErrExist):
				return fmt.Errorf("init: %s: the file exists, want another name", path)
			case err != nil:
				return fmt.Errorf("init: %w", err)
			}
			_, err = fmt.Fprintf(a.stdout, "%s: written; next:\n  rollcall sweep %s\n", path, path)
			return err
		},
	}
}
