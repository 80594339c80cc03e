package compare

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/metrics"
)

// Caption says what the numbers of a table are: of how many seeds, rounds and clients, of which split, preset and nets,
// of which version and numerics. Where rows differ it has the range, or all there is. Rows without a number do not
// count.
func Caption(rows []results.SummaryRow) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r results.SummaryRow) bool { return r.N == 0 })
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
		about = append(about, counted(rounds, "round")+unknown)
	} else {
		about = append(about, "rounds unknown")
	}
	about = append(about, "N = "+between(clients))
	if len(alphas) > 0 {
		about = append(about, "α = "+between(alphas))
	}
	if presets := each(rows, func(r *results.SummaryRow) string { return r.Preset }); len(presets) == 1 {
		about = append(about, "preset "+presets[0])
	} else if len(presets) > 1 {
		about = append(about, "presets "+strings.Join(presets, " and "))
	}
	about = append(about, each(rows, func(r *results.SummaryRow) string { return r.Net })...)
	var by []string
	if versions := each(rows, func(r *results.SummaryRow) string { return r.Version }); len(versions) > 0 {
		by = append(by, "rollcall "+strings.Join(versions, ", "))
	}
	by = append(by, each(rows, func(r *results.SummaryRow) string { return r.Numerics })...)
	parts := []string{measured(rows), strings.Join(about, ", "), strings.Join(by, ", ")}
	return strings.TrimSuffix(strings.Join(parts, "; "), "; ")
}

// captionOf is [Caption] of the numbers of ours that rows have.
func captionOf(rows []*ComparisonRow) string {
	var ours []results.SummaryRow
	for _, r := range rows {
		if r.ours != nil {
			ours = append(ours, *r.ours)
		}
	}
	return Caption(ours)
}

// notCompared is the sentence that a table with printed numbers has where none of ours is compared with them, for a
// reason that all have.
func notCompared(why string) string { return "Not compared with the printed numbers: " + why + "." }

// measured says what is made of the seeds.
func measured(rows []results.SummaryRow) string {
	var seeds []int
	var what []string
	for _, r := range rows {
		seeds = append(seeds, r.N)
		text := "mean ± sample standard deviation"
		switch {
		case r.Metric.IsRound():
			text = "first round of the mean"
		case r.Metric == metrics.PRounds || r.Metric == metrics.PSeeds:
			text = "p-value"
		}
		if !slices.Contains(what, text) {
			what = append(what, text)
		}
	}
	text := strings.Join(what, ", ") + " over " + counted(seeds, "seed")
	return strings.ToUpper(text[:1]) + text[1:]
}

// counted is a range of a number of things.
func counted(x []int, what string) string {
	if slices.Max(x) != 1 {
		what += "s"
	}
	return between(x) + " " + what
}

// between is the range of numbers of which there is one at least.
func between[T int | float64](x []T) string {
	least, most := slices.Min(x), slices.Max(x)
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%v to %v", least, most)
}

// each returns a text of all rows, each once and none empty.
func each(rows []results.SummaryRow, text func(*results.SummaryRow) string) []string {
	all, _ := results.Grouped(rows, func(r results.SummaryRow) string { return text(&r) })
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}
