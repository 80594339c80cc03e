package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/judge"
	"rollcall/results/papers"
)

// Verdict is what the results say about a table or figure of a paper.
type Verdict string

// The verdicts. Claims are judged only if they are of as many rounds and clients and at least as many seeds as the
// paper's.
const (
	// everything the paper states was judged, more than half of it is told, no sentence differs, and at most one in ten
	// of what is told
	Reproduced    Verdict = "reproduced"
	Partly        Verdict = "partly"         // at least half of what is told agrees
	NotReproduced Verdict = "not reproduced" // less than half of what is told agrees
	CannotTell    Verdict = "cannot be told" // run at size, but at most half of what was judged is told
	NotAtSize     Verdict = "smaller, not judged"
	Computed      Verdict = "computed, nothing printed to compare"
	NotTried      Verdict = "not tried"
	NothingToRun  Verdict = "text only" // text, settings or a drawing that explains
)

// Tally counts what a paper states about an item, by how ours compares.
type Tally struct {
	Agree  int
	Differ int
	Untold int
	NotRun int // not run, or not at the paper's size
	Shown  int // p-values and the like, which nothing judges

	wrong int // sentences among Differ
}

// verdict judges results that exist.
func (t *Tally) verdict() Verdict {
	told := t.Agree + t.Differ
	switch {
	case told+t.Untold+t.NotRun == 0:
		return Computed
	case told+t.Untold == 0:
		return NotAtSize
	case told <= t.Untold:
		return CannotTell
	case t.NotRun == 0 && t.wrong == 0 && 10*t.Differ <= told:
		return Reproduced
	case t.Agree >= t.Differ:
		return Partly
	}
	return NotReproduced
}

// count counts a claim by its verdict.
func (t *Tally) count(c *papers.Claim) {
	switch {
	case c.Shown:
		t.Shown++
	case c.Verdict == judge.Agrees:
		t.Agree++
	case c.Verdict == judge.Untold:
		t.Untold++
	case c.Verdict == judge.Differs:
		t.Differ++
		if !c.IsNumber() {
			t.wrong++
		}
	default:
		t.NotRun++
	}
}

// String says what agrees and what does not: "20 agree, 1 differs, 4 cannot be told".
func (t *Tally) String() string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{t.Agree, "agrees", "agree"},
		{t.Differ, "differs", "differ"},
		{t.Untold, "cannot be told", "cannot be told"},
		{t.NotRun, "not judged", "not judged"},
		{t.Shown, "shown", "shown"},
	} {
		switch {
		case part.n == 1:
			parts = append(parts, "1 "+part.one)
		case part.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.many))
		}
	}
	return strings.Join(parts, ", ")
}

// tableSize says how much of a table was run: "100 of 2000 rounds, 1 of 3 seeds, 16 of 192 numbers", or "whole, 3
// seeds". full reports whether what was run has the paper's rounds, seeds and clients, though columns may lack.
func tableSize(t *papers.Table, rows []results.SummaryRow, c *compare.Comparing) (words string, full bool) {
	var short, rounds []string
	seeds, shortRounds := 0, false
	for _, r := range rows {
		if r.N == 0 {
			continue
		}
		seeds, shortRounds = max(seeds, r.N), shortRounds || r.Rounds != t.Rounds
		if n := fmt.Sprint(r.Rounds); !slices.Contains(rounds, n) {
			rounds = append(rounds, n)
		}
	}
	if shortRounds {
		short = append(short, fmt.Sprintf("%s of %d rounds", strings.Join(rounds, " and "), t.Rounds))
	}
	if seeds < len(t.Seeds) {
		short = append(short, fmt.Sprintf("%d of %d seeds", seeds, len(t.Seeds)))
	}
	// The other reasons are the same words for all numbers, or are of single numbers.
	for _, why := range c.Counts().Why {
		for part := range strings.SplitSeq(why, ", ") {
			said := strings.HasSuffix(part, " rounds") || strings.HasSuffix(part, " seeds") || part == compare.PValues
			if !said && !slices.Contains(short, part) {
				short = append(short, part)
			}
		}
	}
	full = short == nil
	lacking := c.Left
	for i := range c.Rows {
		if c.Rows[i].PaperN > 0 && c.Rows[i].Status == "" {
			lacking++
		}
	}
	if lacking > 0 {
		short = append(short, fmt.Sprintf("%d of %d numbers", len(t.Printed)-lacking, len(t.Printed)))
	}
	if short == nil {
		return "whole, " + files.Count(seeds, "seed"), full
	}
	return strings.Join(short, ", "), full
}

// shortOf lists how a figure differs in size from the paper's; nil if it does not.
func shortOf(i *results.FigureInfo) (short []string) {
	if i.Rounds != i.PaperRounds {
		short = append(short, fmt.Sprintf("%d of %d rounds", i.Rounds, i.PaperRounds))
	}
	if len(i.Seeds) < i.PaperSeeds {
		short = append(short, fmt.Sprintf("%d of %d seeds", len(i.Seeds), i.PaperSeeds))
	}
	if !slices.Equal(i.Clients, i.PaperClients) {
		short = append(short, fmt.Sprintf("%s clients in place of %s", numbers(i.Clients), numbers(i.PaperClients)))
	}
	if n := shared(i.Methods, i.PaperMethods); n < len(i.PaperMethods) {
		short = append(short, fmt.Sprintf("%d of %d methods", n, len(i.PaperMethods)))
	}
	if n := shared(slices.Collect(maps.Keys(i.Data)), i.PaperData); n < len(i.PaperData) {
		short = append(short, fmt.Sprintf("%d of %s", n, files.Count(len(i.PaperData), "data set")))
	}
	if only := i.Settings["column"]; only != "" {
		short = append(short, only+" alone")
	}
	if i.Diverged > 0 {
		short = append(short, files.Count(i.Diverged, "run")+" diverged")
	}
	return short
}

// figureSize says how much of a figure was run; short is what [shortOf] returns.
func figureSize(i *results.FigureInfo, short []string) string {
	words := strings.Join(short, ", ")
	if short == nil {
		words = "whole"
		if len(i.Seeds) > 0 {
			words += ", " + files.Count(len(i.Seeds), "seed")
		}
	}
	if !i.Trained {
		words += "; nothing is trained"
	}
	return words
}

// numbers returns numbers with commas between them.
func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

// shared returns how many of the wanted names there are.
func shared(names, wanted []string) (n int) {
	for _, w := range wanted {
		if slices.Contains(names, w) {
			n++
		}
	}
	return n
}
