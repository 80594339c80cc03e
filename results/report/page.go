package report

import (
	_ "embed" // for the parts of the page
	"fmt"
	"html/template"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/judge"
	"rollcall/results/page"
	"rollcall/results/papers"
	"rollcall/results/plot"
)

//go:embed page.html.tmpl
var pageHTML string

var pageTemplate = page.Template("report", pageHTML, template.FuncMap{
	"method": papers.MethodTitle, "data": papers.DataTitle,
})

// sections are the sections with figures, in the order of the page.
var sections = []sectionData{
	{ID: "curves", Title: "Training curves", About: "Accuracy on the test set and loss on the training set, " +
		"of the method's model, after each evaluated round. The numbers of tables may be means over rounds."},
	{ID: "availability", Title: "Availability", About: "Which clients are available, how often, and when."},
	{ID: "decisions", Title: "Inclusion and importance", About: "Methods of CA-Fed's papers weigh clients, " +
		"and leave some out although they are available."},
	{ID: "clients", Title: "Accuracy of the clients", About: "How the model serves each client."},
	{ID: "speed", Title: "Speed", About: "How fast this suite trains on this machine."},
}

type pageData struct {
	page.Head
	Made                string
	Folders             []string
	Bad                 []string
	Filters             []filter
	Glances             []glance
	Tables              []tableData
	Sections            []sectionData
	Runs                []runData
	RunCount, CellCount int
	Devices             []string
	NotDrawn            []string // names of files that no figure shows
	FiguresFolder       string
	Widths              []plot.Width
	Kinds               []string
}

type sectionData struct {
	ID, Title, About string
	Figures          []*figure
}

type tableData struct {
	compare.Grid
	ID, Title, Source, Summary, Ours string
	Not                              string // see [compare.NotCompared]
	Printed                          bool   // the table has printed numbers

	anchors   map[results.CellKey]string // of the runs of each cell, in the list of runs
	standings map[*compare.ComparisonRow]compare.Standing
}

// GroupID returns the anchor of a group of lines.
func (t tableData) GroupID(group int) string { return fmt.Sprintf("%s-%d", t.ID, group+1) }

// cellData has the texts and the CSS class of one number beside the paper's.
type cellData struct {
	Class, Ours, Paper, Mark, Difference, Note string
	Value                                      files.Optional // by which the script sorts
	Anchor                                     string         // of its runs; may be empty
	Best, NotTold                              bool           // see [compare.Standing]
}

type runData struct {
	compare.ListRow
	Settings, Device, Anchor, Command string
}

// filter is one row of check boxes. The template leaves it out if there is only one name to choose.
type filter struct {
	Kind, Title string
	Names       []string
}

// Shown returns a name as the page has it elsewhere.
func (f filter) Shown(name string) string {
	switch f.Kind {
	case "method":
		return papers.MethodTitle(name)
	case "data":
		return papers.DataTitle(name)
	}
	return name
}

// data fills in the data of the template. It draws the figures before it makes the style sheet, which needs the number
// of styles, and before it lists what could not be drawn.
func (b *builder) data() *pageData {
	d := &pageData{
		Head: page.Head{Title: "rollcall report", Version: b.Version},
		Made: b.Made.UTC().Format("2006-01-02 15:04 UTC"), Folders: b.Folders,
		Widths: plot.Widths, Kinds: plot.Kinds,
		RunCount: len(b.Runs), CellCount: len(results.Cells(b.Runs, b.Mixed)), FiguresFolder: figuresFolder,
	}
	d.runs(b)
	d.tables(b)
	most := 0
	for _, section := range sections {
		for i := range b.figures {
			if b.figures[i].section != section.ID {
				continue
			}
			f := &b.figures[i]
			// A figure that cannot be drawn is reported on the page, and the others are drawn.
			if err := f.draw(b.methods); err != nil {
				b.bad = append(b.bad, fmt.Errorf("figure %s: %w", f.ID, err))
				continue
			}
			for _, k := range f.Keys {
				most = max(most, k.Style+1)
			}
			section.Figures = append(section.Figures, f)
		}
		if len(section.Figures) > 0 {
			d.Sections = append(d.Sections, section)
		}
	}
	d.Style = page.Style(most)
	d.notDrawn(b)
	d.filters(b)
	for _, err := range slices.Concat(b.Bad, b.bad) {
		d.Bad = append(d.Bad, files.OneLine(err.Error()))
	}
	return d
}

