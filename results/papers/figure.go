package papers

import (
	"math"
	"slices"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/plot"
	"rollcall/results/protocol"
)

// Figure is one figure of a paper.
type Figure struct {
	ID      string
	Title   string
	Measure Measure    // the measurements that Draw needs
	Runs    []Training // the runs to train; nil for figures without training
	Seeds   []uint32
	Rounds  int      // of the runs, or the number that is shown if there are no runs
	Axis    string   // the setting whose values are the X of the runs
	Preset  string   // the default preset; empty: code
	Options []Option // flags that only this figure has
	OneSeed bool     // the figure shows one run of each line, even with several seeds
	Says    []Sentence[Measured]
	printed []printedLead

	Draw func(m Measured) (Drawing, error)
}

// Training is one line of a figure before training: a method in a column, to be trained with every seed.
type Training struct {
	Method string
	Column
	Series string  // name in the legend; empty: not in the legend
	X      float64 // value on the figure's Axis, for sweeps
}

func runs(c Column, methods ...string) (list []Training) {
	for _, m := range methods {
		list = append(list, Training{Method: m, Column: c, Series: m})
	}
	return list
}

func runsIn(columns []Column, methods ...string) (list []Training) {
	for _, c := range columns {
		list = append(list, runs(c, methods...)...)
	}
	return list
}

// at sets the X of all runs in the list, and returns the list.
func at(x float64, list []Training) []Training {
	for i := range list {
		list[i].X = x
	}
	return list
}

// Option is a flag of `rollcall figure` for one figure only.
type Option struct {
	Name    string
	Default any // a float64 or a bool; all values have the same type
	Help    string
	Check   func(value any) error // the error says which values are valid; nil: all are
}

// Measure says which measurements a figure needs: [Nothing], [Curves], [ClassShares], [BaseAvailability],
// [Trajectories], [EstimatorErrors] or [Coalitions].
type Measure interface {
	// Takes returns the flags in [FigureFlags] that change the measurements.
	Takes() []string
}

// Nothing says that a figure is computed without measurements.
type Nothing struct{}

// Curves asks for trained runs, in [Measured].Lines.
type Curves struct {
	Decisions bool // also asks for the decisions of the methods
	Train     bool // the figure shows the training set in every evaluated round
}

// ClassShares asks for the training images of each class that the split gives each client, in [Measured].Classes.
type ClassShares struct {
	Method  string // the method whose paper defines the split
	Data    string // the default data set
	Clients int    // the default number of clients
}

// BaseAvailability asks for the availability that each client has because of its classes, in [Measured].Base.
type BaseAvailability struct {
	Method string // the method whose paper defines the split
	Data   string // the default data set
}

// Trajectories asks for availabilities and sampled activity, round by round, in [Measured].Paths.
type Trajectories struct {
	Models []string
	Base   []float64 // p_i of each client
}

// EstimatorErrors asks for the errors of π̂ and λ̂ after a history of X rounds, in [Measured].Errors.
type EstimatorErrors struct{}

// Coalitions asks for the test accuracy of the model of every set of clients, in [Measured].Coalitions. Client 0 is
// away in the last 0, 1, … MostStale rounds.
type Coalitions struct{ MostStale int }

// Takes implements [Measure].
func (Nothing) Takes() []string { return nil }

// Takes implements [Measure].
func (Curves) Takes() []string { return FigureFlags() }

// Takes implements [Measure].
func (ClassShares) Takes() []string { return []string{"data", "seeds", "clients"} }

// Takes implements [Measure].
func (BaseAvailability) Takes() []string { return []string{"data", "seeds", "clients"} }

// Takes implements [Measure].
func (Trajectories) Takes() []string { return []string{"seeds", "rounds"} }

// Takes implements [Measure].
func (EstimatorErrors) Takes() []string {
	return []string{"seeds", "preset", "reading", "rounds", "clients"}
}

// Takes implements [Measure].
func (Coalitions) Takes() []string { return []string{"seeds", "rounds", "clients"} }

