package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/plot"
	"rollcall/results/protocol"
)

// curveRow is one round of the training curves of a method, averaged over its seeds.
type curveRow struct {
	Data         string         `csv:"data"`
	Availability string         `csv:"availability"`
	Method       string         `csv:"method"`
	Params       results.Params `csv:"params"`
	Round        int            `csv:"round"`
	N            int            `csv:"n"` // seeds
	TestAcc      files.Optional `csv:"test_acc"`
	TestAccStd   files.Optional `csv:"test_acc_std"`
	TestLoss     files.Optional `csv:"test_loss"`
	TestLossStd  files.Optional `csv:"test_loss_std"`
	TrainAcc     files.Optional `csv:"train_acc"`
	TrainAccStd  files.Optional `csv:"train_acc_std"`
	TrainLoss    files.Optional `csv:"train_loss"`
	TrainLossStd files.Optional `csv:"train_loss_std"`
}

// family has the cells whose curves share a figure.
type family struct {
	key     results.CellKey // without the method; its params are those of the whole figure
	cells   []results.Cell
	unnamed map[string]results.Params // by method: the settings that the names of its cells leave out
	told    []string                  // names of settings among them that differ between the methods
}

// title returns the data set and the availability, which the cells share, in words.
func (f family) title() string { return papers.DataTitle(f.key.Data) + ", " + f.key.Availability }

// id returns what the names of the family's files end in: cifar10-sine.
func (f family) id() string { return f.key.Data + "-" + f.key.Availability }

// name returns the name of a cell in the legend: its method, and the settings that tell it from other cells. A method
// that occurs once is named alone, whatever its learning rates: the name is short then, and the line has the method's
// style. [family.made] says the rates.
func (f family) name(c results.Cell) string {
	own := c.Params.Minus(f.unnamed[c.Method]).Short(" ", results.AllParams(f.cells, paramsOf)...)
	return strings.Join(strings.Fields(c.Method+" "+own+" "+c.Mark), " ")
}

// made describes the runs of the figure in its caption, and first in what the methods differ besides their names. Rates
// and parameters at the values of a method's paper are not said.
func (f family) made(runs []*results.Run) string {
	var own []string
	for _, c := range f.cells {
		has := slices.DeleteFunc(slices.Clone(f.told), func(name string) bool { // a sweep may give it what is of no use
			_, has := valueOf(c, name)
			return !has
		})
		if set := f.unnamed[c.Method].Only(has...).Minus(f.key.Params).Short(", "); set != "" {
			own = append(own, c.Method+" "+set)
		}
	}
	if own == nil {
		return made(runs)
	}
	return "Settings of single methods: " + once(own, "; ") + ". " + made(runs)
}

// mostLines is the largest number of lines in a figure of one method with different settings, and of such lines in a
// figure with other methods. Further settings go to another figure.
const mostLines = 8

// families groups the cells into figures. The methods of one data set and availability share a figure, so that they can
// be compared, also at other learning rates and with parameters of their own. Other settings, such as the rounds, put
// cells into different figures. Cells that no other method can be compared with share a figure, as a sweep.
func families(cells []results.Cell) (all []family) {
	keys, groups := results.Grouped(cells, func(c results.Cell) results.CellKey {
		return c.Ignoring([]string{"method", "params"})
	})
	for _, key := range keys {
		apart, told := separating(groups[key])
		values, sharing := results.Grouped(groups[key], func(c results.Cell) results.Params {
			return valuesOf(c, apart)
		})
		var alone []results.Cell
		for _, value := range values {
			methods, byMethod := results.Grouped(sharing[value], methodOf)
			if len(methods) == 1 {
				alone = append(alone, sharing[value]...)
				continue
			}
			f := family{key: key, unnamed: map[string]results.Params{}, told: told}
			common := results.CommonParams(sharing[value], paramsOf)
			f.key.Params = common.And(value.Without(common.Names()...))
			for _, method := range methods {
				f.unnamed[method] = results.CommonParams(byMethod[method], paramsOf)
			}
			for _, f.cells = range parts(methods, byMethod) {
				all = append(all, f)
			}
		}
		common := results.CommonParams(alone, paramsOf)
		for part := range slices.Chunk(alone, mostLines) {
			f := family{key: key, cells: part, unnamed: map[string]results.Params{}}
			f.key.Params = common.Only(apart...) // a sweep is not named after what all its cells have
			for _, c := range part {
				f.unnamed[c.Method] = common
			}
			all = append(all, f)
		}
	}
	return all
}

func methodOf(c results.Cell) string         { return c.Method }
func paramsOf(c results.Cell) results.Params { return c.Params }

