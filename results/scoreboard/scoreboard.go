// Package scoreboard says of every table and figure of the papers whether our results agree with it.
//
//	rows, notes, err := scoreboard.Read(ctx, "results/replay")
//	err = scoreboard.WriteMarkdown(os.Stdout, rows)
package scoreboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/judge"
	"rollcall/results/papers"
)

// Result is one table or figure of a document, in one reading: the results of one folder in one preset. An item that
// has no results has one row.
type Result struct {
	Document string `csv:"document"`
	Item     string `csv:"item"`  // as the document has it: Figure 1a
	Shows    string `csv:"shows"` // what it shows
	// the command that makes it, without its name rollcall; empty if there is none
	Command string `csv:"command"`
	Reading string `csv:"reading"` // the folder below that of the item; empty: that folder itself, or no results
	Run     string `csv:"run"`     // how much of it was run, or why there is nothing to run
	Tally
	Verdict Verdict `csv:"verdict"`
	// what was chosen about the reading when the printed numbers were known, and the verdict under the reading before;
	// empty if nothing was
	Late   string  `csv:"chosen_late"`
	Before Verdict `csv:"verdict_before"`

	reading, before string // the preset and the readings, see [papers.Column.Chosen]

	Claims []papers.Claim // what the paper says about it, numbers and sentences
}

// Read reads the results below a folder, which has a folder for each table and figure, named by its id. They are in
// this folder, or in folders of their own in it, one for each reading. notes names folders that belong to no table or
// figure.
func Read(ctx context.Context, dir string) (rows []Result, notes []string, err error) {
	if notes, err = strangers(dir); err != nil {
		return nil, nil, err
	}
	for _, document := range papers.Documents() {
		for _, item := range document.Items {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			about := Result{Document: document.Name, Item: item.Label, Shows: item.Shows}
			if item.ID == "" {
				about.Run, about.Verdict = item.Nothing, NothingToRun
				if item.Nothing == "" {
					about.Run, about.Verdict = "not in the suite yet", NotTried
				}
				rows = append(rows, about)
				continue
			}
			found, err := readItem(about, item.ID, filepath.Join(dir, item.ID))
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, found...)
		}
	}
	return rows, notes, nil
}

// strangers returns a note on each folder in dir that is named after no table or figure.
func strangers(dir string) (notes []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("scoreboard: %w", err)
	}
	known := slices.Concat(papers.TableNames(), papers.FigureNames())
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(known, e.Name()) {
			notes = append(notes, filepath.Join(dir, e.Name())+": no table or figure of a paper: left out")
		}
	}
	return notes, nil
}

// readItem returns the rows of one item; without results one row that says so.
func readItem(about Result, id, dir string) (rows []Result, err error) {
	table, unknown := papers.TableByID(id)
	read := func(dir string) ([]Result, error) { return readTable(about, &table, dir) }
	about.Command = "table " + id
	title, says := table.Title, table.Sentences(nil)
	if unknown != nil {
		figure, err := papers.FigureByID(id)
		if err != nil {
			return nil, err
		}
		read = func(dir string) ([]Result, error) { return readFigure(about, &figure, dir) }
		about.Command, title, says = "figure "+id, figure.Title, figure.Claims(papers.Measured{Figure: figure})
	}
	_, about.Shows, _ = strings.Cut(title, ": ")
	folders, err := readings(dir)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		found, err := read(filepath.Join(dir, folder))
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].Reading = folder
		}
		rows = append(rows, found...)
	}
	noteBefore(rows)
	if rows == nil {
		for i := range says {
			says[i].Outcome = judge.Outcome{}
		}
		about.Run, about.Verdict, about.Claims = "not run", NotTried, says
		rows = []Result{about}
	}
	return rows, nil
}

// readings returns the folders in which results of an item may be: its own, "", and those in it, by name.
func readings(dir string) (folders []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("scoreboard: %w", err)
	}
	folders = []string{""}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, e.Name())
		}
	}
	return folders, nil
}

