package papers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// fedaweF2 shows the bias of FedAvg in Example 1, which has a closed form; so nothing is trained.
var fedaweF2 = Figure{
	ID: "fedawe-f2", Title: "FedAWE, Figure 2: where FedAvg ends with two clients of unequal availability",
	Measure: Nothing{},
	Draw: func(Measured) (Drawing, error) {
		rows := fedaweF2Rows()
		return drawing(rows, fedaweF2Figure(rows)), nil
	},
}

// The targets u_i of the two clients in Example 1, whose losses are F_i(x) = (x − u_i)²/2.
const (
	fedaweU1 = 0.0
	fedaweU2 = 100.0
)

// twoClientLimit returns the expected limit of FedAvg over active clients in FedAWE's Example 1. Two clients are active
// in each round with probabilities p_1 and p_2. Their losses are F_i(x) = (x − u_i)²/2 with u_1 = 0 and u_2 = 100; the
// sum of the losses has its minimum at 50.
//
// A client that trains moves x by a share a = 1 − (1 − η)^E of the way to u_i, in E steps of size η. If both clients
// are active, the server takes the mean of their models; if one is active, its model; if none is, x stays. So E[x'] − x
// is a times
//
//	p_1(1−p_2)(u_1 − x) + (1−p_1)p_2(u_2 − x) + p_1 p_2((u_1 + u_2)/2 − x).
//
// This is 0 at the mean of the targets with the weights p_1(1 − p_2/2) and p_2(1 − p_1/2), for every a. p_1 and p_2 are
// in [0, 1]; if both are 0, x never moves and the limit is NaN.
func twoClientLimit(p1, p2 float64) float64 {
	w1, w2 := p1*(1-p2/2), p2*(1-p1/2)
	return (w1*fedaweU1 + w2*fedaweU2) / (w1 + w2)
}

// fedaweOptimum is x*, the minimum of the sum of the losses in Example 1.
const fedaweOptimum = (fedaweU1 + fedaweU2) / 2

// fedaweF2Row is the limit at one point of the grid of probabilities (FedAWE, Figure 2).
type fedaweF2Row struct {
	P1       float64 `csv:"p1"`
	P2       float64 `csv:"p2"`
	Limit    float64 `csv:"limit"`    // x_output
	Distance float64 `csv:"distance"` // |x_output − x*|
}

// fedaweF2Grid is n, where each client has the probabilities 1/n, 2/n … 1.
const fedaweF2Grid = 20

// fedaweF2Rows returns the limit on the whole grid, sorted by p_1 and then by p_2.
func fedaweF2Rows() []fedaweF2Row {
	var rows []fedaweF2Row
	for i := range fedaweF2Grid {
		for j := range fedaweF2Grid {
			p1, p2 := float64(i+1)/fedaweF2Grid, float64(j+1)/fedaweF2Grid
			limit := twoClientLimit(p1, p2)
			rows = append(rows, fedaweF2Row{p1, p2, limit, math.Abs(limit - fedaweOptimum)})
		}
	}
	return rows
}

// fedaweF2Figure draws the distance of the limit from the minimum over (p_1, p_2).
func fedaweF2Figure(rows []fedaweF2Row) plot.Figure {
	chart := plot.HeatMap{
		XLabel: "p1, availability of the client with optimum 0", YLabel: "p2, of the client with optimum 100",
		ScaleLabel: "|x_output − x*|",
	}
	p1s, byP1 := results.Grouped(rows, func(r fedaweF2Row) float64 { return r.P1 })
	chart.X = p1s
	for i, p1 := range p1s {
		var column []float64
		for _, r := range byP1[p1] {
			if column = append(column, r.Distance); i == 0 {
				chart.Y = append(chart.Y, r.P2)
			}
		}
		chart.Z = append(chart.Z, column)
	}
	return plot.Figure{
		Title:  "How far from the optimum, 50, FedAvg ends with two clients with optima 0 and 100",
		Panels: [][]plot.Chart{{chart}}, PanelHeight: 560,
	}
}

// round3 rounds to three decimals, for names in the legend.
func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

// fedaweF3 gives every client the same availability, p_i^t = p·(γ sin(0.1πt) + 1 − γ).
var fedaweF3 = Figure{
	ID: "fedawe-f3", Title: "FedAWE, Figure 3: FedAvg under non-stationary availability, SVHN",
	Measure: Curves{Train: true}, Runs: fedaweF3Runs(), Seeds: fedaweSeeds, Rounds: 1000,
	Draw: drawn(fedaweF3Rows, fedaweF3Figure),
	Says: []Sentence[Measured]{
		{"accuracy is lower at γ = 0.5 than at 0.1, for every p", fedaweExample2, changesBetween("gamma", 0.1, 0.5)},
		{"accuracy is lower at p = 0.1 than at 1, for every γ", fedaweExample2, changesBetween("p", 1, 0.1)},
	},
}

// fedaweExample2 is where FedAWE speaks of figure 3. The observations are in its caption, which our text of the paper
// does not have.
const fedaweExample2 = "example 2 [inferred]"

// changesBetween returns a question: is the test accuracy, as a mean over the last 50 rounds, higher at one value of a
// setting than at another, wherever the other setting is the same?
func changesBetween(setting string, higher, lower float64) func(m Measured) Answer {
	return func(m Measured) Answer {
		var all []stats.Estimate
		var words []string
		for i := range m.Lines {
			high := &m.Lines[i]
			if numberOf(*high, setting) != higher {
				continue
			}
			for j := range m.Lines {
				low := &m.Lines[j]
				if numberOf(*low, setting) != lower || low.Set.Without(setting) != high.Set.Without(setting) {
					continue
				}
				d := high.minus(low, lateAccuracy)
				all = append(all, d)
				if d.N > 0 {
					words = append(words, fmt.Sprintf("%s: %s points", high.Set.Without(setting), pointsOf(d)))
				}
			}
		}
		return ahead(all, strings.Join(words, "; "))
	}
}

// fedaweF3Runs returns the runs of FedAvg over the active clients for every p and γ.
func fedaweF3Runs() (list []Training) {
	for _, p := range []string{"0.1", "0.3", "0.5", "1"} {
		for _, gamma := range []string{"0.1", "0.2", "0.3", "0.5"} {
			column := Column{Data: "svhn", Availability: "sine", Set: results.NewParams("p="+p, "gamma="+gamma)}
			list = append(list, runs(column, "fedavg-active")...)
		}
	}
	return list
}

// fedaweF3Row is one evaluated round at one p and γ, averaged over the seeds.
type fedaweF3Row struct {
	P           float64        `csv:"p"`
	Gamma       float64        `csv:"gamma"`
	Round       int            `csv:"round"`
	N           int            `csv:"n"`         // seeds
	TrainAcc    float64        `csv:"train_acc"` // fraction, mean over the seeds
	TrainAccStd files.Optional `csv:"train_acc_std"`
	TestAcc     float64        `csv:"test_acc"`
	TestAccStd  files.Optional `csv:"test_acc_std"`
}

// fedaweF3Rows returns the rounds in which every seed has both accuracies, line by line.
func fedaweF3Rows(m Measured) (rows []fedaweF3Row, err error) {
	for _, line := range m.Lines {
		p, gamma := numberOf(line, "p"), numberOf(line, "gamma")
		train, test := protocol.BothMeans(line.Curves, metrics.TrainAcc, metrics.TestAcc)
		for i := range train {
			rows = append(rows, fedaweF3Row{
				P: p, Gamma: gamma, Round: train[i].Round, N: train[i].N,
				TrainAcc: train[i].Mean, TrainAccStd: train[i].Std, TestAcc: test[i].Mean, TestAccStd: test[i].Std,
			})
		}
	}
	return rows, nil
}

// numberOf returns the value of a setting that distinguishes the line; 0 if the line does not have it.
func numberOf(line Line, name string) float64 {
	v, _ := strconv.ParseFloat(line.Set.Get(name), 64) // it is a number, or the run would have failed
	return v
}

// fedaweF3Figure draws train and test accuracy side by side, with a row of panels for each p and a line for each γ, and
// with bands of one standard deviation over the seeds.
func fedaweF3Figure(_ string, rows []fedaweF3Row) plot.Figure {
	all := plot.NewSpan() // all panels have the same y axis, as in the paper
	for _, r := range rows {
		for _, acc := range []stats.Estimate{
			{Mean: r.TrainAcc, Std: r.TrainAccStd},
			{Mean: r.TestAcc, Std: r.TestAccStd},
		} {
			all.Add(100 * (acc.Mean - acc.Std.Value))
			all.Add(100 * (acc.Mean + acc.Std.Value))
		}
	}
	low, high := all.Axis(0.04, false)
	chart := func(label string) plot.LineChart {
		return plot.LineChart{YLabel: label, YMin: files.Some(low), YMax: files.Some(high)}
	}
	return plot.Figure{
		Title: "FedAvg over active clients, SVHN, p(t) = p (γ sin(0.1πt) + 1 − γ)", PanelHeight: 210,
		Panels: sideBySide(rows, func(r fedaweF3Row) string { return fmt.Sprintf("p = %g", r.P) },
			func(r fedaweF3Row) string { return fmt.Sprintf("γ = %g", r.Gamma) }, [2]side[fedaweF3Row]{
				{chart("train accuracy (%)"), func(s *plot.Series, r fedaweF3Row) {
					s.Point(float64(r.Round), r.TrainAcc, r.TrainAccStd, 100)
				}},
				{chart("test accuracy (%)"), func(s *plot.Series, r fedaweF3Row) {
					s.Point(float64(r.Round), r.TestAcc, r.TestAccStd, 100)
				}},
			}),
	}
}

// fedaweF4 shows the classes of 20 clients as circles. The paper names neither data set nor α; CIFAR-10 and the α of
// its tables, 0.1, are taken [inferred].
var fedaweF4 = Figure{
	ID: "fedawe-f4", Title: "FedAWE, Figure 4: classes of 20 clients",
	Measure: ClassShares{Method: "fedawe", Data: "cifar10", Clients: 20}, Seeds: fedaweSeeds[:1], OneSeed: true,
	Draw: func(m Measured) (Drawing, error) {
		return drawing(fedaweF4Rows(m.Classes), fedaweF4Figure(m.Classes)), nil
	},
}

// fedaweF4Row is one class of one client (FedAWE, Figure 4).
type fedaweF4Row struct {
	Client int     `csv:"client"`
	Class  int     `csv:"class"`
	Share  float64 `csv:"share"` // of the client's training images that are of the class; 0 for a client without images
	N      int     `csv:"n"`     // the client's training images of the class
}

// fedaweF4Rows returns the rows of all clients, class by class.
func fedaweF4Rows(counts [][]int) (rows []fedaweF4Row) {
	shares := classShares(counts)
	for i, classes := range counts {
		for c, n := range classes {
			rows = append(rows, fedaweF4Row{Client: i, Class: c, Share: shares[i][c], N: n})
		}
	}
	return rows
}

// classShares divides the counts [clients][classes] by the images of each client.
func classShares(counts [][]int) [][]float64 {
	shares := make([][]float64, len(counts))
	for i, classes := range counts {
		shares[i] = make([]float64, len(classes))
		total := 0
		for _, n := range classes {
			total += n
		}
		for c, n := range classes {
			shares[i][c] = float64(n) / float64(max(1, total))
		}
	}
	return shares
}

// fedaweF4Figure draws a circle for every class of every client; its area is the share of the client's images.
func fedaweF4Figure(counts [][]int) plot.Figure {
	return plot.Figure{
		Title: fmt.Sprintf("Classes of %d clients", len(counts)), PanelHeight: 400,
		Panels: [][]plot.Chart{{plot.Bubbles{
			XLabel: "client", YLabel: "class", KeyLabel: "share of images", Shares: classShares(counts),
		}}},
	}
}

// fedaweF5 shows CIFAR-10 by default; the paper does not say which data set it shows.
var fedaweF5 = Figure{
	ID: "fedawe-f5", Title: "FedAWE, Figure 5: availability of the clients",
	Measure: BaseAvailability{Method: "fedawe", Data: "cifar10"}, Seeds: fedaweSeeds[:1], OneSeed: true,
	Draw: func(m Measured) (Drawing, error) {
		rows, err := FedAWEF5Rows(m.Base)
		return drawing(rows, FedAWEF5Figure(rows)), err
	},
}

// fedaweF5Bins is the number of bins in FedAWE's Figure 5 over [0, 1]. The paper does not say it [inferred].
const fedaweF5Bins = 25

// FedAWEF5Rows counts the base availabilities p_i of the clients in bins; p [N] must be in [0, 1].
func FedAWEF5Rows(p []float64) ([]plot.Bin, error) { return plot.Bins(p, 0, 1, fedaweF5Bins) }

// FedAWEF5Figure draws the histogram of the base availabilities.
func FedAWEF5Figure(bins []plot.Bin) plot.Figure {
	clients := 0
	for _, b := range bins {
		clients += b.Count
	}
	return plot.Figure{
		Title:  fmt.Sprintf("How often %d clients are available", clients),
		Panels: [][]plot.Chart{{plot.Histogram{XLabel: "availability p of a client", YLabel: "clients", Bins: bins}}},
	}
}

// fedaweF6 shows three clients under each process: their availability in every round, and a sample of it.
var fedaweF6 = Figure{
	ID: "fedawe-f6", Title: "FedAWE, Figure 6: trajectories and sampled activity",
	Measure: FedAWEPaths, Seeds: fedaweSeeds[:1], Rounds: 80, OneSeed: true,
	Draw: func(m Measured) (Drawing, error) { return drawing(m.Paths, FedAWEF6Figure(m.Paths)), nil },
}

// FedAWEPaths has the processes and the base availabilities of Figure 6.
var FedAWEPaths = Trajectories{Models: fedaweModels, Base: []float64{0.1, 0.5, 0.9}}

// FedAWEF6Row is one client under one process in one round (FedAWE, Figure 6). The rounds of a client and a process
// ascend from 0.
type FedAWEF6Row struct {
	Availability string  `csv:"availability"` // stationary, staircase, sine, interleaved-sine
	P            float64 `csv:"p"`            // base availability p_i
	Round        int     `csv:"round"`
	Probability  float64 `csv:"probability"` // p_i^t
	Active       int     `csv:"active"`      // 1: the client is active
}

// FedAWEF6Figure draws two charts for each process: the trajectories p_i^t as steps, and the sampled activity.
func FedAWEF6Figure(rows []FedAWEF6Row) plot.Figure {
	f := plot.Figure{Title: "Availability of three kinds of clients", PanelHeight: 190}
	kinds, byKind := results.Grouped(rows, func(r FedAWEF6Row) string { return r.Availability })
	for i, kind := range kinds {
		ps, byP := results.Grouped(byKind[kind], func(r FedAWEF6Row) float64 { return r.P })
		if len(ps) != 3 {
			f.Title = "Availability of clients"
		}
		path := plot.LineChart{Title: kind, YLabel: "probability", YMin: files.Some(0), YMax: files.Some(1)}
		activity := plot.Raster{Title: kind + ", sampled (dark: active)", YLabel: "p"}
		if i == len(kinds)-1 {
			path.XLabel, activity.XLabel = "round", "round"
		}
		for _, p := range ps {
			s, on := plot.Series{Name: fmt.Sprintf("p = %g", round3(p)), Step: true}, []bool{}
			for _, r := range byP[p] {
				s.X, s.Y = append(s.X, float64(r.Round)), append(s.Y, r.Probability)
				on = append(on, r.Active != 0)
			}
			path.Series = append(path.Series, s.LastStepDrawn())
			activity.Rows = append(activity.Rows, plot.RasterRow{Name: fmt.Sprintf("%g", round3(p)), On: on})
		}
		f.Panels = append(f.Panels, []plot.Chart{path, activity})
	}
	return f
}

const (
	// fedaweF7Every is the number of rounds between the values that the released code smooths, where β is the factor
	// from one value to the next. Curves that are evaluated less often are smoothed over as many rounds, not as many
	// values.
	fedaweF7Every = 2

	// fedaweF7Coded is the factor by which the losses in the paper's figure are too small. The released code sums the
	// means of batches of about 256 samples, and divides the sum by the number of samples.
	fedaweF7Coded = 256
)

// fedaweF7 shows the learning curves of three methods under sine availability. Its options choose whether the curves
// are smoothed, and the losses scaled, as in the released code.
var fedaweF7 = Figure{
	ID: "fedawe-f7", Title: "FedAWE, Figure 7: training curves, sine",
	Measure: Curves{Train: true}, Runs: runsIn(columnsUnder("sine"), "fedavg-active", "fedawe", "mifa"),
	Seeds:  fedaweSeeds,
	Rounds: fedaweRounds,
	Options: []Option{
		{
			Name: "ema", Default: 0.99, Help: "exponential moving average of FedAWE's curves; 0 shows them raw",
			Check: func(value any) error {
				if beta := value.(float64); !(beta >= 0 && beta <= 1) {
					return errors.New("want 0 … 1")
				}
				return nil
			},
		},
		{
			Name: "loss-as-coded", Default: false,
			Help: fmt.Sprintf("losses divided by %d, as the released code's are", fedaweF7Coded),
		},
	},
	Draw: drawn(fedaweF7Rows, fedaweF7Figure),
	Says: []Sentence[Measured]{{
		"FedAWE is ahead of FedAvg over active clients, as in table 2 (mean of the last 50 rounds)", "J",
		isAhead("fedawe", lateAccuracy, "fedavg-active"),
	}},
}

// fedaweF7Row is one evaluated round of a method in one panel, averaged over its seeds.
type fedaweF7Row struct {
	Data         string `csv:"data"`
	Availability string `csv:"availability"`
	Method       string `csv:"method"`
	lossAndAccuracy
	Beta        float64 `csv:"beta"` // of the moving average; 0: raw
	LossAsCoded bool    `csv:"loss_as_coded"`
}

// fedaweF7Rows returns the means of the curves of each method over its seeds. It smooths FedAWE's curves first, as the
// released code does, unless the option ema is 0.
func fedaweF7Rows(m Measured) (rows []fedaweF7Row, err error) {
	beta, asCoded := m.option("ema").(float64), m.option("loss-as-coded").(bool)
	scale := 1.0
	if asCoded {
		scale = 1.0 / fedaweF7Coded
	}
	for _, line := range m.Lines {
		row := fedaweF7Row{Data: line.Data, Availability: line.Availability, Method: line.Method, LossAsCoded: asCoded}
		curves := slices.Clone(line.Curves)
		for i, curve := range curves {
			if line.Method == "fedawe" && beta > 0 {
				row.Beta, curves[i] = beta, smooth(curve, beta)
			}
		}
		for _, row.lossAndAccuracy = range lossesAndAccuracies(curves) {
			row.TrainLoss *= scale
			row.TrainLossStd.Value *= scale
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// smooth returns a curve in which exponential moving averages replace train loss and test accuracy. A row without a
// value stays without one and does not change the average.
func smooth(rows []results.CurveRow, beta float64) []results.CurveRow {
	out := slices.Clone(rows)
	for _, column := range []func(r *results.CurveRow) *files.Optional{
		func(r *results.CurveRow) *files.Optional { return &r.TrainLoss },
		func(r *results.CurveRow) *files.Optional { return &r.TestAcc },
	} {
		last := -1 // the row with the latest average
		for i := range out {
			v := column(&out[i])
			if !v.Valid {
				continue
			}
			if last >= 0 {
				rounds := float64(out[i].Round - out[last].Round)
				keep := math.Pow(beta, rounds/fedaweF7Every)
				v.Value = keep*column(&out[last]).Value + (1-keep)*v.Value
			}
			last = i
		}
	}
	return out
}

// fedaweF7Figure draws train loss, on a logarithmic axis, and test accuracy side by side, with a row of panels for each
// data set and availability, and with bands of one standard deviation over the seeds.
func fedaweF7Figure(_ string, rows []fedaweF7Row) plot.Figure {
	lossLabel := "train loss (per sample)"
	if len(rows) > 0 && rows[0].LossAsCoded {
		lossLabel = fmt.Sprintf("train loss (per sample) / %d", fedaweF7Coded)
	}
	name := func(r fedaweF7Row) string {
		if r.Beta > 0 {
			return fmt.Sprintf("%s (moving average, β = %g)", r.Method, r.Beta)
		}
		return r.Method
	}
	return plot.Figure{
		Title: "Training curves", PanelHeight: 270,
		Panels: sideBySide(rows, func(r fedaweF7Row) string { return r.Data + ", " + r.Availability }, name,
			[2]side[fedaweF7Row]{
				{plot.LineChart{YLabel: lossLabel, LogY: true}, func(s *plot.Series, r fedaweF7Row) {
					s.Point(float64(r.Round), r.TrainLoss, r.TrainLossStd, 1)
				}},
				{plot.LineChart{YLabel: "test accuracy (%)"}, func(s *plot.Series, r fedaweF7Row) {
					s.Point(float64(r.Round), r.TestAcc, r.TestAccStd, 100)
				}},
			}),
	}
}
