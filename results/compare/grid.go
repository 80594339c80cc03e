package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
)

// Grid is a comparison in the layout of a printed table: a group of lines for each availability, a line for each
// method, and a column for each data set and metric.
type Grid struct {
	Columns []GridColumn
	Groups  []GridGroup
}

// GridColumn is one column of a [Grid].
type GridColumn struct {
	Data   string
	Set    string // settings that distinguish it from its neighbours: alpha=0.05; usually empty
	Metric metrics.Metric
	Over   string // which rounds of the runs the metric is about, see [metrics.Metric.Over]; may be empty
}

// GridGroup has the lines of one availability.
type GridGroup struct {
	Availability string
	Set          string // preset and clients, if the table has several
	Lines        []GridLine
}

// GridLine is one line of a group: a method, perhaps with settings.
type GridLine struct {
	Method string
	Set    string           // params of this line alone
	Apart  string           // the label of its rows, see [ComparisonRow]
	Cells  []*ComparisonRow // one for each column; nil: no number

	RatesVary bool // its columns have other learning rates, which are not in Set

	own   results.Params // of which Set is the text
	short string         // Set with rounded numbers
}

// Label returns the heading of a line, with the method's name in print.
func (l GridLine) Label() string {
	words := papers.MethodTitle(l.Method) + " " + l.short
	if l.RatesVary {
		words += " " + ratesVaryWords
	}
	return strings.Join(strings.Fields(words+" "+l.Apart), " ")
}

// Grid returns the comparison as a grid. If two rows belong in the same place, each has a line of its own.
func (c Comparing) Grid() Grid {
	var g Grid
	// Columns and groups show a setting only if the table has several values of it.
	alphas := slices.ContainsFunc(c.Columns, func(r Order) bool { return r.Alpha != c.Columns[0].Alpha })
	presets := slices.ContainsFunc(c.Columns, func(r Order) bool { return r.Preset != c.Columns[0].Preset })
	clients := slices.ContainsFunc(c.Columns, func(r Order) bool { return r.Clients != c.Columns[0].Clients })
	// Settings that the whole table shares do not distinguish columns. Learning rates never do.
	common := results.CommonParams(c.Columns, func(r Order) results.Params { return r.own })
	files := sharedFiles(c.Columns, func(r Order) string { return r.Availability },
		func(r Order) results.Params { return r.own })
	var places []placed
	c.blocks(func(rows []ComparisonRow, order Order) {
		shared := order.own.Without(results.Rates...)
		column := GridColumn{Data: order.Data, Metric: order.Metric}
		column.Set = shared.Minus(common).Minus(files[order.Availability]).Words(", ")
		if alphas && order.Alpha.Valid {
			column.Set = strings.TrimSuffix("alpha="+order.Alpha.String()+", "+column.Set, ", ")
		}
		var set []string
		if presets && order.Preset != "" {
			set = append(set, "preset "+order.Preset)
		}
		if clients && order.Clients > 0 {
			set = append(set, fmt.Sprintf("%d clients", order.Clients))
		}
		at, group := g.column(column), g.group(order.Availability, strings.Join(set, ", "))
		for i := range rows {
			r := &rows[i]
			own := r.own.Minus(shared).Minus(common)
			line := fmt.Sprintf("%d %s %s %s", group, r.Method, own.Without(results.Rates...), r.Label)
			places = append(places, placed{r, group, line, own, at})
		}
	})
	vary := ratesVary(places)
	slices.SortStableFunc(places, furtherLast)
	all := results.AllParams(places, func(p placed) results.Params { return p.own })
	for _, p := range places {
		own := GridLine{Method: p.row.Method, Apart: p.row.Label, RatesVary: vary[p.line], own: p.own}
		if own.RatesVary {
			own.own = p.own.Without(results.Rates...)
		}
		own.Set, own.short = own.own.Words(" "), own.own.Short(" ", all...)
		g.Groups[p.group].put(own, p.column, p.row)
	}
	g = g.sorted()
	for i := range g.Columns {
		var rows []*ComparisonRow
		for _, group := range g.Groups {
			for _, l := range group.Lines {
				rows = append(rows, l.Cells[i])
			}
		}
		g.Columns[i].Over, _ = over(g.Columns[i].Metric, rows)
	}
	return g
}

