package main

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results/judge"
	"rollcall/results/papers"
)

// A page has blocks, which are written anew, between a line that names a table or figure and a line that ends it:
//
//	<!--cafed-f1b: 5 minutes-->
//
//	what the paper says, our numbers and verdicts
//
//	<!--end-->
//
// What follows the colon stands behind the command. The block named "sum" counts the verdicts of every paper. A block
// <!--TABLE/READING: PLACE--> has the numbers of one column of a table alone.
var blockBegin = regexp.MustCompile(`^<!--([a-z0-9/-]+)(?:: (.*))?-->$`)

const (
	blockEnd = "<!--end-->"
	sumBlock = "sum"
)

// fillPage returns a page with its blocks written anew from the results, and everything else as it is.
func fillPage(text string, rows []Result) (string, error) {
	var filled strings.Builder
	begun := 0 // the line of the block's beginning; 0: outside of a block
	n := 0
	for line := range strings.Lines(text) {
		n++
		trimmed := strings.TrimSpace(line)
		ends := trimmed == blockEnd
		begin := blockBegin.FindStringSubmatch(trimmed)
		switch {
		case begun > 0 && begin != nil && !ends:
			return "", fmt.Errorf("line %d: a block starts in the block of line %d, want %q first", n, begun, blockEnd)
		case begun == 0 && ends:
			return "", fmt.Errorf("line %d: %q without a line <!--ITEM--> before it", n, blockEnd)
		case begin != nil && !ends:
			block, err := blockOf(begin[1], begin[2], rows)
			if err != nil {
				return "", fmt.Errorf("line %d: %w", n, err)
			}
			filled.WriteString(line + "\n" + block + "\n")
			begun = n
		case begun == 0 || ends:
			filled.WriteString(line)
			begun = 0
		}
	}
	if begun > 0 {
		return "", fmt.Errorf("line %d: the block has no end, want a line %q", begun, blockEnd)
	}
	return filled.String(), nil
}

// blockOf returns the text of a block.
func blockOf(name, after string, rows []Result) (string, error) {
	if name == sumBlock {
		return sum(rows)
	}
	id, reading, column := strings.Cut(name, "/")
	rows = ofItem(rows, id)
	switch {
	case len(rows) == 0:
		return "", fmt.Errorf("%s: no table or figure of a paper", id)
	case column:
		return columnBlock(rows, reading, after)
	}
	return itemBlock(rows, after), nil
}

// columnBlock returns the numbers of one place of a table in one reading.
func columnBlock(rows []Result, reading, place string) (string, error) {
	for _, r := range rows {
		r.Numbers = slices.DeleteFunc(slices.Clone(r.Numbers), func(n number) bool { return n.place != place })
		var b strings.Builder
		if r.grid(&b, false); r.Reading == reading && b.Len() > 0 {
			return strings.TrimSuffix(b.String(), "\n"), nil
		}
	}
	return "", fmt.Errorf("%s/%s: no numbers at %q", rows[0].ID, reading, place)
}

// ofItem returns the results of a table or figure, in all readings; once, though the slides show figures again.
func ofItem(rows []Result, id string) (found []Result) {
	for _, r := range rows {
		if r.ID == id && (found == nil || r.Document == found[0].Document) {
			found = append(found, r)
		}
	}
	return found
}

