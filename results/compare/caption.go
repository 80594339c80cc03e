package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
)

// Caption describes how the numbers of a table were made: seeds, rounds and clients, split, presets and nets, versions
// and numerics. If rows differ, it has the range or a list. Rows without a number do not count.
func Caption(rows []results.SummaryRow) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r results.SummaryRow) bool { return r.N == 0 })
	// counted and between need one row at least.
	if len(rows) == 0 {
		return "No number yet"
	}
	var rounds, clients []int
	var alphas []float64
	unknown := ""
	for _, r := range rows {
		clients = append(clients, r.Clients)
		if r.Rounds > 0 {
			rounds = append(rounds, r.Rounds)
		} else {
			unknown = ", of some unknown"
		}
		if r.Alpha.Valid {
			alphas = append(alphas, r.Alpha.Value)
		}
	}
	var about []string
	if len(rounds) > 0 {
		about = append(about, Counted(rounds, "round")+unknown)
	} else {
		about = append(about, "rounds unknown")
	}
	about = append(about, "N = "+between(clients))
	if len(alphas) > 0 {
		about = append(about, "α = "+between(alphas))
	}
	about = append(about, each(rows, subsetOf)...)
	if presets := each(rows, func(r *results.SummaryRow) string { return r.Preset }); len(presets) == 1 {
		about = append(about, "preset "+presets[0])
	} else if len(presets) > 1 {
		about = append(about, "presets "+strings.Join(presets, " and "))
	}
	about = append(about, each(rows, func(r *results.SummaryRow) string { return r.Net })...)
	var by []string
	if lists := each(rows, func(r *results.SummaryRow) string { return r.Version }); len(lists) > 0 {
		versions := strings.Split(strings.Join(lists, results.And), results.And)
		by = append(by, "rollcall "+strings.Join(files.SortedSet(versions), ", "))
	}
	by = append(by, each(rows, func(r *results.SummaryRow) string { return r.Numerics })...)
	parts := []string{measured(rows), strings.Join(about, ", "), strings.Join(by, ", ")}
	return strings.TrimSuffix(strings.Join(parts, "; "), "; ")
}

// subsetOf says how many samples of its data set the runs of a row drew; "": they have all.
func subsetOf(r *results.SummaryRow) string {
	if r.Subset != nil {
		return r.Subset.String()
	}
	if r.Data == "synthetic" { // which has any size
		return ""
	}
	drawn := results.Subset{}
	drawn.Train, _ = strconv.Atoi(r.Params.Get("train-size")) // 0 without one
	drawn.Test, _ = strconv.Atoi(r.Params.Get("test-size"))
	return drawn.String()
}

// captionOf returns the [Caption] of our numbers in the rows of a comparison.
func captionOf(rows []*ComparisonRow) string {
	var ours []results.SummaryRow
	for _, r := range rows {
		if r.ours != nil {
			ours = append(ours, *r.ours)
		}
	}
	return Caption(ours)
}

// notCompared returns the sentence above a table in which no number of ours is compared, all for the same reason.
func notCompared(why string) string { return "Not compared with the printed numbers: " + why + "." }

// over says which rounds of their runs the numbers of a metric are about, see [metrics.Metric.Over].
func over(m metrics.Metric, rows []*ComparisonRow) (text, why string) {
	var rounds []int
	for _, r := range rows {
		if r != nil && r.N > 0 {
			rounds = append(rounds, r.Rounds)
		}
	}
	return m.Over(results.ProtocolRounds, rounds...)
}

