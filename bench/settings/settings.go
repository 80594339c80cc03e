package settings

import (
	"iter"
	"slices"

	"rollcall/algos"
	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/papers"
)

// Settings is everything that decides what a run computes; together with the seed it names the run. [Rows] says of each
// field what it means.
type Settings struct {
	Method, Preset, Data, Net, Init, Availability string

	Draws   string // where split and availability come from
	Clients int    // N

	// How the local steps train, and the server.
	Rounds      int      // T
	LocalSteps  int      // E
	LocalEpochs Optional // in place of steps; none: steps
	Batch       int      // B
	LR          float64  // η_0
	LRSchedule  string   // decay or constant
	ServerLR    float64  // η_g
	Weights     string   // target importance: equal or size
	Augment     string   // batch, sample or none
	Clip        Optional // largest norm of a local gradient
	Decay       float64  // of the weights, in the local steps
	Momentum    float64  // of the local steps

	InitFrom string // file of the initial weights, in place of Init; empty: none; its content names the run
	InitSum  string // SHA-256 of that file, set by [Settings.ReadInit]

	DataSettings
	ProcessSettings

	OfMethods algos.Values // parameters of methods; one that is not there has its default

	EvalEvery int
	EvalLast  Optional // every so many rounds among the last 50
	EvalTrain bool
}

// DataSettings say what generated data are like, and how samples come to clients.
type DataSettings struct {
	Split      string  // how samples are cut
	Alpha      float64 // of the Dirichlet split
	LeafGamma  float64 // γ of LEAF's synthetic data
	LeafDelta  float64 // δ
	SwapPairs  int     // pairs of labels swapped at every second client; 0: all labels are true
	Validation float64 // share of each client's samples that is not trained on
	TrainSize  int     // of the synthetic data
	TestSize   int
}

// ProcessSettings say when the clients are there.
type ProcessSettings struct {
	Period       int      // P of FedAWE's processes
	Gamma        float64  // of the sine
	Cutoff       float64  // δ_0 of the interleaved sine
	Low          float64  // step of the staircase
	P            Optional // p_i of every client; none: from the classes it holds
	G            float64  // of the Markov chains' π
	Nu           float64  // λ of the correlated ones
	Epsilon      float64  // spread of the λ of the others
	Clusters     int      // that share a chain
	PMin         float64  // of the uniform process
	Trace        string   // CSV of intervals; its content names the run
	TraceSum     string   // SHA-256 of the trace, set by [Settings.ReadTrace]
	TraceEnd     string   // what a run is that is longer than its trace: error, repeat, stop or empty
	RoundSeconds Optional

	Stopped int // rounds that were asked for, where the trace stops the run before them; 0: it does not
}

// Get returns a setting as text, by the name of its flag; "" if there is none of that name.
func (s *Settings) Get(name string) string {
	if r := rowOf(name); r != nil {
		return r.text(s)
	}
	return ""
}

// Set gives one setting, by the name of its flag, the value a command line would. Whether the value is possible is for
// [Settings.Validate] to say.
func (s *Settings) Set(name, value string) error {
	r := rowOf(name)
	if r == nil {
		return Usagef("--%s: unknown setting", name)
	}
	if err := r.set(s, value); err != nil {
		return Usagef("--%s %s: %w", name, value, err)
	}
	return nil
}

// Apply puts settings of a table or figure into s, but for those this run has no use for.
func (s *Settings) Apply(list iter.Seq2[string, string]) error {
	whole := *s
	for _, to := range []*Settings{&whole, s} { // which settings are of use is known once all are set
		for name, value := range list {
			if _, ok := whole.Uses(name); to == s && !ok {
				continue
			}
			if value == papers.OneByRounds {
				value = decimal(1 / float64(s.Rounds))
			}
			if err := to.Set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Values returns every setting as text, by the name of its flag.
func (s *Settings) Values() map[string]string {
	values := map[string]string{}
	for i := range rows {
		values[rows[i].Name] = rows[i].text(s)
	}
	return values
}

// Params returns the settings that differ from the preset and have no column of their own, sorted.
func (s *Settings) Params() results.Params {
	base, err := Defaults(s.Method, s.Preset, s.Data)
	if err != nil {
		return ""
	}
	was, is := base.Values(), s.Values()
	var differ []string
	for name := range is {
		if was[name] != is[name] && !rowOf(name).Column {
			differ = append(differ, name+"="+is[name])
		}
	}
	slices.Sort(differ)
	return results.NewParams(differ...)
}

// Cell names the cell of a table these settings are.
func (s *Settings) Cell(table string) results.Cell {
	c := results.Cell{
		Table: table, Method: s.Method, Preset: s.Preset, Data: s.Data, Net: s.Net, Availability: s.Availability,
		Clients: s.Clients,
	}
	if s.TakesAlpha() {
		c.Alpha = files.Some(s.Alpha)
	}
	return c
}

// MethodOptions returns the parameters of the run's method.
func (s *Settings) MethodOptions() algos.Options {
	o := algos.Options{Preset: algos.Preset(s.Preset), Values: algos.Values{}}
	for _, p := range algos.Params() {
		if slices.Contains(p.Methods(), s.Method) {
			o.Values[p.Name] = s.Get(p.Name)
		}
	}
	return o
}