// sharedFiles returns, for each availability model, the settings that name files and that all its rows share: the file
// of a trace belongs to the model, and tells none of its numbers from another.
func sharedFiles[T any](
	rows []T, availability func(T) string, params func(T) results.Params,
) map[string]results.Params {
	shared := map[string]results.Params{}
	names, members := results.Grouped(rows, availability)
	for _, name := range names {
		shared[name] = results.CommonParams(members[name], params).Files()
	}
	return shared
}

// column returns the index of a column, and adds the column if it is new.
func (g *Grid) column(c GridColumn) int {
	i := slices.Index(g.Columns, c)
	if i < 0 {
		i = len(g.Columns)
		g.Columns = append(g.Columns, c)
	}
	return i
}

// group returns the index of the group of an availability and a set, and adds the group if it is new.
func (g *Grid) group(availability, set string) int {
	i := slices.IndexFunc(g.Groups, func(x GridGroup) bool { return x.Availability == availability && x.Set == set })
	if i < 0 {
		i = len(g.Groups)
		g.Groups = append(g.Groups, GridGroup{Availability: availability, Set: set})
	}
	return i
}

// put places a row in the first line like own whose cell in the column is free, or in a new line.
func (g *GridGroup) put(own GridLine, column int, row *ComparisonRow) {
	for i := range g.Lines {
		l := &g.Lines[i]
		if l.Method != own.Method || l.Set != own.Set || l.RatesVary != own.RatesVary || l.Apart != own.Apart {
			continue
		}
		for len(l.Cells) <= column {
			l.Cells = append(l.Cells, nil)
		}
		if l.Cells[column] == nil {
			l.Cells[column] = row
			return
		}
	}
	own.Cells = append(make([]*ComparisonRow, column), row) // the columns to the left have no number in this line
	g.Lines = append(g.Lines, own)
}

// sorted returns the grid with the columns of a data set side by side, test before train, and with a cell for every
// column in each line.
func (g Grid) sorted() Grid {
	return g.sideBySide(g.places(), func(m metrics.Metric) int { return m.Info().Row })
}

// Only returns the grid with the columns of the wanted metrics, those of a data set in the order of wanted; with all
// columns if wanted is empty.
func (g Grid) Only(wanted ...metrics.Metric) Grid {
	if len(wanted) == 0 {
		return g
	}
	place := func(m metrics.Metric) int { return slices.Index(wanted, m) }
	return g.sideBySide(slices.DeleteFunc(g.places(), func(i int) bool {
		return place(g.Columns[i].Metric) < 0
	}), place)
}

// OfMethods returns the grid with the lines of the wanted methods alone, in the order of wanted; with all lines if
// wanted is empty.
func (g Grid) OfMethods(wanted ...string) Grid {
	if len(wanted) == 0 {
		return g
	}
	out := Grid{Columns: g.Columns}
	place := func(l GridLine) int { return slices.Index(wanted, l.Method) }
	for _, group := range g.Groups {
		group.Lines = slices.DeleteFunc(slices.Clone(group.Lines), func(l GridLine) bool { return place(l) < 0 })
		slices.SortStableFunc(group.Lines, func(a, b GridLine) int { return place(a) - place(b) })
		if len(group.Lines) > 0 {
			out.Groups = append(out.Groups, group)
		}
	}
	return out
}

// Methods returns the methods of the grid in their order, each once.
func (g Grid) Methods() (methods []string) {
	for _, group := range g.Groups {
		for _, l := range group.Lines {
			methods = append(methods, l.Method)
		}
	}
	return files.Unique(methods)
}

