package papers

import (
	"slices"

	"rollcall/internal/files"
	"rollcall/results/plot"
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

// runs returns the runs of several methods in one column.
func runs(c Column, methods ...string) (list []Training) {
	for _, m := range methods {
		list = append(list, Training{Method: m, Column: c, Series: m})
	}
	return list
}

// runsIn returns the runs of the methods in every column.
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
	Processes []string
	Base      []float64 // p_i of each client
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
func (EstimatorErrors) Takes() []string { return []string{"seeds", "preset", "rounds", "clients"} }

// Takes implements [Measure].
func (Coalitions) Takes() []string { return []string{"seeds", "rounds", "clients"} }

// FigureFlags returns the flags that the command offers for all figures. Some figures ignore some of them.
func FigureFlags() []string {
	return []string{"data", "methods", "column", "seeds", "preset", "draws", "rounds", "clients", "eval-every"}
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

// option returns the value of an option of the figure.
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
	Says   []Statement // what the paper says about the figure, beside ours; nil: nothing
	Words  string      // lines of text for the terminal
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

// figures are the figures of all papers.
var figures = saying(slices.Concat(fedaweFigures, cafedFigures, fedarFigures))

// Figures returns all figures, paper by paper.
func Figures() []Figure { return slices.Clone(figures) }

// FigureNames returns the ids of all figures: fedawe-f2, …
func FigureNames() []string { return ids(figures, figureID) }

// FigureByID returns the figure with an id. The error lists the known ids.
func FigureByID(id string) (Figure, error) { return byID("figure", id, figures, figureID) }

// figureID returns the id of a figure, for [ids] and [byID].
func figureID(f Figure) string { return f.ID }
