package papers

import (
	"slices"

	"rollcall/results/files"
	"rollcall/results/plot"
)

// Figure is one figure of a paper.
type Figure struct {
	ID      string
	Title   string
	Measure Measure // what has to be measured before it can be drawn
	Runs    []Run   // what is trained; none: nothing is
	Seeds   []uint32
	Rounds  int      // of the runs, or shown where there are none
	Axis    string   // what the runs' X is
	Preset  string   // where none is asked for; empty: code
	Options []Option // flags of its own
	OneSeed bool     // it shows a single run of each line, however many seeds there are

	Draw func(m Measured) (Drawing, error)
}

// Run is one learning curve of a figure: what is trained with every seed.
type Run struct {
	Method string
	Column
	Series string  // its name in the legend; empty: not in one
	X      float64 // its place, where the figure has several for a series
}

// runs are the methods in one column.
func runs(c Column, methods ...string) (list []Run) {
	for _, m := range methods {
		list = append(list, Run{Method: m, Column: c, Series: m})
	}
	return list
}

// runsIn are the methods in every column.
func runsIn(columns []Column, methods ...string) (list []Run) {
	for _, c := range columns {
		list = append(list, runs(c, methods...)...)
	}
	return list
}

// at places runs.
func at(x float64, list []Run) []Run {
	for i := range list {
		list[i].X = x
	}
	return list
}

// Option is a flag of `rollcall figure` that one figure has of its own.
type Option struct {
	Name    string
	Default any // a float64 or a bool: the kind of all its values
	Help    string
	Check   func(value any) error // returns what is wanted in place of a value; nil: every value will do
}

// Measure says what a figure measures: one of [Nothing], [Curves], [BaseAvailability], [Trajectories],
// [EstimatorErrors] and [Coalitions].
type Measure interface {
	// Takes returns which of the flags that all figures have make a difference to what is measured.
	Takes() []string
}

// Nothing is measured: the figure is computed.
type Nothing struct{}

// Curves are trained: [Measured.Lines].
type Curves struct {
	Decisions bool // with what the methods made of every client in every round
}

// BaseAvailability is the availability of every client from the classes that it holds: [Measured.Base].
type BaseAvailability struct {
	Method string // as whose paper splits
	Data   string // where none is asked for
}

// Trajectories are the availability of clients and draws of it, round by round: [Measured.Paths].
type Trajectories struct {
	Processes []string
	Base      []float64 // p_i of each client
}

// EstimatorErrors are how far π̂ and λ̂ are from the truth when their prior is of X rounds: [Measured.Errors].
type EstimatorErrors struct{}

// Coalitions are the accuracies of the models of all sets of clients, when client 0 is away in the last 0 … MostStale
// rounds: [Measured.Coalitions].
type Coalitions struct{ MostStale int }

// Takes implements [Measure].
func (Nothing) Takes() []string { return nil }

// Takes implements [Measure].
func (Curves) Takes() []string { return FigureFlags() }

// Takes implements [Measure].
func (BaseAvailability) Takes() []string { return []string{"data", "seeds", "clients"} }

// Takes implements [Measure].
func (Trajectories) Takes() []string { return []string{"seeds", "rounds"} }

// Takes implements [Measure].
func (EstimatorErrors) Takes() []string { return []string{"seeds", "preset", "rounds", "clients"} }

// Takes implements [Measure].
func (Coalitions) Takes() []string { return []string{"seeds", "rounds", "clients"} }

// FigureFlags returns the flags that all figures have, of which some make no difference to some.
func FigureFlags() []string {
	return []string{"data", "methods", "seeds", "preset", "rounds", "clients", "eval-every"}
}

// Measured is a figure and what was measured for it.
type Measured struct {
	Figure     Figure         // its seeds and rounds those that were asked for
	Options    map[string]any // of the figure, by name; those that are not there have their defaults
	Lines      []Line
	Base       []float64
	Paths      []FedAWEF6Row
	Errors     []EstimatorError
	Coalitions []Coalition
}

// Line is a learning curve of a figure: one method in one column, with every seed.
type Line struct {
	Run
	Runs
}

// EstimatorError is how far the estimators are from the truth at X.
type EstimatorError struct {
	X          float64
	Round      int       // after which; 0: from the history alone
	Pi, Lambda []float64 // mean over the clients of |π̂ − π| and |λ̂ − λ|, by seed
}

// Coalition has the test accuracies of the models of all sets of clients.
type Coalition struct {
	Stale      int // last rounds in which client 0 is away
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

// Drawing is a figure that is drawn.
type Drawing struct {
	Rows   Rows // what is plotted
	Figure plot.Figure
	Claims Rows   // the numbers that the paper states of it, beside ours; nil: it states none
	Words  string // what else there is to say, lines
}

// Rows are rows of a CSV file.
type Rows interface {
	WriteCSV(path string) error
}

// csvRows are the rows of one type.
type csvRows[T any] []T

// WriteCSV writes the rows to a file.
func (r csvRows[T]) WriteCSV(path string) error { return files.WriteCSVFile(path, []T(r)) }

// drawing returns a figure and its rows.
func drawing[T any](rows []T, figure plot.Figure) Drawing {
	return Drawing{Rows: csvRows[T](rows), Figure: figure}
}

// figures are those of all papers.
var figures = slices.Concat(fedaweFigures, cafedFigures, fedarFigures)

// Figures returns the figures, paper by paper.
func Figures() []Figure { return slices.Clone(figures) }

// FigureNames returns the ids of the figures.
func FigureNames() []string { return ids(figures, figureID) }

// FigureByID returns a figure.
func FigureByID(id string) (Figure, error) { return byID("figure", id, figures, figureID) }

func figureID(f Figure) string { return f.ID }
