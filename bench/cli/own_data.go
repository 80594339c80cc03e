package cli

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/datasets"
)

// addData registers the data sets in files that a command line names, and returns the command line with their names in
// place of the files.
func addData(args []string) ([]string, error) {
	own := func(_, value string) (string, error) {
		names := []string{value} // whose path may have a comma
		if _, err := os.Stat(strings.TrimPrefix(value, "npz:")); err != nil {
			names = settings.SplitList(value)
		}
		for k, name := range names {
			if name = strings.TrimSpace(name); !datasets.IsOwn(name) {
				continue
			}
			own, err := datasets.Register(name)
			switch {
			case err == nil:
				names[k] = own
			case args[0] == cobra.ShellCompRequestCmd: // an unfinished command line is no error
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, datasets.ErrNoFile):
				return "", settings.Usagef("%w", err)
			default:
				return "", err
			}
		}
		return settings.JoinList(names), nil
	}
	if len(args) > 0 && args[0] == "data" { // data verify npz:FILE
		args = slices.Clone(args)
		for i, arg := range args {
			if !datasets.IsOwn(arg) {
				continue
			}
			var err error
			if args[i], err = own("", arg); err != nil {
				return nil, err
			}
		}
		return args, nil
	}
	return replaced(args, []string{"data"}, own)
}

// dataFiles returns a list of data sets with the files of those that have one.
func dataFiles(list string) string {
	names := strings.Split(list, ",")
	for i, name := range names {
		if value, _ := datasets.Own(name); value != "" {
			names[i] = value
		}
	}
	return settings.JoinList(names)
}
