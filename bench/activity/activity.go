// Package activity draws who is active when: any availability model, a recorded trace, or what was fitted to it.
//
//	f := activity.Figure(activity.Activity{Title: "sine", Record: record, Chains: &activity.Chains{pi, lambda}})
//	err := f.Write(w, "svg", plot.PageWidth)
package activity

import (
	"cmp"
	"fmt"
	"slices"

	"rollcall/algos/availability"
	"rollcall/algos/availability/describe"
	"rollcall/internal/files"
	"rollcall/results/plot"
)

// Activity is what a figure shows. All but the record may be missing.
type Activity struct {
	Title  string              // the model and its settings, or the file; the figure adds clients and rounds
	Record availability.Record // who is active
	Mean   []float64           // [T] the mean of p_i^t over the clients; nil: unknown
	Chains *Chains             // what each client's π and λ lead to expect; nil: unknown
	Fit    *Chains             // the same of a fit to the record
}

// Chains are the π and λ of every client [N], see [availability.Model].
type Chains struct {
	Pi, Lambda []float64
	Mean       []float64 // [T] the share of clients that is expected to be active in each round; nil: the mean of π
}

// The sizes up to which a figure shows everything; it bins or thins more.
const (
	clientsByID  = 20  // clients that stand in the order of their numbers, not of their share of rounds
	heatClients  = 200 // rows and
	heatRounds   = 400 // columns of the heat map
	shownRounds  = 200 // points of the share of clients;
	binnedRounds = 100 // bins of more rounds
	longestLag   = 100
	mostPoints   = 400  // of a line of run lengths
	smallest     = 0.1  // autocorrelation that the axis has at least, so that noise looks small
	rarest       = 1e-3 // lowest P(run ≥ k) that is shown
)

// The names of the legend, and their styles: what is recorded is a whole line, chains are dashed and a fit has short
// dashes; active clients are blue and green, absent ones orange and red.
const (
	active, away           = "active", "away"
	chainActive, chainAway = "chain, active", "chain, away"
	fitActive, fitAway     = "fit, active", "fit, away"
	meanP                  = "mean p"
)

// A style s has colour s mod 8 and dash s mod 9, see [plot.Colours].
var keys = map[string]plot.Key{
	active:      {Label: "active", Style: 54},         // sky blue, whole
	away:        {Label: "away", Style: 45},           // orange, whole
	chainActive: {Label: "active, chains", Style: 10}, // blue, long dashes
	chainAway:   {Label: "away, chains", Style: 1},    // vermilion, long dashes
	fitActive:   {Label: "active, fit", Style: 11},    // green, dots
	fitAway:     {Label: "away, fit", Style: 20},      // purple, dots
	meanP:       {Label: "mean p", Style: 64},         // black, long dashes
}

// Figure draws four panels: who is active when, how long runs of activity and of absence are, how activity depends on
// the activity some rounds before, and how many clients are active.
func Figure(a Activity) plot.Figure {
	n, rounds := len(a.Record.Rows), a.Record.Rounds
	return plot.Figure{
		Title: fmt.Sprintf("%s: %s, %s", a.Title, files.Count(n, "client"), files.Count(rounds, "round")),
		Panels: [][]plot.Chart{
			{a.heatMap(), a.runLengths()},
			{a.autocorrelation(), a.shares()},
		},
		Keys: keys,
	}
}

// heatMap shows who is active when. Clients of similar π are neighbours, those of the highest π on top.
func (a *Activity) heatMap() plot.HeatMap {
	n := len(a.Record.Rows)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	yLabel := "client"
	if n > clientsByID {
		yLabel = "clients, by π"
		share := describe.PerClient(a.Record)
		pi, lambda := share, share
		if a.Chains != nil {
			pi, lambda = a.Chains.Pi, a.Chains.Lambda
		} else {
			yLabel = "clients, by their share of rounds"
		}
		slices.SortStableFunc(order, func(i, j int) int {
			return cmp.Or(cmp.Compare(pi[i], pi[j]), cmp.Compare(lambda[i], lambda[j]))
		})
	}
	columns, rows := bins(a.Record.Rounds, heatRounds), bins(n, heatClients)
	chart := plot.HeatMap{
		Title: "Who is active (dark)", XLabel: "round", YLabel: yLabel,
		X: columns.middles(), Y: rows.middles(), ZMin: files.Some(0), ZMax: files.Some(1),
	}
	if columns.width > 1 || rows.width > 1 {
		chart.Title = fmt.Sprintf("Who is active: share of %s × %s", files.Count(rows.width, "client"),
			files.Count(columns.width, "round"))
	}
	for x := range chart.X {
		column := make([]float64, len(chart.Y))
		for y := range column {
			from, to := columns.bin(x)
			low, high := rows.bin(y)
			for _, i := range order[low:high] {
				for t := from; t < to; t++ {
					if a.Record.Active(i, t) {
						column[y]++
					}
				}
			}
			column[y] /= float64((to - from) * (high - low))
		}
		chart.Z = append(chart.Z, column)
	}
	return chart
}

// binning cuts 0 … n−1 into bins of a width, of which the last may be narrower.
type binning struct{ n, width int }

// bins returns at most so many bins of the same width.
func bins(n, most int) binning { return binning{n, max(1, (n+most-1)/most)} }

func (b binning) bin(k int) (from, to int) { return k * b.width, min((k+1)*b.width, b.n) }

