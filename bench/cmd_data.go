package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/datasets"
)

func (a *app) dataCommand() *cobra.Command {
	var dir string
	data := &cobra.Command{
		Use: "data", Short: "List, fetch and verify data sets",
		Args: subcommandArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	data.PersistentFlags().StringVar(&dir, "data-dir", "", "folder of the data sets (default: $ROLLCALL_DATA, then the user's cache folder)")
	options := func() datasets.Options { return datasets.Options{Dir: dir, Progress: a.stderr} }
	named := func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return settings.Usagef("%s: %d data sets named, want one of %s", commandName(cmd), len(args), strings.Join(datasets.Names(), ", "))
		}
		if !slices.Contains(datasets.Names(), args[0]) {
			return settings.Usagef("%s: data set %q: unknown%s, want one of %s", commandName(cmd), args[0], settings.DidYouMean(args[0], datasets.Names()), strings.Join(datasets.Names(), ", "))
		}
		return nil
	}
	complete := cobra.FixedCompletions(datasets.Names(), cobra.ShellCompDirectiveNoFileComp)
	data.AddCommand(
		&cobra.Command{
			Use: "list", Short: "Say where every data set lies", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.dataList(options()) },
		},
		&cobra.Command{
			Use: "fetch NAME", Short: "Download a data set from its official site, if it is not there", Args: named, ValidArgsFunction: complete,
			RunE: func(cmd *cobra.Command, args []string) error {
				dir, err := datasets.Fetch(cmd.Context(), args[0], options())
				if err != nil {
					return err
				}
				if dir == "" {
					dir = "generated, nothing to fetch"
				}
				_, err = fmt.Fprintf(a.stdout, "%s: %s\n", args[0], dir)
				return err
			},
		},
		&cobra.Command{
			Use: "verify NAME", Short: "Compare a data set's files with the published checksums", Args: named, ValidArgsFunction: complete,
			RunE: func(_ *cobra.Command, args []string) error { return a.dataVerify(args[0], options()) },
		},
	)
	return data
}

func (a *app) dataList(o datasets.Options) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, name := range datasets.Names() {
		found, err := datasets.Find(name, o)
		where := found.Dir
		switch {
		case errors.Is(err, datasets.ErrNotFound):
			where = "not here; `rollcall data fetch " + name + "` downloads it"
		case err != nil:
			return err
		case found.Packed:
			where = found.Archive
		case found.Archive != "":
			where = found.Archive + " (will be extracted)"
		case where == "":
			where = "generated"
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\n", name, where); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (a *app) dataVerify(name string, o datasets.Options) error {
	files, err := datasets.Verify(name, o)
	if err != nil {
		return err
	}
	bad := 0
	for _, f := range files {
		if !f.Status.OK() {
			bad++
		}
		if _, err := fmt.Fprintln(a.stdout, f); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("data verify: %s: %d of %d files are not the official ones", name, bad, len(files))
	}
	return nil
}