// draw sets the charts of a figure and its legend.
func (f *figure) draw(methods []string) error {
	keys := map[string]page.Key{}
	_, bars := f.drawn.Panels[0][0].(plot.KeyedBars)
	for _, name := range f.drawn.Names() {
		k := page.Key{
			Name: f.drawn.Keys[name].Label, Method: papers.MethodOf(name, methods), Style: f.drawn.Keys[name].Style,
		}
		if bars {
			k.Class = fmt.Sprintf("f%d", k.Style)
		}
		keys[name], f.Keys = k, append(f.Keys, k)
	}
	for _, row := range thinned(f.drawn, pageWidth).Panels {
		for _, c := range row {
			if c == nil {
				continue
			}
			out, err := page.Draw(c, keys)
			if err != nil {
				return err
			}
			f.Charts = append(f.Charts, out)
			if r, ok := c.(plot.Raster); ok {
				f.Keys = append(f.Keys, page.RasterKeys(r)...)
			}
		}
	}
	return nil
}

// runs fills in the list of runs and the devices, in the order of the tables' numbers.
func (d *pageData) runs(b *builder) {
	common, params := b.commonParams(), b.params()
	tables, byTable := results.ByTable(b.Runs)
	for _, table := range tables {
		for _, c := range results.Cells(byTable[table], false) {
			var devices []string
			for i := range c.Runs {
				if name := c.Runs[i].Device(); name != "" {
					devices = append(devices, name)
				}
			}
			d.Devices = append(d.Devices, devices...)
			set := []string{c.Preset, c.Net, fmt.Sprintf("%d clients", c.Clients)}
			if c.Alpha.Valid {
				set = append(set, "α = "+c.Alpha.String())
			}
			if own := c.Params.Minus(common).Short(" ", params...); own != "" {
				set = append(set, own)
			}
			row := compare.ListRuns(c.Runs, nil)[0] // the runs of a cell are one row
			row.Mark = c.Mark
			d.Runs = append(d.Runs, runData{
				row, strings.Join(set, ", "), strings.Join(files.Unique(devices), "; "),
				"runs-" + slug(table+" "+filepath.Base(row.Folder)+" "+c.Mark), c.Command(),
			})
		}
	}
	d.Devices = files.Unique(d.Devices)
}