// middles returns the middle of every bin, as if the last were as wide as the others.
func (b binning) middles() []float64 {
	x := make([]float64, (b.n+b.width-1)/b.width)
	for k := range x {
		x[k] = float64(k*b.width) + float64(b.width-1)/2
	}
	return x
}

// runLengths shows P(run ≥ k) over k.
func (a *Activity) runLengths() plot.LineChart {
	here, gone := describe.Runs(a.Record)
	survival := map[string][]float64{active: here.Survival(), away: gone.Survival()}
	lowest, longest := 1., 1
	for _, s := range survival {
		for k, p := range s {
			if p >= rarest {
				lowest, longest = min(lowest, p), max(longest, k+1)
			}
		}
	}
	for name, set := range map[string]*Chains{"chain": a.Chains, "fit": a.Fit} {
		if set != nil {
			survival[name+", active"] = describe.ChainRuns(set.Pi, set.Lambda, true, longest)
			survival[name+", away"] = describe.ChainRuns(set.Pi, set.Lambda, false, longest)
		}
	}
	chart := plot.LineChart{
		Title: "How long clients stay, or stay away", XLabel: "k, rounds", YLabel: "P(run of k rounds or more)",
		LogY: true, YMin: files.Some(min(0.7*lowest, 0.09)), YMax: files.Some(1.1),
	}
	complete := map[string]bool{active: len(here.Ended) >= len(here.Cut), away: len(gone.Ended) >= len(gone.Cut)}
	for _, name := range []string{active, away, chainActive, chainAway, fitActive, fitAway} {
		p := survival[name]
		line := plot.Series{Name: name}
		for k := 0; k < min(len(p), longest); k += max(1, longest/mostPoints) {
			line.X, line.Y = append(line.X, float64(k+1)), append(line.Y, p[k])
		}
		if complete[name] && len(p) > 0 && len(p) <= longest { // no run is longer: down to the floor
			line.X, line.Y = append(line.X, float64(len(p)+1)), append(line.Y, chart.YMin.Value)
		}
		if len(line.X) > 0 {
			chart.Series = append(chart.Series, line)
		}
	}
	if len(chart.Series) == 0 {
		chart.Title = "How long clients stay" + nobodyChanges
	}
	return chart
}

// nobodyChanges is added to the title of a panel without a line.
const nobodyChanges = ": no client changes"

// autocorrelation shows r_k over k, of the clients that change.
func (a *Activity) autocorrelation() plot.LineChart {
	lags := min(longestLag, a.Record.Rounds/2)
	mean, changes := describe.Autocorrelation(a.Record, lags)
	chart := plot.LineChart{
		Title: "Autocorrelation of activity", XLabel: "lag k, rounds", YLabel: "r_k, mean of the clients",
	}
	span := plot.Span{Low: -smallest, High: smallest}
	add := func(name string, r []float64) {
		line := plot.Series{Name: name}
		for k := 1; k < len(r); k++ { // r_0 is 1
			line.X, line.Y = append(line.X, float64(k)), append(line.Y, r[k])
			span.Add(r[k])
		}
		if len(line.X) > 0 {
			chart.Series = append(chart.Series, line)
		}
	}
	add(active, mean)
	for _, of := range []struct {
		name string
		set  *Chains
	}{{chainActive, a.Chains}, {fitActive, a.Fit}} {
		if of.set == nil {
			continue
		}
		var lambda []float64
		for i, l := range of.set.Lambda {
			if changes[i] {
				lambda = append(lambda, l)
			}
		}
		add(of.name, describe.ChainAutocorrelation(lambda, a.Record.Rounds, lags))
	}
	low, high := span.Axis(0.04, false)
	chart.YMin, chart.YMax = files.Some(low), files.Some(high)
	if len(chart.Series) == 0 {
		chart.Title += nobodyChanges
	}
	return chart
}

// shares shows the share of clients that are active in each round, or of many rounds the mean and the range of bins.
func (a *Activity) shares() plot.LineChart {
	rounds := binning{a.Record.Rounds, 1}
	chart := plot.LineChart{
		Title: "How many are active", XLabel: "round", YLabel: "share of clients",
		YMin: files.Some(-0.02), YMax: files.Some(1.02),
	}
	if a.Record.Rounds > shownRounds {
		rounds = bins(a.Record.Rounds, binnedRounds)
		chart.XLabel = fmt.Sprintf("round, mean and range of %d each", rounds.width)
	}
	add := func(name string, y []float64, ranged bool) {
		line := plot.Series{Name: name, X: rounds.middles()}
		for k := range line.X {
			from, to := rounds.bin(k)
			total := 0.0
			for _, share := range y[from:to] {
				total += share
			}
			line.Y = append(line.Y, total/float64(to-from))
			if ranged {
				line.Low = append(line.Low, slices.Min(y[from:to]))
				line.High = append(line.High, slices.Max(y[from:to]))
			}
		}
		chart.Series = append(chart.Series, line)
	}
	add(active, describe.PerRound(a.Record), rounds.width > 1)
	if a.Mean != nil {
		add(meanP, a.Mean, false)
	}
	if a.Fit != nil {
		total := 0.0
		for _, pi := range a.Fit.Pi {
			total += pi
		}
		mean := a.Fit.Mean
		if mean == nil {
			mean = slices.Repeat([]float64{total / float64(len(a.Fit.Pi))}, a.Record.Rounds)
		}
		add(fitActive, mean, false)
	}
	return chart
}
