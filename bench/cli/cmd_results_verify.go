package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/internal/files"
	"rollcall/results"
)

// verified is the output of `results verify --json`.
type verified struct {
	Runs     []verifiedRun `json:"runs"`
	Problems []string      `json:"problems"` // a line each
}

// verifiedRun is one run in the output of `results verify --json`.
type verifiedRun struct {
	Folder string            `json:"folder"`
	Status results.RunStatus `json:"status"`
	Schema int               `json:"schema"` // 0: there is no run.json
}

// verifyCommand is `rollcall results verify`: are the files of runs what their run.json says? Merging, reports and
// tables check the same, so that the command serves to look before a long job, and after copying files.
func (a *app) verifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [DIR…]",
		Short: "Check runs against their run.json",
		Long: `verify reads every run below each DIR (out if none is named) and compares it with its run.json: the
settings and the seed, the folder's name, every row of curve.csv (one run, the rounds of the settings, finite
numbers, accuracies in 0 … 1), and the checksums of its files. Two seeds of a cell with the same numbers count as
copies. verify names every error, and the exit status is then 1; a run of schema 1, which cannot be checked, is an
error too. table, sweep, figure, report and results check runs in the same way. Checksums find accidents, but not
forgeries: a forger can write checksums too.`,
		Example: `  rollcall results verify out
  rollcall results verify out/fedawe-2 --json`,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"out"}
			}
			runs, bad, err := results.FindRuns(cmd.Context(), args...)
			if err != nil {
				return err
			}
			if len(runs) == 0 && len(bad) == 0 {
				return fmt.Errorf("results verify: no run below %s, want one at least", strings.Join(args, ", "))
			}
			return a.verify(runs, bad, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return cmd
}

// verify prints how many runs there are of each status, and what is wrong with them. It fails if anything is.
func (a *app) verify(runs []results.Run, bad []error, asJSON bool) error {
	found := verified{Problems: []string{}} // not nil, so that JSON without problems has [] and not null
	counts := map[results.RunStatus]int{}
	for i := range runs {
		r := &runs[i]
		v := verifiedRun{Folder: r.Dir, Status: r.Status()}
		counts[v.Status]++
		if r.Info != nil {
			v.Schema = r.Info.Schema
			// Schema 1 had no checksums and no revisions: nothing is wrong with such a run, and nothing is proved.
			if v.Schema < results.Schema && !r.Damaged {
				bad = append(bad,
					fmt.Errorf("%s: run.json of schema %d, want %d: unverified", r.Dir, v.Schema, results.Schema))
			}
		}
		found.Runs = append(found.Runs, v)
	}
	for _, err := range bad {
		found.Problems = append(found.Problems, files.OneLine(err.Error()))
	}
	if asJSON {
		out := json.NewEncoder(a.stdout)
		out.SetEscapeHTML(false) // paths keep their &
		out.SetIndent("", "  ")
		if err := out.Encode(found); err != nil {
			return err
		}
	} else {
		var words []string
		for _, s := range results.RunStatuses() {
			if counts[s] > 0 {
				words = append(words, fmt.Sprintf("%d %s", counts[s], s))
			}
		}
		all := run.Count(len(runs), "run")
		if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", all, strings.Join(words, ", ")); err != nil {
			return err
		}
	}
	logErrors(a.stderr, bad...)
	if len(bad) > 0 {
		return fmt.Errorf("results verify: %s, named above", run.Count(len(bad), "problem"))
	}
	return nil
}
