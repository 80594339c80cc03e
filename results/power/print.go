package power

import (
	"fmt"
	"io"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// Write writes the rows of [Estimate] for people: a table of parts for each method and each difference, and below it
// how many seeds the difference needs that was looked for.
func Write(w io.Writer, rows []Spread, find stats.Detect, markdown bool) error {
	type part struct {
		method, minus string
		params        results.Params
	}
	var b strings.Builder
	keys, of := results.Grouped(rows, func(r Spread) part { return part{r.Method, r.Minus, r.Params} })
	for _, k := range keys {
		group := of[k]
		first, all := group[0], group[len(group)-1]
		what := first.Method
		if first.Minus != "" {
			what += " − " + first.Minus + " on the same seeds"
		}
		about := fmt.Sprintf("%s: %s, %s, %s, %d rounds, %d runs", what, first.Data, first.Net, first.Availability,
			first.Rounds, first.Runs)
		if first.Params != "" {
			about += ", " + first.Params.Words(" ")
		}
		number := fmt.Sprintf("%s, mean over the last %d rounds: %s on average", first.Metric.Name(),
			min(results.ProtocolRounds, first.Rounds), inUnit(first.Metric, first.Mean))
		t := files.TextTable{Align: "lrrrr", Gap: "  ", Lines: [][]string{
			{"part of the spread", "seeds", "of the variance", "std", "95 % interval"},
		}}
		for _, r := range group {
			t.Lines = append(t.Lines, r.line())
		}
		if markdown {
			fmt.Fprintf(&b, "%s\n\n%s\n\n", files.EscapeMarkdown(about), files.EscapeMarkdown(number))
			t.Markdown(&b)
			fmt.Fprintf(&b, "\n%s\n\n", files.EscapeMarkdown(all.needs(find)))
		} else {
			fmt.Fprintf(&b, "%s\n%s\n\n", about, number)
			t.Text(&b)
			fmt.Fprintf(&b, "\n%s\n\n", all.needs(find))
		}
	}
	b.WriteString(notes)
	_, err := io.WriteString(w, b.String())
	return err
}

// notes says what the parts mean.
const notes = "split moves the availability too, since p_i depends on φ and on the classes that client i holds.\n" +
	"interactions: what two seeds or more make together, and none alone. all: the spread over new seeds of all.\n" +
	"A negative estimate counts as 0, so that shares may add up to more than 100 %.\n"

// line returns the cells of a part in a table for people.
func (r *Spread) line() []string {
	seeds := ""
	if r.Levels > 0 {
		seeds = fmt.Sprint(r.Levels)
	}
	return []string{
		r.Part, seeds, fmt.Sprintf("%.0f %%", 100*r.Share), inUnit(r.Metric, r.Std),
		inUnit(r.Metric, r.StdLow) + " … " + inUnit(r.Metric, r.StdHigh),
	}
}

// needs returns the lines that say how many seeds are needed.
func (r *Spread) needs(find stats.Detect) string {
	text := fmt.Sprintf("seeds for a difference of %s (two-sided t-test at %g, power %g):\n",
		inUnit(r.Metric, find.Difference), find.Significance, find.Power)
	if r.Minus == "" {
		return text + seedsBetween(r.Apart, r.ApartLow, r.ApartHigh) + ", of each of two methods with this spread"
	}
	return text + seedsBetween(r.Pairs, r.PairsLow, r.PairsHigh) + " if both methods have the same, " +
		seedsBetween(r.Apart, r.ApartLow, r.ApartHigh) + " of each if they do not"
}

// seedsBetween returns a number of seeds and those at the ends of the interval: "34 (20 … 71)".
func seedsBetween(n, low, high files.Optional) string {
	word := func(n files.Optional) string {
		if !n.Valid {
			return fmt.Sprintf("over %d", stats.MostSeeds)
		}
		return fmt.Sprintf("%.0f", n.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", word(n), word(low), word(high))
}

// inUnit returns a number in the unit of the metric with more digits than papers print: a spread is small.
func inUnit(m metrics.Metric, x float64) string {
	if m.IsPercent() {
		return fmt.Sprintf("%.2f", 100*x)
	}
	return fmt.Sprintf("%.4f", x)
}
