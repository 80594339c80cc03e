package report

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results/protocol"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/plot"
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
	key   results.CellKey // without the method, and without params if the cells differ in them
	cells []results.RunCell
}

// title returns the data set and the availability, which the cells share.
func (f family) title() string { return f.key.Data + ", " + f.key.Availability }

// name returns the name of a cell in the legend: its method, and the settings that the cells do not share.
func (f family) name(c results.RunCell) string {
	common := results.CommonParams(f.cells, func(c results.RunCell) results.Params { return c.Params })
	return strings.Join(strings.Fields(c.Method+" "+c.Params.Minus(common).Words(" ")+" "+c.Mark), " ")
}

// mostLines is the largest number of lines in a figure of one method with different settings. Further settings go to
// another figure.
const mostLines = 8

// families groups the cells into figures. Methods with the same settings share a figure, so that they can be compared.
// Cells whose settings only one method has share a figure with each other, as a sweep.
func families(cells []results.RunCell) (all []family) {
	var alone []results.RunCell
	keys, groups := results.Grouped(cells, func(c results.RunCell) results.CellKey {
		return c.Ignoring([]string{"method"})
	})
	for _, key := range keys {
		if group := groups[key]; len(group) == 1 {
			alone = append(alone, group...)
		} else {
			all = append(all, family{key, group})
		}
	}
	keys, groups = results.Grouped(alone, func(c results.RunCell) results.CellKey {
		return c.Ignoring([]string{"method", "params"})
	})
	for _, key := range keys {
		for part := range slices.Chunk(groups[key], mostLines) {
			all = append(all, family{key, part})
		}
	}
	return all
}

// curves adds a figure of training curves for each family.
func (b *builder) curves() {
	for _, f := range families(results.Cells(b.Runs, b.Mixed)) {
		slices.SortStableFunc(f.cells, func(x, y results.RunCell) int { return b.place(x.Method) - b.place(y.Method) })
		b.curveFigure(f)
	}
}

// curveFigure adds the figure of one family: test accuracy, and train loss if it was measured.
func (b *builder) curveFigure(f family) {
	acc := plot.LineChart{Title: "test accuracy", XLabel: "round", YLabel: "test accuracy (%)"}
	loss := plot.LineChart{Title: "train loss", XLabel: "round", YLabel: "train loss (per sample)", LogY: true}
	var (
		rows    []curveRow
		used    []*results.Run
		partial []string // methods without a complete run
	)
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
	title := f.title()
	// Settings that all runs share are in the caption, so the title has only the others.
	if own := f.key.Params.Minus(b.commonParams()).Words(" "); own != "" {
		title += ", " + own
	}
	fig := figure{
		ID: "curves-" + f.title(), section: "curves", Title: "Training curves: " + title,
		drawn: plot.Figure{Title: title, Panels: [][]plot.Chart{{acc}}}, csv: csvWriter(rows), runs: used,
		Caption: "Mean over the seeds; the band is one sample standard deviation to each side. " + made(used),
	}
	if slices.ContainsFunc(rows, func(r curveRow) bool { return r.TrainLoss.Valid }) {
		fig.drawn.Panels[0] = append(fig.drawn.Panels[0], loss)
	}
	for _, name := range partial {
		fig.Caption += fmt.Sprintf(" %s: no run is complete; what there is so far.", name)
	}
	b.add(fig)
}

// commonParams returns the settings that all runs share.
func (b *builder) commonParams() results.Params {
	return results.CommonParams(b.Runs, func(r results.Run) results.Params { return r.Params })
}

// drawable returns the complete runs of a cell; if there are none, all runs that are not damaged.
func drawable(c results.RunCell) (runs []*results.Run, complete bool) {
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
