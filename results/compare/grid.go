package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/metrics"
)

// Grid is a compared table laid out as papers print them: groups of lines (an availability), a line for each method,
// and a column for each data set and metric.
type Grid struct {
	Columns []GridColumn
	Groups  []GridGroup
}

// GridColumn is one column.
type GridColumn struct {
	Data   string
	Set    string // what else tells it from its neighbours: alpha=0.05; as a rule empty
	Metric metrics.Metric
}

// GridGroup is the lines of one availability.
type GridGroup struct {
	Availability string
	Set          string // preset and clients, where the table has several
	Lines        []GridLine
}

// GridLine is a method.
type GridLine struct {
	Method string
	Set    string           // params of its own
	Apart  string           // what else tells its rows from those of another line, see [ComparisonRow]
	Cells  []*ComparisonRow // of each column; nil: nothing there
}

// Label names a line.
func (l GridLine) Label() string {
	return strings.Join(strings.Fields(l.Method+" "+l.Set+" "+l.Apart), " ")
}

// Grid lays the comparison out. Rows that would share a place have lines of their own.
func (c Comparing) Grid() Grid {
	var g Grid
	alphas := slices.ContainsFunc(c.Ranks, func(r RankAgreement) bool { return r.Alpha != c.Ranks[0].Alpha })
	presets := slices.ContainsFunc(c.Ranks, func(r RankAgreement) bool { return r.Preset != c.Ranks[0].Preset })
	clients := slices.ContainsFunc(c.Ranks, func(r RankAgreement) bool { return r.Clients != c.Ranks[0].Clients })
	// What the whole table has says nothing of a column.
	common := results.CommonParams(c.Ranks, func(r RankAgreement) results.Params { return r.own })
	c.blocks(func(rows []ComparisonRow, rank RankAgreement) {
		column := GridColumn{Data: rank.Data, Set: rank.own.Minus(common).Words(", "), Metric: rank.Metric}
		if alphas && rank.Alpha.Valid {
			column.Set = strings.TrimSuffix("alpha="+rank.Alpha.String()+", "+column.Set, ", ")
		}
		var set []string
		if presets && rank.Preset != "" {
			set = append(set, "preset "+rank.Preset)
		}
		if clients && rank.Clients > 0 {
			set = append(set, fmt.Sprintf("%d clients", rank.Clients))
		}
		at := g.column(column)
		group := g.group(rank.Availability, strings.Join(set, ", "))
		for i := range rows {
			group.put(GridLine{
				Method: rows[i].Method, Set: rows[i].own.Minus(rank.own).Words(" "), Apart: rows[i].Label,
			}, at, &rows[i])
		}
	})
	return g.sorted()
}

// column returns the place of a column, new if need be.
func (g *Grid) column(c GridColumn) int {
	i := slices.Index(g.Columns, c)
	if i < 0 {
		i = len(g.Columns)
		g.Columns = append(g.Columns, c)
	}
	return i
}

func (g *Grid) group(availability, set string) *GridGroup {
	i := slices.IndexFunc(g.Groups, func(x GridGroup) bool { return x.Availability == availability && x.Set == set })
	if i < 0 {
		i = len(g.Groups)
		g.Groups = append(g.Groups, GridGroup{Availability: availability, Set: set})
	}
	return &g.Groups[i]
}

// put places a row in the first line like its own that has room in the column.
func (g *GridGroup) put(own GridLine, column int, row *ComparisonRow) {
	for i := range g.Lines {
		l := &g.Lines[i]
		if l.Method != own.Method || l.Set != own.Set || l.Apart != own.Apart {
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
	own.Cells = append(make([]*ComparisonRow, column), row)
	g.Lines = append(g.Lines, own)
}

// sorted puts the columns of a data set side by side, train before test as the papers do, and fills the lines up.
func (g Grid) sorted() Grid {
	first := func(i int) int { // of the data set and what else tells its columns apart
		return slices.IndexFunc(g.Columns, func(c GridColumn) bool {
			return c.Data == g.Columns[i].Data && c.Set == g.Columns[i].Set
		})
	}
	return g.pick(slices.SortedStableFunc(slices.Values(g.places()), func(i, j int) int {
		return cmp.Or(first(i)-first(j), g.Columns[i].Metric.Info().Column-g.Columns[j].Metric.Info().Column)
	}), isThere)
}

// Only leaves the columns of some metrics; all, if there is none.
func (g Grid) Only(wanted ...metrics.Metric) Grid {
	return g.pick(slices.DeleteFunc(g.places(), func(i int) bool {
		return len(wanted) > 0 && !slices.Contains(wanted, g.Columns[i].Metric)
	}), isThere)
}

// places are those of all columns.
func (g Grid) places() []int {
	places := make([]int, len(g.Columns))
	for i := range places {
		places[i] = i
	}
	return places
}

// isThere reports whether there is a number, be it the paper's alone.
func isThere(r *ComparisonRow) bool { return r != nil }

// isOurs reports whether there is a number of ours.
func isOurs(r *ComparisonRow) bool { return r != nil && r.Status != "" }

// pick returns the columns of some places, and of the lines those that have a wanted number in them.
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

// Span is a heading over some columns side by side.
type Span struct {
	Name string
	Over int
}

// Datas are the data sets over the columns.
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

// cells are the numbers of the grid, line by line.
func (g Grid) cells() (rows []*ComparisonRow) {
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

// Caption is [Caption] of our numbers in the grid.
func (g Grid) Caption() string { return captionOf(g.cells()) }