// sideBySide returns the grid with these columns, those of a data set and its settings side by side and sorted.
func (g Grid) sideBySide(columns []int, order func(metrics.Metric) int) Grid {
	first := func(i int) int { // the first column with the same data set and the same settings
		return slices.IndexFunc(g.Columns, func(c GridColumn) bool {
			return c.Data == g.Columns[i].Data && c.Set == g.Columns[i].Set
		})
	}
	return g.pick(slices.SortedStableFunc(slices.Values(columns), func(i, j int) int {
		return cmp.Or(first(i)-first(j), order(g.Columns[i].Metric)-order(g.Columns[j].Metric))
	}), isThere)
}

func (g Grid) places() []int {
	places := make([]int, len(g.Columns))
	for i := range places {
		places[i] = i
	}
	return places
}

// isThere reports whether a cell has a number, ours or the paper's.
func isThere(r *ComparisonRow) bool { return r != nil }

func isOurs(r *ComparisonRow) bool { return r != nil && r.Status != "" }

// pick returns the grid with the columns at the given places, in that order, and without the lines and groups that have
// no wanted number in these columns.
func (g Grid) pick(places []int, wanted func(*ComparisonRow) bool) (out Grid) {
	for _, i := range places {
		out.Columns = append(out.Columns, g.Columns[i])
	}
	for _, group := range g.Groups {
		lines := group.Lines
		group.Lines = nil
		for _, l := range lines {
			cells := make([]*ComparisonRow, len(places))
			for to, from := range places {
				if from < len(l.Cells) {
					cells[to] = l.Cells[from]
				}
			}
			if slices.ContainsFunc(cells, wanted) {
				l.Cells = cells
				group.Lines = append(group.Lines, l)
			}
		}
		if len(group.Lines) > 0 {
			out.Groups = append(out.Groups, group)
		}
	}
	return out
}

// Span is a heading above several neighbouring columns.
type Span struct {
	Name string
	Over int // columns
}

// Title returns the data set's name in print.
func (s Span) Title() string { return papers.DataTitle(s.Name) }

// Datas returns the headings with the names of the data sets.
func (g Grid) Datas() (datas []Span) {
	for i, c := range g.Columns {
		if i > 0 && c.Data == g.Columns[i-1].Data {
			datas[len(datas)-1].Over++
		} else {
			datas = append(datas, Span{c.Data, 1})
		}
	}
	return datas
}

// numbers returns the numbers of the grid, line by line.
func (g Grid) numbers() (rows []*ComparisonRow) {
	for _, group := range g.Groups {
		for _, l := range group.Lines {
			for _, r := range l.Cells {
				if r != nil {
					rows = append(rows, r)
				}
			}
		}
	}
	return rows
}

// Caption returns the [Caption] of our numbers in the grid.
func (g Grid) Caption() string { return captionOf(g.numbers()) }

// ratesVaryWords are in the heading of a line whose columns have other learning rates, as a file of rates gives them.
const ratesVaryWords = "(rates by column)"

type placed struct {
	row    *ComparisonRow
	group  int    // of lines, in a [Grid]
	line   string // names the line, apart from learning rates
	own    results.Params
	column int
}

// furtherLast orders the lines of a table: those of its own methods come first.
func furtherLast(a, b placed) int { return a.row.further - b.row.further }

// ratesVary returns the lines whose columns have other learning rates. A method that has several rates in one column is
// not among them: it needs a line for each.
func ratesVary(places []placed) map[string]bool {
	vary := map[string]bool{}
	lines, of := results.Grouped(places, func(p placed) string { return p.line })
	for _, line := range lines {
		ours := slices.DeleteFunc(of[line], func(p placed) bool { return p.row.Status == "" }) // the paper's alone
		columns, _ := results.Grouped(ours, func(p placed) int { return p.column })
		different, _ := results.Grouped(ours, func(p placed) results.Params { return p.own.Only(results.Rates...) })
		vary[line] = len(columns) == len(ours) && len(different) > 1
	}
	return vary
}