// separating returns the settings that put the cells of a data set and availability into different figures, and those
// that may differ within a figure: the learning rates, and what one method alone has, which is a parameter of its own.
func separating(cells []results.Cell) (apart, within []string) {
	var set []string // the settings that some cell has changed
	for _, c := range cells {
		set = append(set, c.Params.Names()...)
	}
	for _, name := range files.Unique(set) {
		var methods, values []string
		for _, c := range cells {
			value, has := valueOf(c, name)
			if has {
				methods = append(methods, c.Method)
			}
			if has || c.Settings() == nil {
				values = append(values, value)
			}
		}
		switch {
		case slices.Contains(results.Rates, name), len(files.Unique(methods)) == 1:
			within = append(within, name)
		case len(files.Unique(values)) > 1:
			apart = append(apart, name)
		}
	}
	slices.Sort(apart)
	return apart, within
}

// valueOf returns a setting of a cell, and whether its runs have it, by run.json: the params of a cell have only what
// its method's paper has not. Runs without run.json have their params alone.
func valueOf(c results.Cell, name string) (value string, has bool) {
	settings := c.Settings()
	if settings == nil {
		return c.Params.Get(name), slices.Contains(c.Params.Names(), name)
	}
	// Files are in run.json by their content, and every run has one or none.
	if file, is := results.FileSettings[name]; is {
		if sum, has := settings[file].(string); has {
			return sum, true
		}
		return "", true
	}
	v, has := settings[name]
	if !has {
		return "", false
	}
	return fmt.Sprint(v), true
}

// valuesOf returns the named settings of a cell, without those that it does not have.
func valuesOf(c results.Cell, names []string) results.Params {
	var set []string
	for _, name := range names {
		if value, _ := valueOf(c, name); value != "" {
			set = append(set, name+"="+value)
		}
	}
	return results.NewParams(set...)
}

// parts distributes the cells of several methods over figures. Methods with few cells stand in each of them, since the
// others are to be compared with them; methods with many show some of theirs in each.
func parts(methods []string, cells map[string][]results.Cell) (figures [][]results.Cell) {
	several, lines := 0, 0 // methods that occur several times, and their lines
	for _, m := range methods {
		if n := len(cells[m]); n > 1 {
			several, lines = several+1, lines+n
		}
	}
	each, n := max(1, lines), 1 // most lines of a method in a figure, and the number of figures
	if lines > mostLines {
		each = max(1, mostLines/several)
		for _, m := range methods {
			n = max(n, (len(cells[m])+each-1)/each)
		}
	}
	figures = make([][]results.Cell, n)
	for i := range figures {
		for _, m := range methods {
			own := cells[m]
			if len(own) > each {
				own = own[min(i*each, len(own)):min((i+1)*each, len(own))]
			}
			figures[i] = append(figures[i], own...)
		}
	}
	return figures
}

// curves adds a figure of training curves for each family.
func (b *builder) curves() {
	for _, f := range families(results.Cells(b.Runs, b.Mixed)) {
		slices.SortStableFunc(f.cells, func(x, y results.Cell) int { return b.place(x.Method) - b.place(y.Method) })
		b.curveFigure(f)
	}
}

// curveFigure adds the figure of one family: test accuracy, and train loss if it was measured.
func (b *builder) curveFigure(f family) {
	acc := plot.LineChart{Title: "test accuracy after each round", XLabel: "round", YLabel: "test accuracy (%)"}
	loss := plot.LineChart{
		Title: "train loss after each round", XLabel: "round", YLabel: "train loss (per sample)", LogY: true,
	}
	var (
		rows    []curveRow
		used    []*results.Run
		partial []string // methods without a complete run
		late    bool     // some line of the training set begins after round 0
	)
	trained := func(r curveRow) bool { return r.TrainLoss.Valid }
	for _, c := range f.cells {
		name := f.name(c)
		runs, complete := drawable(c)
		if len(runs) == 0 {
			continue
		}
		if !complete {
			partial = append(partial, name)
		}
		var curves [][]results.CurveRow
		for _, r := range runs {
			curves = append(curves, r.Curve)
		}
		own := curveRows(c.CellKey, curves)
		rows, used = append(rows, own...), append(used, runs...)
		late = late || slices.ContainsFunc(own, trained) && !trained(own[0])
		a, l := plot.Series{Name: name}, plot.Series{Name: name}
		for _, r := range own {
			a.AddPoint(r.Round, r.TestAcc, r.TestAccStd, 100) // in percent
			l.AddPoint(r.Round, r.TrainLoss, r.TrainLossStd, 1)
		}
		acc.Series, loss.Series = append(acc.Series, a), append(loss.Series, l)
	}
	if len(rows) == 0 {
		return
	}
	title := f.title() + b.columns(f.key)
	// Settings that all runs share are in the caption, so the title has only the others.
	if own := f.key.Params.Minus(b.commonParams()).Short(" ", b.params()...); own != "" {
		title += ", " + own
	}
	fig := figure{
		ID: "curves-" + f.id(), section: "curves", Title: "Training curves: " + title,
		drawn: plot.Figure{Title: title, Panels: [][]plot.Chart{{acc}}}, csv: csvWriter(rows), runs: used,
		Caption: "Mean over the seeds; the band is one sample standard deviation to each side. " + f.made(used),
	}
	if slices.ContainsFunc(rows, trained) {
		fig.drawn.Panels[0] = append(fig.drawn.Panels[0], loss)
	}
	if late {
		fig.Caption += fmt.Sprintf(" Where the loss begins late, the training set was evaluated in the last %d rounds "+
			"alone (--eval-train-rounds).", results.ProtocolRounds)
	}
	for _, name := range partial {
		fig.Caption += fmt.Sprintf(" %s: no run is complete; the rounds so far.", name)
	}
	b.add(fig)
}