// itemBlock returns the numbers of a table, a line for each sentence of a paper and each number of a figure, with ours
// in every reading, the command, and the picture as the pages of docs/reproduction find it.
func itemBlock(rows []Result, takes string) string {
	var b strings.Builder
	rows = withoutBefore(rows)
	for i := range rows {
		// results compare has the numbers of the other presets.
		if r := &rows[i]; i == 0 || strings.Contains(r.Command, " --reading ") || r.Verdict == NotAtSize {
			r.grid(&b, len(rows) > 1)
		}
	}
	table := files.TextTable{Align: "l" + strings.Repeat("l", len(rows)), Lines: [][]string{{"the paper says"}}}
	verdicts, counts := []string{"verdict"}, []string{"its numbers"}
	for i := range rows {
		r := &rows[i]
		table.Lines[0] = append(table.Lines[0], cmp.Or(r.Reading, "ours"))
		verdicts = append(verdicts, string(r.Verdict)+r.late())
		counts = append(counts, r.numbersWords())
	}
	for _, text := range claimed(rows) {
		line, ours := []string{text}, false
		for i := range rows {
			cell := ""
			if c := rows[i].claim(text); c != nil && c.Ours != "" {
				cell, ours = strings.TrimSpace(short(c.Ours)+" "+sign(c)), true
			}
			line = append(line, cell)
		}
		if ours {
			table.Lines = append(table.Lines, line)
		}
	}
	if len(rows[0].Numbers) > 0 && rows[0].Verdict != NotAtSize {
		table.Lines = append(table.Lines, counts)
	}
	if len(table.Lines) > 1 {
		table.Lines = append(table.Lines, verdicts)
		table.Markdown(&b)
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "`%s`", rows[0].Command)
	if takes != "" {
		fmt.Fprintf(&b, ", %s", takes)
	}
	sizes := []string{}
	for i := range rows {
		sizes = append(sizes, rows[i].Run)
	}
	if rows[0].Verdict == Computed {
		sizes = append(sizes, "nothing printed to compare")
	}
	fmt.Fprintf(&b, ": %s.\n", strings.Join(files.Unique(sizes), "; "))
	if r := &rows[0]; r.Picture {
		fmt.Fprintf(&b, "\n![%s](%s)\n", r.Item, path.Join("../../results/replay", r.ID, r.Reading, r.ID+".svg"))
	}
	return b.String()
}

// withoutBefore leaves out readings that are there as those before others, which have their verdicts beside their own.
func withoutBefore(rows []Result) (shown []Result) {
	for i, r := range rows {
		isBefore := func(other Result) bool { return other.Late && other.before == r.reading }
		if i == 0 || r.Late || !slices.ContainsFunc(rows, isBefore) {
			shown = append(shown, r)
		}
	}
	return shown
}

// grid writes the numbers of a table that we have, with the printed ones in brackets: a line for each method, a column
// for each metric.
func (r *Result) grid(b *strings.Builder, named bool) {
	numbers := slices.DeleteFunc(slices.Clone(r.Numbers), func(n number) bool { return n.claim.Ours == "" })
	if len(numbers) == 0 {
		return
	}
	head := "ours (printed)"
	if named {
		head = cmp.Or(r.Reading, "default") + " (printed)"
	}
	same := func(of func(n number) string) bool {
		return !slices.ContainsFunc(numbers, func(n number) bool { return of(n) != of(numbers[0]) })
	}
	onePlace := same(func(n number) string { return n.place })
	oneOver := same(func(n number) string { return n.over })
	if onePlace {
		head += ", " + numbers[0].place
	}
	if oneOver && numbers[0].over != "" {
		head += ", " + numbers[0].over
	}
	var methods, heads []string
	cells := map[[2]string]string{} // by method and heading
	for _, n := range numbers {
		method, metric := n.method, n.metric
		if !onePlace {
			method = n.place + ": " + method
		}
		if !oneOver {
			metric += ", " + n.over
		}
		methods, heads = append(methods, method), append(heads, metric)
		cell := fmt.Sprintf("%s (%s)", strings.TrimSpace(n.claim.Ours), n.claim.Says)
		if r.Verdict != NotAtSize {
			cell += " " + sign(&n.claim)
		}
		cells[[2]string{method, metric}] = cell
	}
	methods, heads = files.Unique(methods), files.Unique(heads)
	common, rest := commonWords(heads)
	table := files.TextTable{
		Align: strings.Repeat("l", 1+len(heads)), Lines: [][]string{append([]string{head + common}, rest...)},
	}
	for i, name := range withoutCommon(methods) {
		line := []string{name}
		for _, metric := range heads {
			line = append(line, cells[[2]string{methods[i], metric}])
		}
		table.Lines = append(table.Lines, line)
	}
	table.Markdown(b)
	b.WriteString("\n")
}