// measured says what the numbers are, and over how many seeds: "Test accuracy (%): mean over the last 50 rounds. Mean ±
// sample standard deviation over 3 seeds". Metrics of one name, and names of the same rounds, are said together.
func measured(rows []results.SummaryRow) string {
	list, of := results.Grouped(rows, func(r results.SummaryRow) metrics.Metric { return r.Metric })
	names, named := results.Grouped(list, metrics.Metric.Name)
	about := func(name string) string {
		var words []string
		for _, m := range named[name] {
			var rounds []int
			for _, r := range of[m] {
				rounds = append(rounds, r.Rounds)
			}
			text, _ := m.Over(results.ProtocolRounds, rounds...)
			words = append(words, text)
		}
		return strings.Join(words, "; ")
	}
	var parts []string
	texts, same := results.Grouped(names, about)
	for _, text := range texts {
		if text != "" { // else the name says it, which is in the head
			parts = append(parts, capital(strings.Join(same[text], ", ")+": "+text))
		}
	}
	return strings.Join(append(parts, spread(rows)), ". ")
}

// spread says how the numbers of the seeds are put together: "Mean ± sample standard deviation over 3 seeds".
func spread(rows []results.SummaryRow) string {
	var seeds []int
	var what []string
	comparisons := 0 // for which p_holm is corrected
	for _, r := range rows {
		if r.Metric == metrics.PHolm && r.Mean.Valid {
			comparisons++
		}
	}
	for _, r := range rows {
		seeds = append(seeds, r.N)
		text := "mean ± sample standard deviation"
		_, ofSeeds := r.Metric.Reaches()
		switch {
		case r.Metric.IsRound() && !ofSeeds:
			text = "first round of the mean"
		case r.Metric == metrics.PHolm && comparisons > 0:
			text = "p-value corrected for " + Counted([]int{comparisons}, "comparison")
		case r.Metric.IsP():
			text = "p-value"
		case r.Metric == metrics.PRoundsLead:
			text = "mean"
		case r.Metric == metrics.PRoundsN:
			text = "sum"
		}
		if !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	if slices.Max(seeds) == 1 && slices.Equal(what, []string{"mean ± sample standard deviation"}) {
		return "1 seed"
	}
	return capital(strings.Join(what, ", ") + " over " + Counted(seeds, "seed"))
}

// capital returns a text with a capital first letter, which is ASCII.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Counted returns a range of counts with its noun: "1 seed", "2 to 3 seeds".
func Counted(x []int, what string) string {
	if slices.Max(x) != 1 {
		what += "s"
	}
	return between(x) + " " + what
}

// between returns the range of numbers, "2 to 3" or "3"; x must not be empty.
func between[T int | float64](x []T) string {
	least, most := slices.Min(x), slices.Max(x)
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%v to %v", least, most)
}

// each returns the different texts of the rows, without the empty one.
func each(rows []results.SummaryRow, text func(*results.SummaryRow) string) []string {
	all, _ := results.Grouped(rows, func(r results.SummaryRow) string { return text(&r) })
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// labels returns a label in brackets for each row of a table; usually it is empty. It says if a row is mixed or
// unverified. If several rows would look the same, it says how each differs from the others: its numerics, its
// revisions or its data.
func labels(rows []results.SummaryRow) []string {
	type number struct { // in contrast to [results.SummaryRow.Key], which has the conditions too
		results.Setup
		params results.Params
		metric string
	}
	place := func(r *results.SummaryRow) number { return number{r.Setup, r.Params, string(r.Metric)} }
	// Only rows with a trusted number are compared with each other.
	whole := func(r *results.SummaryRow) bool {
		return r.N > 0 && r.Status != results.CellMixed && r.Status != results.CellUnverified
	}
	conditions := map[number][]results.Conditions{}
	for i := range rows {
		if whole(&rows[i]) { // other rows have a label already, or no number
			at := place(&rows[i])
			conditions[at] = append(conditions[at], rows[i].Conditions())
		}
	}
	out := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		words := ""
		switch {
		case r.Status == results.CellUnverified:
			words = string(r.Status)
		case r.Status == results.CellMixed:
			what := strings.TrimPrefix(files.OneLine(r.Error), "mixed: ")
			words = strings.TrimSuffix("mixed: "+what, ": ")
		case whole(r):
			words = r.Conditions().Apart(conditions[place(r)])
		}
		if words != "" {
			out[i] = "[" + words + "]"
		}
	}
	return out
}