// columns returns the settings with a column of their own, as a title has them, that tell a figure from others of its
// data set and availability.
func (b *builder) columns(key results.CellKey) (words string) {
	var beside []results.CellKey
	for _, r := range b.Runs {
		if c := r.Key(); c.Data == key.Data && c.Availability == key.Availability {
			beside = append(beside, c)
		}
	}
	differs := func(other func(c results.CellKey) bool) bool { return slices.ContainsFunc(beside, other) }
	if differs(func(c results.CellKey) bool { return c.Preset != key.Preset }) {
		words += ", " + key.Preset
	}
	if differs(func(c results.CellKey) bool { return c.Net != key.Net }) {
		words += ", " + key.Net
	}
	if differs(func(c results.CellKey) bool { return c.Clients != key.Clients }) {
		words += fmt.Sprintf(", %d clients", key.Clients)
	}
	if key.Alpha.Valid && differs(func(c results.CellKey) bool { return c.Alpha != key.Alpha }) {
		words += ", α = " + key.Alpha.String()
	}
	return words
}

// params returns the settings of all runs.
func (b *builder) params() []results.Params {
	return results.AllParams(b.Runs, func(r results.Run) results.Params { return r.Params })
}

// commonParams returns the settings that all runs share.
func (b *builder) commonParams() results.Params {
	return results.CommonParams(b.Runs, func(r results.Run) results.Params { return r.Params })
}

// drawable returns the complete runs of a cell; if there are none, all runs that are not damaged.
func drawable(c results.Cell) (runs []*results.Run, complete bool) {
	for i := range c.Runs {
		if !c.Runs[i].Damaged {
			runs = append(runs, &c.Runs[i])
		}
	}
	done := slices.DeleteFunc(slices.Clone(runs), func(r *results.Run) bool {
		return r.Status() != results.RunComplete
	})
	if len(done) == 0 {
		return runs, false
	}
	return done, true
}

// curveRows returns the means of all metrics over the seeds, in every round that has a mean of some metric.
func curveRows(k results.CellKey, curves [][]results.CurveRow) (rows []curveRow) {
	// The rows of all metrics are merged by round, since a metric may be missing in some rounds.
	at := map[int]int{} // by round: the index in rows
	for _, m := range []struct {
		metric metrics.Metric
		into   func(r *curveRow) (mean, std *files.Optional)
	}{
		{metrics.TestAcc, func(r *curveRow) (mean, std *files.Optional) { return &r.TestAcc, &r.TestAccStd }},
		{metrics.TestLoss, func(r *curveRow) (mean, std *files.Optional) { return &r.TestLoss, &r.TestLossStd }},
		{metrics.TrainAcc, func(r *curveRow) (mean, std *files.Optional) { return &r.TrainAcc, &r.TrainAccStd }},
		{metrics.TrainLoss, func(r *curveRow) (mean, std *files.Optional) { return &r.TrainLoss, &r.TrainLossStd }},
	} {
		for _, p := range protocol.MeanCurve(curves, m.metric) {
			i, known := at[p.Round]
			if !known {
				i = len(rows)
				at[p.Round] = i
				rows = append(rows, curveRow{
					Data: k.Data, Availability: k.Availability, Method: k.Method, Params: k.Params,
					Round: p.Round, N: p.N,
				})
			}
			mean, std := m.into(&rows[i])
			*mean, *std = files.Some(p.Mean), p.Std
		}
	}
	slices.SortFunc(rows, func(x, y curveRow) int { return x.Round - y.Round })
	return rows
}