// commonWords returns the first and the last words that all headings have, and the rest of each.
func commonWords(heads []string) (common string, rest []string) {
	words, most := [][]string{}, 0
	for i, head := range heads {
		words = append(words, strings.Fields(head))
		if n := len(words[i]) - 1; i == 0 || n < most { // each keeps a word
			most = n
		}
	}
	alike := func(of func(w []string) string) bool {
		return !slices.ContainsFunc(words, func(w []string) bool { return of(w) != of(words[0]) })
	}
	first, last := 0, 0
	for first < most && len(heads) > 1 && alike(func(w []string) string { return w[first] }) {
		first++
	}
	for first+last < most && len(heads) > 1 && alike(func(w []string) string { return w[len(w)-1-last] }) {
		last++
	}
	for _, w := range words {
		rest = append(rest, strings.Join(w[first:len(w)-last], " "))
	}
	if w := words[0]; first+last > 0 {
		common = ": " + strings.TrimSpace(strings.Join(w[:first], " ")+" … "+strings.Join(w[len(w)-last:], " "))
	}
	return common, rest
}

// numbersWords counts the numbers of a table by verdict.
func (r *Result) numbersWords() string {
	var t Tally
	for i := range r.Numbers {
		t.count(&r.Numbers[i].claim)
	}
	return t.String()
}

// claimed returns what the paper says, once in all readings.
func claimed(rows []Result) (list []string) {
	for i := range rows {
		for j := range rows[i].Claims {
			list = append(list, rows[i].Claims[j].Text())
		}
	}
	return files.Unique(list)
}

// claim returns the claim that says a text; nil if there is none.
func (r *Result) claim(text string) *papers.Claim {
	i := slices.IndexFunc(r.Claims, func(c papers.Claim) bool { return c.Text() == text })
	if i < 0 {
		return nil
	}
	return &r.Claims[i]
}

// late marks a verdict whose reading was chosen when the print was known, with the verdict under the reading before if
// that is another.
func (r *Result) late() string {
	switch {
	case !r.Late:
		return ""
	case r.Before == r.Verdict:
		return " †"
	}
	return fmt.Sprintf(" † (before: %s)", r.Before)
}

// sign returns the verdict of a claim as the pages have it: ✓, ✗, ? with the number n of seeds that would tell, or –.
func sign(c *papers.Claim) string {
	switch {
	case c.NotJudged != "" || c.Verdict == judge.NotJudged:
		return "–"
	case c.Verdict == judge.Agrees:
		return "✓"
	case c.Verdict == judge.Differs:
		return "✗"
	case c.Seeds > 0:
		return fmt.Sprintf("? n=%d", c.Seeds)
	}
	return "?"
}

// Parts of our numbers that a page says once for all, or that FIGURE-paper.csv has.
var (
	shareWords = regexp.MustCompile(`^(\d+ of \d+)(?: seeds? \(|; ).*`)
	afterWords = regexp.MustCompile(` \(\d+ seeds?\) after round \d+$`)
	overWords  = regexp.MustCompile(`([+-][\d.]+(?: ± [\d.]+)?) (?:points over|ahead of) `)
	onlyWords  = regexp.MustCompile(`^[^:;]*: ((?:[+-]|lower by |higher by )[^:;]*)$`)
	tauWords   = regexp.MustCompile(`^(Kendall's τ [^;]*); .*`)
	leadWords  = regexp.MustCompile(`: ([+-][\d.]+)`)
)

// short returns our numbers without what the page says already: of more than two leads the smallest.
func short(ours string) string {
	ours = shareWords.ReplaceAllString(ours, "$1")
	ours = afterWords.ReplaceAllString(ours, "")
	ours = overWords.ReplaceAllString(ours, "$1 over ")
	ours = onlyWords.ReplaceAllString(ours, "$1")
	ours = tauWords.ReplaceAllString(ours, "$1")
	parts := withoutCommon(strings.Split(ours, "; "))
	leads := leadWords.FindAllStringSubmatch(strings.Join(parts, "; "), -1)
	if len(parts) < 3 || len(leads) != len(parts) {
		return strings.Join(parts, "; ")
	}
	least, smallest := 0, math.Inf(1)
	for i, lead := range leads {
		if x, err := strconv.ParseFloat(lead[1], 64); err == nil && x < smallest {
			least, smallest = i, x
		}
	}
	return fmt.Sprintf("%s, least of %d", parts[least], len(parts))
}

