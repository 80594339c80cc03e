package tune

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"rollcall/bench/run"
	"rollcall/results/metrics"
)

// rungWords says how many pairs were compared after which rounds: "9 pairs after round 10, 5 after 20, 3 after 40". A
// cell whose trace is shorter than the others' has other rungs, which are not named.
func rungWords(cells []*cell) string {
	var words []string
	longest := cells[0]
	for _, c := range cells {
		if c.settings.Rounds > longest.settings.Rounds {
			longest = c
		}
	}
	n := len(longest.trials)
	for i, round := range longest.rungs {
		if i == 0 {
			words = append(words, fmt.Sprintf("%s after round %d", run.Count(n, "pair"), round))
		} else {
			n = half(n)
			words = append(words, fmt.Sprintf("%d after %d", n, round))
		}
	}
	return strings.Join(words, ", ")
}

// Write prints the rates that were found, and where they stand.
func (o *Outcome) Write(w io.Writer) error {
	var b strings.Builder // fmt cannot fail on it: only the one write at the end can
	t := o.tuning
	fmt.Fprintf(&b, "Tuning %s: %s; %s\n", t.Name, o.rungs, run.Count(len(t.Seeds), "seed"))
	fmt.Fprintf(&b, "accuracy on held-out training samples, the mean over the last %d evaluations and the seeds\n\n",
		evaluations)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "method\tdata\tnet\tavailability\tlr\tserver lr\taccuracy %\tloss\t")
	for _, r := range o.Rates {
		edge := ""
		if r.Edge != "" {
			edge = "at the edge of the grid: " + r.Edge
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%g\t%g\t%s\t%.4f\t%s\n", r.Method, r.Data, r.Net, r.Availability,
			r.LR, r.ServerLR, metrics.TestAcc.Words(r.Acc, r.Std, len(t.Seeds)), r.Loss.Value, edge)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n", o.path)
	_, err := io.WriteString(w, b.String())
	return err
}
