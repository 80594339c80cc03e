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
	args = slices.Clone(args)
	at := map[int]string{} // index of an argument: what stands before the value there
	for i, before := range valuesOf(args, "data") {
		at[i] = before
	}
	if len(args) > 0 && args[0] == "data" { // data verify npz:FILE
		for i := range args {
			at[i] = ""
		}
	}
	for i, before := range at {
		value := args[i][len(before):]
		names := []string{value} // run takes one, whose path may have a comma
		if _, err := os.Stat(strings.TrimPrefix(value, "npz:")); err != nil {
			names = strings.Split(value, ",")
		}
		for k, name := range names {
			if !datasets.IsOwn(strings.TrimSpace(name)) {
				continue
			}
			own, err := datasets.Register(strings.TrimSpace(name))
			switch {
			case err == nil:
				names[k] = own
			case args[0] == cobra.ShellCompRequestCmd: // an unfinished command line is no error
			case errors.Is(err, fs.ErrNotExist):
				return nil, settings.Usagef("%w", err)
			default:
				return nil, err
			}
		}
		args[i] = before + strings.Join(names, ",")
	}
	return args, nil
}

// dataFiles returns a list of data sets with the files of those that have one, for a command line of another process.
func dataFiles(list string) string {
	names := strings.Split(list, ",")
	for i, name := range names {
		if value, _ := datasets.Own(name); value != "" {
			names[i] = value
		}
	}
	return strings.Join(names, ",")
}
