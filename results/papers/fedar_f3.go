package papers

import (
	"fmt"
	"math"

	"rollcall/internal/files"
	"rollcall/results/plot"
	"rollcall/results/stats"
)

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
func moreClients(other string, counted func(accuracy float64) bool) func(m Measured) (Answer, string) {
	return func(m Measured) (Answer, string) {
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
			return Untold, ""
		}
		return isAhead(d), fmt.Sprintf("%+.1f clients", d.Mean)
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
		// Bins count clients; the density is evaluated in the middle of each bin.
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