// notDrawn fills in the names of files that no figure shows, once all figures are made.
func (d *pageData) notDrawn(b *builder) {
	extra := map[string]int{} // by name of the file: in how many runs it is
	for i := range b.Runs {
		for _, name := range b.Runs[i].Extra {
			extra[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if name != results.DecisionsFile && !b.drawnFiles[name] {
			d.NotDrawn = append(d.NotDrawn, fmt.Sprintf("%s (in %s)", name, files.Count(extra[name], "run")))
		}
	}
}

// filters fills in the methods, data sets and availabilities of the filter.
func (d *pageData) filters(b *builder) {
	methods := slices.Clone(b.methods)
	var data, availabilities []string
	numbers := slices.Clone(b.Numbers)
	compare.SortSummary("fedawe-2", numbers) // in the order of the papers' tables
	for _, r := range numbers {
		data, availabilities = append(data, r.Data), append(availabilities, r.Availability)
	}
	for i := range b.Runs {
		data, availabilities = append(data, b.Runs[i].Data), append(availabilities, b.Runs[i].Availability)
	}
	for _, f := range b.figures {
		if f.Availability != "" {
			availabilities = append(availabilities, f.Availability)
		}
	}
	for _, t := range d.Tables { // printed numbers may have further methods
		for _, g := range t.Groups {
			for _, l := range g.Lines {
				methods = append(methods, l.Method)
			}
		}
	}
	d.Filters = []filter{
		{"method", "Method", files.Unique(methods)},
		{"data", "Data", files.Unique(data)},
		{"availability", "Availability", files.Unique(availabilities)},
	}
}

// labels returns the labels of the cells of a sweep, from the folders of its runs.
func (b *builder) labels(table string) (all []results.Label) {
	var read []string
	for _, r := range b.Runs {
		dir := filepath.Dir(filepath.Dir(r.Dir))
		if r.Table != table || slices.Contains(read, dir) {
			continue
		}
		read = append(read, dir)
		labels, err := results.ReadLabels(dir)
		if err != nil {
			b.bad = append(b.bad, err)
		}
		all = append(all, labels...)
	}
	return all
}

// tables fills in the tables of the page, the papers' first.
func (d *pageData) tables(b *builder) {
	_, byTable := results.ByTable(b.Runs)
	for _, id := range compare.SummaryTables(b.Numbers) {
		rows := b.table(id)
		known, _ := papers.TableByID(id) // the zero Table, without printed numbers, for a table of ours
		known.Label(b.labels(id))
		c := compare.Table(&known, rows)
		grid := c.Grid()
		if known.ID == "" {
			grid = grid.Only(b.Metrics...)
		}
		t := tableData{
			Grid: grid, ID: "table-" + slug(id), Title: id, Printed: len(known.Printed) > 0,
			Ours: grid.Caption(), Not: compare.NotCompared(&known, rows), anchors: map[results.CellKey]string{},
			standings: standingsOf(grid),
		}
		for _, r := range d.Runs {
			if r.Table == id {
				t.anchors[r.CellKey] = r.Anchor
			}
		}
		if id == "run" {
			t.Title = "Single runs"
		}
		if t.Printed {
			t.Title, t.Source, t.Summary = "Table "+id, known.Source, c.Summary()+"."
		}
		if by := b.madeFor(id); by != "" {
			t.Ours += ". " + by
		}
		if about := grid.AboutStandings(); about != "" {
			t.Ours = strings.TrimSuffix(t.Ours, ".") + ". " + about
		}
		d.Tables = append(d.Tables, t)
		d.Glances = append(d.Glances, glanceOf(&t, rows, &known, byTable[id]))
	}
}

// standingsOf returns the standing of every number of a grid.
func standingsOf(grid compare.Grid) map[*compare.ComparisonRow]compare.Standing {
	all := map[*compare.ComparisonRow]compare.Standing{}
	for _, group := range grid.Groups {
		for column := range grid.Columns {
			for i, s := range group.Standings(column) {
				all[group.Lines[i].Cells[column]] = s
			}
		}
	}
	return all
}

// madeFor describes the seeds and the machines of the runs of a table.
func (b *builder) madeFor(table string) string {
	var runs []*results.Run
	for i := range b.Runs {
		if b.Runs[i].Table == table {
			runs = append(runs, &b.Runs[i])
		}
	}
	text := madeBy(runs)
	if slices.ContainsFunc(runs, func(r *results.Run) bool {
		return r.Info != nil && results.IsOfSeed(r.Info.DataChecksum)
	}) {
		text += " Each seed generates its own data, which is part of the spread."
	}
	return text
}

// Cell returns the texts of one number beside the paper's; the template calls it. A nil row is an empty cell.
func (t tableData) Cell(r *compare.ComparisonRow) cellData {
	c := cellData{Class: "none", Ours: "–"}
	if r == nil {
		return c
	}
	if r.Status != "" {
		c.Ours, c.Value = r.Ours(), r.Mean
		c.Best, c.NotTold = t.standings[r] == compare.Best, t.standings[r] == compare.NotTold
		if key, ours := r.Cell(); ours {
			c.Anchor = t.anchors[key]
		}
		if r.Status != string(results.CellOK) {
			c.Note = r.Status + ", " + files.Count(r.N, "seed")
		}
	}
	if r.PaperN > 0 {
		c.Paper = r.Metric.Words(r.PaperMean, r.PaperStd, r.PaperN)
	}
	// A cell that is not comparable gets a mark, and its own reason if that is not the table's, which stands above.
	if r.NotJudged != "" {
		c.Class, c.Mark = "apart", "not comparable"
		if r.NotJudged != t.Not && r.N > 0 {
			c.Mark += ": " + r.NotJudged
			c.Note = ""
		}
		return c
	}
	if !r.Difference.Valid {
		return c
	}
	c.Difference = strings.Replace(strings.TrimSpace(r.Metric.Difference(r.Difference)), "-", "−", 1)
	// Marks have a symbol and a word as well as a colour, for readers who cannot see the colour.
	switch above := r.Difference.Value > 0; {
	case r.Verdict == judge.Agrees:
		c.Class, c.Mark = "in", "✓ agrees"
	case r.Verdict == judge.Differs && above:
		c.Class, c.Mark = "above", "▲ differs, above"
	case r.Verdict == judge.Differs:
		c.Class, c.Mark = "below", "▼ differs, below"
	case r.Verdict == judge.Untold:
		c.Class, c.Mark = "near", "? "+r.Words()
	}
	return c
}