// withoutCommon returns texts of the form "a, b: …" without the parts of their places that all begin with.
func withoutCommon(texts []string) []string {
	texts = slices.Clone(texts)
	for len(texts) > 1 {
		first, _, found := strings.Cut(texts[0], ", ")
		another := func(text string) bool {
			place, _, _ := strings.Cut(text, ": ")
			return !strings.HasPrefix(place, first+", ")
		}
		if !found || slices.ContainsFunc(texts, another) {
			break
		}
		for i := range texts {
			texts[i] = strings.TrimPrefix(texts[i], first+", ")
		}
	}
	return texts
}

// disputed has, by document, what its authors would dispute first: the item, and how the claim begins.
var disputed = map[string]struct{ id, begins string }{
	"FedAWE":          {"fedawe-8", "fedawe, first round at 100 %"},
	"CA-Fed, INFOCOM": {"cafed-i3", "binary: ca-fed over f3ast"},
	"CA-Fed, ToN":     {"cafed-f1a", "leaf: ca-fed over adafed"},
	"CA-Fed, slides":  {"cafed-f1b", "mnist: ca-fed over adafed"},
	"FedAR":           {"fedar-3", "mifa, client accuracy mean"},
}

// find returns the claim that begins with a text, or the number of a table by method and metric; nil if there is none.
func (r *Result) find(begins string) *papers.Claim {
	for i := range r.Claims {
		if strings.HasPrefix(r.Claims[i].Text(), begins) {
			return &r.Claims[i]
		}
	}
	for _, n := range r.Numbers {
		if name := n.method + ", " + n.metric; strings.HasPrefix(name, begins) {
			n.claim.Says = name + ": " + n.claim.Says
			return &n.claim
		}
	}
	return nil
}

// columns of the sum, with the verdicts that each counts.
var columns = []struct {
	name     string
	verdicts []Verdict
}{
	{"reproduced", []Verdict{Reproduced}},
	{"partly", []Verdict{Partly}},
	{"not", []Verdict{NotReproduced}},
	{"cannot be told", []Verdict{CannotTell}},
	{"not run, or smaller", []Verdict{NotTried, NotAtSize}},
	{"nothing printed", []Verdict{Computed, NothingToRun}},
}

// sum returns a line for each paper: how many of its tables and figures have which verdict in the default reading, and
// what its authors would dispute.
func sum(rows []Result) (string, error) {
	table := files.TextTable{Align: "lrrrrrrll", Lines: [][]string{{"tables and figures of"}}}
	for _, c := range columns {
		table.Lines[0] = append(table.Lines[0], c.name)
	}
	table.Lines[0] = append(table.Lines[0], "late", "its authors would dispute")
	for _, d := range papers.Documents() {
		counts, late := map[Verdict]int{}, []string{}
		for _, item := range d.Items {
			i := slices.IndexFunc(rows, func(r Result) bool { return r.Document == d.Name && r.Item == item.Label })
			counts[rows[i].Verdict]++
			if rows[i].Late && rows[i].Before != rows[i].Verdict {
				late = append(late, fmt.Sprintf("%s (%s before)", item.Label, rows[i].Before))
			}
		}
		line := []string{d.Name}
		for _, c := range columns {
			n := 0
			for _, v := range c.verdicts {
				n += counts[v]
			}
			line = append(line, fmt.Sprint(n))
		}
		says, err := disputes(d.Name, rows)
		if err != nil {
			return "", err
		}
		table.Lines = append(table.Lines, append(line, strings.Join(late, ", "), says))
	}
	var b strings.Builder
	table.Markdown(&b)
	return b.String(), nil
}

// disputes returns what the authors of a document would dispute, with ours; that it was not run, if it was not.
func disputes(document string, rows []Result) (string, error) {
	d := disputed[document]
	at := slices.IndexFunc(rows, func(r Result) bool { return r.Document == document && r.ID == d.id })
	r := &rows[at] // the default reading
	if r.Verdict == NotTried {
		return r.Item + ": " + r.Run, nil
	}
	c := r.find(d.begins)
	if c == nil {
		return "", fmt.Errorf("%s, %s: no claim %q", document, d.id, d.begins)
	}
	return fmt.Sprintf("%s: %s; ours: %s %s", r.Item, c.Text(), short(c.Ours), sign(c)), nil
}