// FigureFlags returns the flags that the command offers for all figures. Some figures ignore some of them.
func FigureFlags() []string {
	return []string{
		"data", "methods", "column", "seeds", "preset", "reading", "draws", "rounds", "clients", "eval-every",
	}
}

// Measured is a figure with its measurements. Each kind of [Measure] fills one of the slices.
type Measured struct {
	Figure     Figure         // with the seeds and rounds of this run of the command
	Options    map[string]any // values of the figure's options, by name; missing ones have their defaults
	Lines      []Line
	Classes    [][]int // [clients][classes]
	Base       []float64
	Paths      []FedAWEF6Row
	Errors     []EstimatorError
	Coalitions []Coalition
}

// Line is one line of a figure after training: a run of the figure with the finished runs of all seeds.
type Line struct {
	Training
	Runs
}

// EstimatorError has the errors of the estimators at one X after one round.
type EstimatorError struct {
	X          float64   // rounds of the history
	Round      int       // 0: before the first round, from the history alone
	Pi, Lambda []float64 // mean over the clients of |π̂ − π| and |λ̂ − λ|, one for each seed
}

// Coalition has the test accuracy of the model of every set of clients.
type Coalition struct {
	Stale      int // number of last rounds in which client 0 is away
	Seed       uint32
	Accuracies []float64 // [2^n], see [stats.Shapley]
}

func (m *Measured) option(name string) any {
	if v, ok := m.Options[name]; ok {
		return v
	}
	i := slices.IndexFunc(m.Figure.Options, func(o Option) bool { return o.Name == name })
	return m.Figure.Options[i].Default
}

// Drawing is a figure with its numbers and words.
type Drawing struct {
	Rows   Rows // the numbers in the figure
	Figure plot.Figure
	Says   []Claim // what the paper says about the figure, beside ours; nil: nothing
	Words  string  // lines of text for the terminal
}

// Rows can write themselves as a CSV file.
type Rows interface {
	WriteCSV(path string) error
}

// csvRows implements [Rows] for a slice of structs.
type csvRows[T any] []T

// WriteCSV writes the rows to a file.
func (r csvRows[T]) WriteCSV(path string) error { return files.WriteCSVFile(path, []T(r)) }

// drawing returns a [Drawing] without words, and without what the paper says.
func drawing[T any](rows []T, figure plot.Figure) Drawing {
	return Drawing{Rows: csvRows[T](rows), Figure: figure}
}

var figures = saying(slices.Concat(fedaweFigures, cafedFigures, fedarFigures))

// Figures returns all figures, paper by paper.
func Figures() []Figure { return slices.Clone(figures) }

// FigureNames returns the ids of all figures: fedawe-f2, …
func FigureNames() []string { return ids(figures, figureID) }

// FigureByID returns the figure with an id. The error lists the known ids.
func FigureByID(id string) (Figure, error) { return byID("figure", id, figures, figureID) }

// figureID returns the id of a figure, for [ids] and [byID].
func figureID(f Figure) string { return f.ID }

// drawn returns a function that draws a figure: rowsOf computes its rows from the measurements, and figureOf draws them
// under the figure's title.
func drawn[T any](
	rowsOf func(m Measured) ([]T, error), figureOf func(title string, rows []T) plot.Figure,
) func(m Measured) (Drawing, error) {
	return func(m Measured) (Drawing, error) {
		rows, err := rowsOf(m)
		if err != nil {
			return Drawing{}, err
		}
		return drawing(rows, figureOf(m.Figure.Title, rows)), nil
	}
}

// lossAndAccuracy is one evaluated round of a method, averaged over its seeds.
type lossAndAccuracy struct {
	Round        int            `csv:"round"`
	N            int            `csv:"n"`          // seeds
	TrainLoss    float64        `csv:"train_loss"` // per sample
	TrainLossStd files.Optional `csv:"train_loss_std"`
	TestAcc      float64        `csv:"test_acc"` // fraction
	TestAccStd   files.Optional `csv:"test_acc_std"`
}

// lossesAndAccuracies returns the rounds in which every curve has both a train loss and a test accuracy.
func lossesAndAccuracies(curves [][]results.CurveRow) []lossAndAccuracy {
	loss, acc := protocol.BothMeans(curves, metrics.TrainLoss, metrics.TestAcc)
	rows := make([]lossAndAccuracy, len(loss))
	for i, l := range loss {
		rows[i] = lossAndAccuracy{l.Round, l.N, l.Mean, l.Std, acc[i].Mean, acc[i].Std}
	}
	return rows
}

// lines returns a line for each name in the rows; add appends the point of a row to its line.
func lines[T any](rows []T, name func(r T) string, add func(s *plot.Series, r T)) (all []plot.Series) {
	names, groups := results.Grouped(rows, name)
	for _, n := range names {
		s := plot.Series{Name: n}
		for _, r := range groups[n] {
			add(&s, r)
		}
		all = append(all, s)
	}
	return all
}

// charts returns one row of charts, with a chart for each key in the rows.
func charts[T any](rows []T, key func(r T) string, draw func(key string, rows []T) plot.Chart) [][]plot.Chart {
	keys, groups := results.Grouped(rows, key)
	row := make([]plot.Chart, len(keys))
	for i, k := range keys {
		row[i] = draw(k, groups[k])
	}
	return [][]plot.Chart{row}
}

// side describes the left or the right chart of [sideBySide], which adds the title, the lines and the label of the x
// axis.
type side[T any] struct {
	chart plot.LineChart
	add   func(s *plot.Series, r T) // appends the point of a row to its line
}

// sideBySide returns two charts for each place in the rows, with a line over the rounds for each name. Only the lowest
// charts get the label "round", besides those whose side has a label already.
func sideBySide[T any](rows []T, place, name func(r T) string, sides [2]side[T]) (panels [][]plot.Chart) {
	places, groups := results.Grouped(rows, place)
	for i, p := range places {
		var charts []plot.Chart
		for _, s := range sides {
			s.chart.Title, s.chart.Series = p, lines(groups[p], name, s.add)
			if i == len(places)-1 {
				s.chart.XLabel = "round"
			}
			charts = append(charts, s.chart)
		}
		panels = append(panels, charts)
	}
	return panels
}

// sweepRow is a number of a line at one value of the setting that a figure varies, averaged over the seeds (CA-Fed's
// ToN, figures 3 and 4; FedAR, figures 4 and 5).
type sweepRow struct {
	What   string         `csv:"what"` // test_acc, a fraction; pi_error, lambda_error, means over the clients
	Series string         `csv:"series"`
	Method string         `csv:"method"`
	Axis   string         `csv:"axis"`  // the setting that varies
	X      float64        `csv:"x"`     // its value
	Round  int            `csv:"round"` // after which
	N      int            `csv:"n"`     // seeds
	Mean   float64        `csv:"mean"`
	Std    files.Optional `csv:"std"`
}

// historyAxis is the only axis of a sweep that is logarithmic.
const historyAxis = "t'"

// sweepFigure returns a function that draws a panel for each number and a line for each series; labels has the label of
// the y axis for each number.
func sweepFigure(labels map[string]string) func(title string, rows []sweepRow) plot.Figure {
	return func(title string, rows []sweepRow) plot.Figure {
		axis, label, place := rows[0].Axis, rows[0].Axis, func(x float64) float64 { return x }
		if axis == historyAxis {
			label, place = "log₁₀ "+axis, math.Log10
		}
		chart := func(what string, rows []sweepRow) plot.Chart {
			scale := 1.0
			if what == string(metrics.TestAcc) {
				scale = 100
			}
			return plot.LineChart{
				XLabel: label, YLabel: labels[what],
				Series: lines(rows, func(r sweepRow) string { return r.Series },
					func(s *plot.Series, r sweepRow) { s.Point(place(r.X), r.Mean, r.Std, scale) }),
			}
		}
		return plot.Figure{Title: title, Panels: charts(rows, func(r sweepRow) string { return r.What }, chart)}
	}
}