// exists reports whether there is a file of this name.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// readTable returns a row for each preset in the summary of a folder; none without a summary.
func readTable(about Result, t *papers.Table, dir string) (rows []Result, err error) {
	path := filepath.Join(dir, results.SummaryFile)
	if !exists(path) {
		return nil, nil
	}
	summary, err := results.ReadSummary(path)
	if err != nil {
		return nil, err
	}
	// Rows of methods that the table does not have are no business of the paper's.
	summary = slices.DeleteFunc(summary, func(r results.SummaryRow) bool { return r.Table == t.ID && !t.Has(r.Method) })
	presets, byPreset := results.Grouped(summary, func(r results.SummaryRow) string { return r.Preset })
	for _, preset := range presets {
		row, ours := about, byPreset[preset]
		for _, r := range ours {
			if r.Table != t.ID {
				return nil, fmt.Errorf("scoreboard: %s: a row of %s, want rows of %s alone", path, r.Table, t.ID)
			}
		}
		if preset != cmp.Or(t.Preset, "code") {
			row.Command += " --preset " + preset
		}
		if draws := ours[0].Params.Get("draws"); draws != "" {
			row.Command += " --draws " + draws
		}
		read, readings := t.AsRead(ours)
		row.read(&t.Columns[0], preset, readings)
		if readings != nil {
			row.Command += " --reading " + strings.Join(readings, ",")
		}
		c := compare.Table(t, ours)
		size, full := tableSize(&read, ours, &c)
		row.Run = size
		row.NotRun = c.Left
		for i := range c.Rows {
			if r := &c.Rows[i]; r.PaperN > 0 {
				row.add(numberClaim(r), true)
			}
		}
		for _, claim := range t.Sentences(ours) {
			row.add(claim, full)
		}
		row.Verdict = row.verdict()
		rows = append(rows, row)
	}
	return rows, nil
}

// readFigure returns a row for the figure in a folder; none without a figure.
func readFigure(about Result, f *papers.Figure, dir string) (rows []Result, err error) {
	base := filepath.Join(dir, f.ID)
	if !exists(base + ".csv") {
		return nil, nil
	}
	if !exists(base + ".json") {
		about.Run, about.Verdict = "of unknown size: "+f.ID+".json is missing", NotAtSize
		return []Result{about}, nil
	}
	info, err := results.ReadFigureInfo(base + ".json")
	switch {
	case err != nil:
		return nil, err
	case info.Figure != f.ID:
		return nil, fmt.Errorf("scoreboard: %s.json: figure %s, want %s", base, info.Figure, f.ID)
	}
	if info.Preset != cmp.Or(f.Preset, "code") {
		about.Command += " --preset " + info.Preset
	}
	for _, name := range slices.Sorted(maps.Keys(info.Settings)) {
		about.Command += fmt.Sprintf(" --%s %s", name, info.Settings[name])
	}
	if info.Trained && len(f.Runs) > 0 {
		var readings []string
		if list := info.Settings["reading"]; list != "" {
			readings = strings.Split(list, ",")
		}
		about.read(&f.Runs[0].Column, info.Preset, readings)
	}
	short := shortOf(&info)
	about.Run = figureSize(&info, short)
	if exists(base + papers.PaperSuffix) {
		claims, err := files.ReadCSVFile[papers.Claim](base + papers.PaperSuffix)
		if err != nil {
			return nil, err
		}
		for _, c := range claims {
			about.add(c, short == nil)
		}
	}
	about.Verdict = about.verdict()
	return []Result{about}, nil
}

// read notes what was chosen about a preset and readings when the printed numbers were known.
func (r *Result) read(c *papers.Column, preset string, readings []string) {
	says, before := c.Chosen(preset, readings)
	r.Late = strings.Join(says, "; ")
	r.reading, r.before = readingKey(preset, readings), readingKey(preset, before)
}

func readingKey(preset string, readings []string) string {
	return strings.Join(append([]string{preset}, slices.Sorted(slices.Values(readings))...), ",")
}

// noteBefore sets, of each result of one item that was chosen late, the verdict under the reading before.
func noteBefore(rows []Result) {
	for i := range rows {
		r := &rows[i]
		at := slices.IndexFunc(rows, func(other Result) bool { return other.reading == r.before })
		switch {
		case r.Late == "":
		case at >= 0:
			r.Before = rows[at].Verdict
		default:
			r.Before = NotTried
		}
	}
}

// add adds a claim and counts its verdict. Without the paper's size it has none.
func (r *Result) add(c papers.Claim, full bool) {
	if !full && !c.Shown {
		c.Outcome, c.NotJudged = judge.Outcome{}, r.Run
	}
	r.count(&c)
	r.Claims = append(r.Claims, c)
}

