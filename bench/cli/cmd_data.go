package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/datasets"
	"rollcall/internal/files"
)

// dataCommand is `rollcall data`: where data sets lie, and whether their files are the official ones. Package datasets
// does the work.
func (a *app) dataCommand() *cobra.Command {
	options := datasets.Options{Progress: a.stderr}
	data := &cobra.Command{
		Use: "data", Short: "List, fetch and verify data sets",
	}
	data.PersistentFlags().StringVar(&options.Dir, "data-dir", "",
		"folder of the data sets (default: $ROLLCALL_DATA, then the user's cache folder)")
	named := cobra.MatchAll(oneNamed("data sets", datasets.Names()), func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(datasets.Names(), args[0]) {
			return unknownName(commandName(cmd)+": data set", args[0], datasets.Names())
		}
		return nil
	})
	complete := cobra.FixedCompletions(datasets.Names(), cobra.ShellCompDirectiveNoFileComp)
	data.AddCommand(
		&cobra.Command{
			Use: "list", Short: "Show where every data set is", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.dataList(options) },
		},
		&cobra.Command{
			Use: "fetch NAME", Short: "Download a data set from its official site, if it is missing", Args: named,
			ValidArgsFunction: complete,
			RunE: func(cmd *cobra.Command, args []string) error {
				dir, err := datasets.Fetch(cmd.Context(), args[0], options)
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
			Use: "verify NAME", Args: named,
			Short:             "Compare a data set's files with the published checksums, or read npz:FILE",
			ValidArgsFunction: complete,
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.dataVerify(cmd.Context(), args[0], options)
			},
		},
	)
	return data
}

// dataList prints a line for every data set: its folder or archive, or how to get it. It reads and downloads nothing.
func (a *app) dataList(o datasets.Options) error {
	table := files.TextTable{Align: "ll", Gap: "  "}
	for _, name := range datasets.Names() {
		found, err := datasets.Find(name, o)
		where := found.Dir
		switch {
		case errors.Is(err, datasets.ErrNotFound): // no error here: that is what the list is for
			how := "`rollcall data fetch " + name + "` downloads it"
			if about, _ := datasets.About(name); about.ByHand != "" {
				how = about.ByHand
			}
			where = strings.TrimPrefix(err.Error(), "datasets: "+name+": ") + "; " + how
		case err != nil:
			return err
		case found.Packed: // the archive itself is read
			where = found.Archive
		case found.Archive != "":
			where = found.Archive + " (will be extracted)"
		case where == "": // generated sets have no files
			where = "generated"
		}
		table.Lines = append(table.Lines, []string{name, oneLine(where)})
	}
	var b strings.Builder
	table.Text(&b)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// dataVerify prints a line for every file of a data set, and fails if one is not the official file.
func (a *app) dataVerify(ctx context.Context, name string, o datasets.Options) error {
	found, err := datasets.Verify(ctx, name, o)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err = fmt.Fprintf(a.stdout, "%s: generated, nothing to verify\n", name)
	}
	bad := 0
	for _, f := range found {
		if !f.Status.OK() {
			bad++
		}
		if _, err = fmt.Fprintln(a.stdout, oneLine(f.String())); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("data verify: %s: %d of %d files are not the official ones", name, bad, len(found))
	}
	return err
}

// oneLine returns a text without line breaks, which a name of a file may have.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }
