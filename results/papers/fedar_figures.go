package papers

import (
	"fmt"
	"math"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/protocol"
	"rollcall/results/stats"
)

// fedarF1 trains five clients, with client 0 away in the last 0 to 6 rounds, and shows the Shapley value of each
// client.
var fedarF1 = Figure{
	ID: "fedar-f1", Title: "FedAR, Figure 1: contribution of a client whose update is stale, CIFAR-10",
	Measure: Coalitions{MostStale: 6}, Runs: runs(fiveClients(), "mifa"), Preset: "paper", Seeds: fedarSeeds, Rounds: 9,
	Draw: func(m Measured) (Drawing, error) {
		rows, err := fedarShapleyRows(m)
		if err != nil {
			return Drawing{}, err
		}
		d := drawing(rows, fedarShapleyFigure(m.Figure.Title, rows))
		d.Words = fmt.Sprintf("share of client 0: %s\n", strings.Join(shapleyWords(rows), ", "))
		return d, nil
	},
	Says: []Sentence[Measured]{
		{"the contribution of client 0 falls with every round that it is away", fedarMotivation, staleFalls},
		{"a stale update still contributes at stale 1 … 5", fedarMotivation, stalePositive(1, 1, 5)},
		{"the contribution of client 0 is negative at stale 6", fedarMotivation, stalePositive(-1, 6, 6)},
	},
}

// fedarMotivation is where FedAR speaks of figure 1.
const fedarMotivation = "3.2"

// staleShares returns the share of client 0 in all contributions, in percent as in the picture, by seed and staleness
// [seeds][stale].
func staleShares(m Measured) (shares [][]float64) {
	rows, err := fedarShapleyRows(m)
	if err != nil {
		return nil
	}
	seeds, bySeed := results.Grouped(rows, func(r fedarShapleyRow) uint32 { return r.Seed })
	for _, seed := range seeds {
		var own []float64
		for _, r := range bySeed[seed] {
			if r.Client == 0 {
				own = append(own, 100*r.Share.Or(math.NaN()))
			}
		}
		if len(own) != len(m.Coalitions)/len(seeds) {
			return nil // a staleness is missing
		}
		shares = append(shares, own)
	}
	return shares
}

// staleFalls asks whether the share of client 0 falls with its staleness: Kendall's τ of the two, one of each
// seed, below 0.
func staleFalls(m Measured) Answer {
	shares := staleShares(m)
	var taus []float64
	for _, own := range shares {
		var x []float64
		for stale := range own {
			x = append(x, float64(stale))
		}
		_, _, tau := stats.Kendall(own, x)
		taus = append(taus, -tau.Or(math.NaN()))
	}
	if taus == nil {
		return Answer{Verdict: judge.Untold}
	}
	d := stats.EstimateOf(taus)
	return ahead([]stats.Estimate{d}, fmt.Sprintf("Kendall's τ %.2f ± %.2f; %s", -d.Mean, d.Std.Value,
		shareWords(shares, 0, len(shares[0])-1)))
}

// stalePositive returns a question: is the share of client 0 above 0 at every staleness of these? Below 0 if sign is
// −1.
func stalePositive(sign float64, from, to int) func(m Measured) Answer {
	return func(m Measured) Answer {
		shares := staleShares(m)
		if len(shares) == 0 || len(shares[0]) <= to {
			return Answer{Verdict: judge.Untold}
		}
		var all []stats.Estimate
		for stale := from; stale <= to; stale++ {
			d := shareAt(shares, stale)
			d.Mean *= sign
			all = append(all, d)
		}
		return ahead(all, shareWords(shares, from, to))
	}
}

// shareAt returns the share at one staleness, over the seeds.
func shareAt(shares [][]float64, stale int) stats.Estimate {
	var own []float64
	for _, s := range shares {
		own = append(own, s[stale])
	}
	return stats.EstimateOf(own)
}

// shareWords returns the mean shares over the seeds at some staleness.
func shareWords(shares [][]float64, from, to int) string {
	var words []string
	for stale := from; stale <= to; stale++ {
		d := shareAt(shares, stale)
		words = append(words, fmt.Sprintf("stale %d: %.0f ± %.0f %%", stale, d.Mean, d.Std.Value))
	}
	return strings.Join(words, ", ")
}

// fiveClients returns the column of section 3.2's experiment with five clients. The paper prints neither split nor
// local steps. Here each client has two classes, so that the five clients have all ten, and a round is one epoch
// [inferred].
func fiveClients() Column {
	c := fedar("cifar10")
	c.Base = c.Base.And("clients=5", "p-min=1", "local-epochs=1")
	return c
}

// fedarShapleyRow is the contribution of one client at one level of staleness, for one seed (FedAR, figure 1).
type fedarShapleyRow struct {
	Stale   int            `csv:"stale"` // number of last rounds in which client 0 is away; 0: its update is fresh
	Seed    uint32         `csv:"seed"`
	Client  int            `csv:"client"`
	Shapley float64        `csv:"shapley"`       // Shapley value of the test accuracy, a fraction
	Share   files.Optional `csv:"share"`         // of the sum over the clients; missing if that is 0
	Without float64        `csv:"test_acc_none"` // test accuracy of the model of no client, a fraction
	With    float64        `csv:"test_acc_all"`  // test accuracy of the model of all clients, a fraction
}

// fedarShapleyRows returns the rows of every level of staleness and seed, client by client.
func fedarShapleyRows(m Measured) (rows []fedarShapleyRow, err error) {
	for _, c := range m.Coalitions {
		phi, err := stats.Shapley(c.Accuracies)
		if err != nil {
			return nil, err
		}
		none, all := c.Accuracies[0], c.Accuracies[len(c.Accuracies)-1]
		for i, v := range phi {
			row := fedarShapleyRow{Stale: c.Stale, Seed: c.Seed, Client: i, Shapley: v, Without: none, With: all}
			if sum := all - none; sum != 0 {
				row.Share = files.Some(v / sum)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// fedarShapleyFigure draws two charts against the staleness: the Shapley value of client 0 beside the mean of the other
// clients, in percentage points of test accuracy with a band over the seeds, and the share of client 0. The share is
// computed from the means over the seeds, because the share of one seed means little if its clients add almost nothing.
func fedarShapleyFigure(title string, rows []fedarShapleyRow) plot.Figure {
	values := plot.LineChart{XLabel: "rounds client 0 is away", YLabel: "Shapley value (points of test accuracy)"}
	shares := plot.LineChart{XLabel: "rounds client 0 is away", YLabel: "share of all clients' (%)"}
	stale, others := plot.Series{Name: "client 0"}, plot.Series{Name: "mean of the others"}
	share := plot.Series{Name: "client 0"}
	for _, l := range shapleyLevels(rows) {
		mean := stats.Mean(l.own)
		stale.AddPoint(l.stale, mean, stats.SampleStd(l.own), 100)
		others.AddPoint(l.stale, stats.Mean(l.rest), files.Optional{}, 100)
		if l.total != 0 {
			share.AddPoint(l.stale, files.Some(mean.Value*float64(len(l.own))/l.total), files.Optional{}, 100)
		}
	}
	values.Series, shares.Series = []plot.Series{stale, others}, []plot.Series{share}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{values, shares}}}
}

// shapleyLevel has the Shapley values of all seeds at one level of staleness.
type shapleyLevel struct {
	stale     int
	own, rest []float64 // of client 0, and of the other clients
	total     float64   // the sum of all
}

func shapleyLevels(rows []fedarShapleyRow) (levels []shapleyLevel) {
	stales, groups := results.Grouped(rows, func(r fedarShapleyRow) int { return r.Stale })
	for _, stale := range stales {
		l := shapleyLevel{stale: stale}
		for _, r := range groups[stale] {
			if r.Client == 0 {
				l.own = append(l.own, r.Shapley)
			} else {
				l.rest = append(l.rest, r.Shapley)
			}
			l.total += r.Shapley
		}
		levels = append(levels, l)
	}
	return levels
}

// shapleyWords returns the share of client 0 at each level, over all seeds: "stale 3: 12.1 %".
func shapleyWords(rows []fedarShapleyRow) (words []string) {
	for _, l := range shapleyLevels(rows) {
		name := fmt.Sprintf("stale %d", l.stale)
		if l.stale == 0 {
			name = "fresh"
		}
		words = append(words, fmt.Sprintf("%s: %.1f %%", name, 100*stats.Mean(l.own).Value*float64(len(l.own))/l.total))
	}
	return words
}

// fedarF2 shows the learning curves of all methods on both data sets, for two p_min.
var fedarF2 = Figure{
	ID: "fedar-f2", Title: "FedAR, Figure 2: training loss and test accuracy",
	Measure: Curves{Train: true}, Runs: runsIn(fedarColumns("0.1", "0.5"), fedarMethods...), Preset: "paper",
	Seeds:  fedarSeeds,
	Rounds: fedarRounds, Draw: drawn(fedarCurveRows, fedarCurveFigure),
	Says: []Sentence[Measured]{
		{
			"FedAR is ahead of all baselines (taken as: test accuracy, mean of the last 50 rounds)", "6.2",
			isAhead("fedar", lateAccuracy),
		},
		{"44 % on CIFAR-10 at p_min = 0.1", "6.2", reaches("cifar10, p-min=0.1", 44, false)},
		{"46 % on CIFAR-10 at p_min = 0.5", "6.2", reaches("cifar10, p-min=0.5", 46, false)},
		{"over 70 % on SVHN at p_min = 0.1", "6.2", reaches("svhn, p-min=0.1", 70, true)},
	},
}

// reaches returns a question: is FedAR's mean test accuracy over the last 50 rounds, in percent, this number, or
// over it, in one panel?
func reaches(place string, percent float64, over bool) func(m Measured) Answer {
	return func(m Measured) Answer {
		for i := range m.Lines {
			l := &m.Lines[i]
			values := l.points(lateAccuracy)
			if l.Method != "fedar" || l.place() != place || len(values) == 0 {
				continue
			}
			ours := stats.EstimateOf(values)
			words := fmt.Sprintf("%.1f %%", ours.Mean)
			if over {
				ours.Mean -= percent
				return ahead([]stats.Estimate{ours}, words)
			}
			o := judge.Numbers(ours, stats.Estimate{Mean: percent}, judge.Within(1))
			return Answer{Verdict: o.Verdict, Seeds: o.Seeds, Ours: words}
		}
		return Answer{Verdict: judge.Untold}
	}
}

// fedarCurveRow is one evaluated round of a method in one panel (FedAR, figure 2).
type fedarCurveRow struct {
	Data   string `csv:"data"`
	Set    string `csv:"set"` // the setting that distinguishes the panels of a data set: p-min=0.5
	Method string `csv:"method"`
	lossAndAccuracy
}

// fedarCurveRows returns the rounds in which every seed was evaluated, line by line.
func fedarCurveRows(m Measured) (rows []fedarCurveRow, err error) {
	for _, line := range m.Lines {
		for _, x := range lossesAndAccuracies(line.Curves) {
			rows = append(rows, fedarCurveRow{line.Data, line.Set.Words(" "), line.Method, x})
		}
	}
	return rows, nil
}

// fedarCurveFigure draws a row of charts for each data set and setting, with the training loss on the left and the test
// accuracy on the right.
func fedarCurveFigure(title string, rows []fedarCurveRow) plot.Figure {
	place := func(r fedarCurveRow) string {
		if r.Set == "" {
			return r.Data
		}
		return r.Data + ", " + r.Set
	}
	return plot.Figure{
		Title: title, PanelHeight: 230,
		Panels: sideBySide(rows, place, func(r fedarCurveRow) string { return r.Method }, [2]side[fedarCurveRow]{
			{plot.LineChart{XLabel: "round", YLabel: "training loss"}, func(s *plot.Series, r fedarCurveRow) {
				s.Point(float64(r.Round), r.TrainLoss, r.TrainLossStd, 1)
			}},
			{plot.LineChart{XLabel: "round", YLabel: "test accuracy (%)"}, func(s *plot.Series, r fedarCurveRow) {
				s.Point(float64(r.Round), r.TestAcc, r.TestAccStd, 100)
			}},
		}),
	}
}

// fedarF3 shows how the accuracies of the clients are distributed, for the methods of Table 3.
var fedarF3 = Figure{
	ID: "fedar-f3", Title: "FedAR, Figure 3: accuracy over the clients, CIFAR-10, p_min = 0.1",
	Measure: Curves{}, Runs: runs(withEverybody(fedar("cifar10")), fedar3.Methods...),
	Preset: "paper", Seeds: fedarSeeds, Rounds: fedarRounds,
	Draw: drawn(fedarDistributionRows, fedarDistributionFigure),
	Says: []Sentence[Measured]{
		{
			"FedAR has more clients of 40 % and above than MIFA", fedarBias,
			moreClients("mifa", func(accuracy float64) bool { return accuracy >= 0.4 }),
		},
		{
			"FedAR has more clients between 25 % and 65 % than FedVARP (the paper: a larger density there)", fedarBias,
			moreClients("fedvarp", func(accuracy float64) bool { return accuracy > 0.25 && accuracy < 0.65 }),
		},
	},
}

// fedarBias is where FedAR speaks of table 3 and figure 3.
const fedarBias = "6.2, bias mitigation"

// moreClients returns a question: has FedAR more clients whose accuracy, a fraction, is counted than another method?
func moreClients(other string, counted func(accuracy float64) bool) func(m Measured) Answer {
	return func(m Measured) Answer {
		count := func(method string) (bySeed []float64) {
			for _, line := range m.Lines {
				for _, clients := range line.Clients {
					if line.Method != method {
						continue
					}
					n := 0.0
					for _, c := range clients {
						if counted(c.Accuracy) {
							n++
						}
					}
					bySeed = append(bySeed, n)
				}
			}
			return bySeed
		}
		d := differences(count("fedar"), count(other))
		if d.N == 0 {
			return Answer{Verdict: judge.Untold}
		}
		return ahead([]stats.Estimate{d}, fmt.Sprintf("%+.1f clients", d.Mean))
	}
}

// fedarBins is the number of bins for accuracies of clients in [0, 1].
const fedarBins = 25

// fedarDistributionRow is one bin of a method's accuracies over the clients (FedAR, figure 3).
type fedarDistributionRow struct {
	Method  string  `csv:"method"`
	Low     float64 `csv:"low"`     // smallest accuracy in the bin, a fraction
	High    float64 `csv:"high"`    // exclusive, except in the last bin
	Clients float64 `csv:"clients"` // number in the bin, mean over the seeds
	Density float64 `csv:"density"` // estimated density in the middle of the bin, see [fedarDistributionRows]
	N       int     `csv:"n"`       // seeds
}

// fedarDistributionRows counts the clients of each line by accuracy, and estimates the probability density of their
// accuracies with normal kernels. The paper does not say how it estimated the density. Here the kernels have
// Silverman's width 1.06 σ n^(−1/5), where n is the number of clients of one seed [inferred].
func fedarDistributionRows(m Measured) ([]fedarDistributionRow, error) {
	var rows []fedarDistributionRow
	for _, line := range m.Lines {
		var x []float64
		for _, clients := range line.Clients {
			for _, c := range clients {
				x = append(x, c.Accuracy)
			}
		}
		if len(x) == 0 {
			return nil, fmt.Errorf("results: %s on %s: no clients, want one at least", line.Method, line.Data)
		}
		bins, err := plot.Bins(x, 0, 1, fedarBins)
		if err != nil {
			return nil, err
		}
		width := 1.06 * stats.SampleStd(x).Value * math.Pow(float64(len(line.Clients[0])), -0.2)
		for _, b := range bins {
			seeds := float64(len(line.Clients))
			rows = append(rows, fedarDistributionRow{
				line.Method, b.Low, b.High, float64(b.Count) / seeds,
				density(x, (b.Low+b.High)/2, width), len(line.Clients),
			})
		}
	}
	return rows, nil
}

// density returns the kernel estimate of the density of x at a point; 0 if the width is 0, as all values are equal.
func density(x []float64, at, width float64) float64 {
	if width == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		z := (v - at) / width
		sum += math.Exp(-z * z / 2)
	}
	return sum / (float64(len(x)) * width * math.Sqrt(2*math.Pi))
}

// fedarDistributionFigure draws the counts as steps in one chart, and the densities as lines in another.
func fedarDistributionFigure(title string, rows []fedarDistributionRow) plot.Figure {
	chart := func(what string, add func(s *plot.Series, r fedarDistributionRow)) plot.LineChart {
		return plot.LineChart{
			XLabel: "accuracy of a client (%)", YLabel: what, YMin: files.Some(0),
			Series: lines(rows, func(r fedarDistributionRow) string { return r.Method }, add),
		}
	}
	return plot.Figure{Title: title, Panels: [][]plot.Chart{{
		chart("clients", func(s *plot.Series, r fedarDistributionRow) {
			s.X, s.Y, s.Step = append(s.X, 100*r.Low), append(s.Y, r.Clients), true
		}),
		chart("probability density", func(s *plot.Series, r fedarDistributionRow) {
			s.X, s.Y = append(s.X, 50*(r.Low+r.High)), append(s.Y, r.Density)
		}),
	}}}
}

// FedAR's figures 4 and 5 are sweeps over one setting each.
var (
	fedarF4 = Figure{
		ID: "fedar-f4", Title: "FedAR, Figure 4: smallest availability p_min, CIFAR-10", Axis: "p_min",
		Measure: Curves{}, Runs: overSetting("p-min", 0.1, 0.2, 0.3, 0.4, 0.5), Preset: "paper", Seeds: fedarSeeds,
		Rounds: fedarRounds, Draw: drawFinalLossAndAccuracy,
		Says: []Sentence[Measured]{
			{"FedAR is ahead of all baselines at every p_min", fedarParameters, isAhead("fedar", lateAccuracy)},
			{
				"FedAR gains as p_min grows (taken as: from the smallest to the largest)", fedarParameters,
				changes{series: "fedar", number: lateAccuracy, rises: true}.ask,
			},
		},
	}
	fedarF5 = Figure{
		ID: "fedar-f5", Title: "FedAR, Figure 5: number of clients N, CIFAR-10, p_min = 0.1", Axis: "N",
		Measure: Curves{}, Runs: overSetting("clients", 80, 90, 100, 110, 120), Preset: "paper", Seeds: fedarSeeds,
		Rounds: fedarRounds, Draw: drawFinalLossAndAccuracy,
		Says: []Sentence[Measured]{
			{
				"the test accuracy of all methods falls as N grows (taken as: from the smallest to the largest)",
				fedarParameters, changes{number: lateAccuracy}.ask,
			},
			{"FedAR is ahead of all baselines at every N", fedarParameters, isAhead("fedar", lateAccuracy)},
		},
	}
)

// fedarParameters is where FedAR speaks of figures 4 and 5.
const fedarParameters = "6.2, hyperparameters"

// overSetting returns the runs of figures 4 and 5, with a column for each value of a flag. The paper leaves FedAvg(S)
// out of both figures.
func overSetting(flag string, values ...float64) (list []Training) {
	for _, x := range values {
		column := fedar("cifar10", results.Params(fmt.Sprintf("%s=%g", flag, x)))
		list = append(list, at(x, runs(column, "fedar", "mifa", "fedvarp", "fedavg-is", "scaffold"))...)
	}
	return list
}

// drawFinalLossAndAccuracy draws the means of training loss and test accuracy over the last rounds, against the X.
var drawFinalLossAndAccuracy = drawn(fedarFinalRows, sweepFigure(map[string]string{
	string(metrics.TrainLoss): "training loss", string(metrics.TestAcc): "test accuracy (%)",
}))

// fedarFinalRows returns training loss and test accuracy of each line: means over the last rounds of a run, averaged
// over the seeds (FedAR, figures 4 and 5).
func fedarFinalRows(m Measured) (rows []sweepRow, err error) {
	for _, metric := range []metrics.Metric{metrics.TrainLoss, metrics.TestAcc} {
		for _, line := range m.Lines {
			e, err := protocol.OverSeeds(line.Curves, results.ProtocolRounds, metric)
			if err != nil {
				return nil, fmt.Errorf("%s at %s %g: %w", line.Method, m.Figure.Axis, line.X, err)
			}
			last := line.Curves[0][len(line.Curves[0])-1].Round
			rows = append(rows, sweepRow{
				string(metric), line.Method, line.Method, m.Figure.Axis, line.X, last, e.N, e.Mean, e.Std,
			})
		}
	}
	return rows, nil
}