// numberClaim returns a number of a table as a claim.
func numberClaim(r *compare.ComparisonRow) papers.Claim {
	where := r.Availability + ", " + r.Data
	if set := r.Params.Words(", "); set != "" && r.Status == "" {
		where += ", " + set
	}
	c := papers.Claim{
		Where: where, Printed: files.Some(r.PaperMean.Value), N: r.N, Outcome: r.Outcome, NotJudged: r.NotJudged,
		Shown: r.NotJudged == compare.PValues,
		Says:  r.Method + ", " + r.Metric.Name() + " " + r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN),
	}
	if r.Status != "" {
		c.Ours = r.Metric.WordsWithSeeds(r.Mean, r.Std, r.N)
	}
	return c
}

// WriteMarkdown writes two tables: every table and figure of the documents, and what the papers say about them.
func WriteMarkdown(w io.Writer, rows []Result) error {
	var b strings.Builder
	items := files.TextTable{
		Align: "lllllll",
		Lines: [][]string{{"document", "item", "shows", "rollcall …", "run", "ours and the paper's", "verdict"}},
	}
	said := files.TextTable{Align: "llll", Lines: [][]string{{"item", "the paper says", "ours", "verdict"}}}
	for i := range rows {
		r := &rows[i]
		items.Lines = append(items.Lines, []string{
			r.Document, r.Item + reading(r), r.Shows, r.Command, r.Run, r.String(), r.verdictWords(),
		})
		// The slides show figures of the journal paper again.
		again := slices.ContainsFunc(rows[:i], func(earlier Result) bool {
			return earlier.Command == r.Command && earlier.Reading == r.Reading
		})
		for _, c := range r.Claims {
			if again || c.IsNumber() && strings.HasPrefix(r.Command, "table ") { // results compare has those
				continue
			}
			said.Lines = append(said.Lines, []string{
				r.Document + ", " + r.Item + reading(r), c.Text(), c.Ours, c.Answer(),
			})
		}
	}
	items.Markdown(&b)
	b.WriteString("\nWhat the papers say about these in words and single numbers:\n\n")
	said.Markdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// reading returns the reading of a row for people, with a comma before it.
func reading(r *Result) string {
	if r.Reading == "" {
		return ""
	}
	return ", " + r.Reading
}

// verdictWords returns the verdict, with the one before if its reading was chosen when the print was known.
func (r *Result) verdictWords() string {
	if r.Late == "" {
		return string(r.Verdict)
	}
	return fmt.Sprintf("%s (chosen when the print was known: %s; before: %s)", r.Verdict, r.Late, r.Before)
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

// BlockEnd is the line that ends a block of a page. A block begins with a line that has the command which writes it:
//
//	<!-- rollcall results scoreboard -->
//
//	what the command prints
//
//	<!-- end -->
const BlockEnd = "<!-- end -->"

// BlockCommand returns the words of the command, without its name, if a line begins a block; nil if it does not.
func BlockCommand(line string) []string {
	inside, begins := strings.CutPrefix(strings.TrimSpace(line), "<!-- rollcall ")
	inside, whole := strings.CutSuffix(inside, " -->")
	if !begins || !whole {
		return nil
	}
	return strings.Fields(inside)
}

// FillPage returns a page with its blocks written anew, so that its numbers are those of the files that the commands
// read, and everything else as it is. output returns what the command of a block prints.
func FillPage(text string, output func(words []string) (string, error)) (string, error) {
	var filled strings.Builder
	begun := 0 // the line of the block's beginning; 0: outside of a block
	blocks, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		words, ends := BlockCommand(line), strings.TrimSpace(line) == BlockEnd
		switch {
		case begun > 0 && words != nil:
			return "", fmt.Errorf("line %d: a block starts in the block of line %d, want %q first", n, begun, BlockEnd)
		case begun == 0 && ends:
			return "", fmt.Errorf("line %d: %q without a line <!-- rollcall … --> before it", n, BlockEnd)
		case words != nil:
			printed, err := output(words)
			if err != nil {
				return "", fmt.Errorf("line %d: %w", n, err)
			}
			filled.WriteString(line + "\n" + strings.TrimRight(printed, "\n") + "\n\n")
			begun, blocks = n, blocks+1
		case begun == 0 || ends:
			filled.WriteString(line)
			begun = 0
		}
	}
	switch {
	case begun > 0:
		return "", fmt.Errorf("line %d: the block has no end, want a line %q", begun, BlockEnd)
	case blocks == 0:
		return "", fmt.Errorf("no block, want lines <!-- rollcall results … --> and %s", BlockEnd)
	}
	return filled.String(), nil
}
