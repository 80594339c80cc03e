package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// Result is one table or figure of a document, in one reading: the results of one folder in one preset. An item that
// has no results has one row.
type Result struct {
	Document string
	Item     string // as the document has it: Figure 1a
	ID       string // of our table or figure; empty: there is none
	Command  string // that makes it, without its name rollcall; empty if there is none
	Reading  string // the folder below that of the item; empty: that folder itself, or no results
	Run      string // how much of it was run, or why there is nothing to run
	Tally
	Verdict Verdict
	Late    bool    // the reading of this verdict was chosen when the printed numbers were known
	Before  Verdict // if so, under the reading before

	reading, before string // the preset and the readings, see [papers.Column.Chosen]

	Picture bool // there is FIGURE.svg

	Claims  []papers.Claim // what the paper says about it: sentences, and the numbers of figures
	Numbers []number       // of a table
}

// number is a number of a table.
type number struct {
	place, method, metric string
	over                  string // the rounds that the metric is about
	claim                 papers.Claim
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
			about := Result{Document: document.Name, Item: item.Label, ID: item.ID}
			if item.ID == "" {
				about.Run, about.Verdict = item.Nothing, NothingToRun
				if item.Nothing == "" {
					about.Run, about.Verdict = "not in the suite yet", NotTried
				}
				rows = append(rows, about)
				continue
			}
			found, err := readItem(about, filepath.Join(dir, item.ID))
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
		return nil, err
	}
	known := slices.Concat(papers.TableNames(), papers.FigureNames())
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(known, e.Name()) {
			notes = append(notes, filepath.Join(dir, e.Name())+": no table or figure of a paper: left out")
		}
	}
	return notes, nil
}

// readItem returns the rows of one item, the default reading first; without results one row that says so.
func readItem(about Result, dir string) (rows []Result, err error) {
	table, unknown := papers.TableByID(about.ID)
	read := func(dir string) ([]Result, error) { return readTable(about, &table, dir) }
	about.Command = "table " + about.ID
	if unknown != nil {
		figure, err := papers.FigureByID(about.ID)
		if err != nil {
			return nil, err
		}
		read = func(dir string) ([]Result, error) { return readFigure(about, &figure, dir) }
		about.Command = "figure " + about.ID
	}
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
	smaller := func(r Result) int {
		if r.Verdict == NotAtSize {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b Result) int { // the default first, which has no flags; smaller runs behind
		flags := cmp.Compare(strings.Count(a.Command, " --"), strings.Count(b.Command, " --"))
		return cmp.Or(flags, cmp.Compare(smaller(a), smaller(b)))
	})
	if rows == nil {
		about.Run, about.Verdict = "not run", NotTried
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
		return nil, err
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
				return nil, fmt.Errorf("%s: a row of %s, want rows of %s alone", path, r.Table, t.ID)
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
		apart := results.PrintedNames(t.Printed)
		for i := range c.Rows {
			if r := &c.Rows[i]; r.PaperN > 0 {
				n := numberOf(r, apart)
				row.count(&n.claim)
				row.Numbers = append(row.Numbers, n)
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

// readFigure returns a row for the figure in a folder; none without its FIGURE.json.
func readFigure(about Result, f *papers.Figure, dir string) (rows []Result, err error) {
	base := filepath.Join(dir, f.ID)
	if !exists(base + ".json") {
		return nil, nil
	}
	info, err := results.ReadFigureInfo(base + ".json")
	switch {
	case err != nil:
		return nil, err
	case info.Figure != f.ID:
		return nil, fmt.Errorf("%s.json: figure %s, want %s", base, info.Figure, f.ID)
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
	about.Picture = exists(base + ".svg")
	short := shortOf(&info)
	about.Run = figureSize(&info, short)
	if exists(base + papers.PaperSuffix) {
		claims, err := files.ReadCSVFile[papers.Claim](base+papers.PaperSuffix, files.MostTable)
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

// read notes whether a preset and readings were chosen when the printed numbers were known.
func (r *Result) read(c *papers.Column, preset string, readings []string) {
	late, before := c.Chosen(preset, readings)
	r.Late = late
	r.reading, r.before = readingKey(preset, readings), readingKey(preset, before)
}

func readingKey(preset string, readings []string) string {
	return strings.Join(append([]string{preset}, slices.Sorted(slices.Values(readings))...), ",")
}

// noteBefore sets, of each result of one item that was chosen late, the verdict under the reading before. What is not
// judged was not chosen for its verdict.
func noteBefore(rows []Result) {
	for i := range rows {
		r := &rows[i]
		at := slices.IndexFunc(rows, func(other Result) bool { return other.reading == r.before })
		switch {
		case r.Verdict == NotAtSize:
			r.Late = false
		case !r.Late:
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

// numberOf returns a number of a table; apart are the params that distinguish the table's columns.
func numberOf(r *compare.ComparisonRow, apart []string) number {
	over, _ := r.Metric.Over(metrics.Window)
	place := results.NewParams(r.Availability+", "+r.Data, string(r.Params.Only(apart...))).Words(", ")
	n := number{place: place, method: r.Method, metric: r.Metric.Name(), over: over}
	n.claim = papers.Claim{
		Printed: files.Some(r.PaperMean.Value), Outcome: r.Outcome, NotJudged: r.NotJudged,
		Shown: r.NotJudged == compare.PValues, Says: r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN),
	}
	if r.Status != "" {
		n.claim.Ours = r.Metric.Words(r.Mean, r.Std, r.N)
	}
	return n
}
