package settings

import (
	"iter"
	"math"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/papers"
)

// Settings is everything that decides what a run computes, except for the run's seed; both together name the run.
// [Rows] has the meaning of each field, its range and its default.
type Settings struct {
	Method, Preset, Data, Net, Init, Availability string

	Draws   string // generator of split and availability: philox or numpy
	Clients int    // N

	// How the local steps train, and the server.
	Rounds      int            // T
	LocalSteps  int            // E
	LocalEpochs files.Optional // in place of local steps; none: local steps
	Batch       int            // B
	LR          float64        // η_0
	LRSchedule  string         // decay or constant
	ServerLR    float64        // η_g
	Weights     string         // target importance: equal or size
	Augment     string         // batch, sample or none
	Clip        files.Optional // largest norm of a local gradient
	Decay       float64        // weight decay of the local steps
	Momentum    float64        // momentum of the local steps

	InitFrom string // file with the initial weights, in place of Init; empty: none; its content names the run
	InitSum  string // SHA-256 of that file, set by [Settings.ReadInit]

	DataSettings
	AvailabilitySettings
	OwnSeeds

	OfMethods algos.Values // parameters of methods; a missing one has its default

	EvalEvery       int
	EvalLast        files.Optional // evaluate every so many of the last 50 rounds; none: as EvalEvery says
	EvalTrain       bool           // evaluate on the training set as well
	EvalTrainRounds string         // all or last: at every evaluation, or in the last 50 rounds
}

// DataSettings say what generated data are like, and how samples are split among the clients.
type DataSettings struct {
	Split     string  // kind of split
	SplitFile string  // CSV of who has which sample, for the split file; its content names the run
	SplitSum  string  // SHA-256 of that file, set by [Settings.ReadSplit]
	Alpha     float64 // parameter of the Dirichlet split
	LeafGamma float64 // γ of LEAF's synthetic data
	LeafDelta float64 // δ of LEAF's synthetic data

	LeafAugmentation bool // LEAF's more available clients have ten times as many samples as the others
	LeafIID          bool // all of LEAF's clients share one model
	LeafShared       bool // LEAF's clients have models around a shared one

	SwapPairs  int     // pairs of labels swapped at every second client; 0: all labels are true
	Validation float64 // share of each client's samples that it does not train on
	HoldOut    float64 // share of all training samples that stand in for the test set; 0: the test set itself
	TrainSize  int     // training samples: of the synthetic images, or drawn from the others; 0: all of these
	TestSize   int     // test samples, likewise
}

// AvailabilitySettings say when the clients are available.
type AvailabilitySettings struct {
	Period       int            // P of FedAWE's models, in rounds
	Gamma        float64        // amplitude of the sine
	Cutoff       float64        // δ_0 of the interleaved sine
	Low          float64        // factor of the staircase's lower step
	P            files.Optional // p_i of every client; none: from the classes it holds
	G            float64        // the chains' π is 1/2 ± g
	Nu           float64        // λ of the correlated clients
	Epsilon      float64        // spread of the λ of the other clients
	Classes      string         // of markov: exact or drawn
	Clusters     int            // groups of clients that share a chain
	PMin         float64        // smallest availability of the uniform model
	Q            float64        // probability of markov-q that a client comes back
	Turns        int            // groups of periodic
	On           int            // rounds of a turn of periodic
	Sigma        float64        // σ of the log-normal models
	SizePower    float64        // exponent of data-size
	Chain        string         // CSV of chains; its content names the run
	ChainSum     string         // SHA-256 of the chains, set by [Settings.ReadChain]
	ChainSample  files.Optional // clients that draw their chain; none: client i has row i
	Trace        string         // file of who is there when; its content names the run
	TraceSum     string         // SHA-256 of the trace, set by [Settings.ReadTrace]
	TraceFormat  string         // auto, or one of [trace.Formats]
	TraceSample  files.Optional // clients drawn from those of the trace; none: all
	TraceOffset  float64        // where round 0 is in the trace
	TraceEnd     string         // for a run that is longer than its trace: error, repeat, stop or empty
	RoundSeconds files.Optional // seconds per round of the trace; none: the trace counts rounds
	Population   string         // who belongs to the federation when, or none
	Separation   int            // rounds for which a client is away after each round with it
	Outages      string         // groups of clients that fail together, or none

	traceNotes string // what a reader of the trace's file should know, a line each

	Stopped int // the rounds that were asked for, if the trace ends the run before them; 0: it does not
}

// Get returns a setting as text, by the name of its flag; "" if there is no such setting.
func (s *Settings) Get(name string) string {
	if r := rowOf(name); r != nil {
		return r.text(s)
	}
	return ""
}

// Set sets one setting, by the name of its flag, to the value that a command line would give. [Settings.Validate]
// checks whether the value is possible.
func (s *Settings) Set(name, value string) error {
	r := rowOf(name)
	if r == nil {
		return Usagef("--%s: unknown setting", name)
	}
	if name == "split" {
		switch path, is := strings.CutPrefix(value, splitFile+":"); {
		case is:
			s.SplitFile, value = path, splitFile
		case value != splitFile:
			s.SplitFile = ""
		}
	}
	if err := r.set(s, value); err != nil {
		return Usagef("--%s %s: %w", name, value, err)
	}
	return nil
}

// Apply puts the settings of a table or figure into s, except for those that this run does not read.
func (s *Settings) Apply(list iter.Seq2[string, string]) error {
	whole := *s
	for _, to := range []*Settings{&whole, s} { // the first pass sets all, to know which ones the run reads
		for name, value := range list {
			if _, ok := whole.Uses(name); to == s && !ok {
				continue
			}
			if value == papers.OneByRounds { // 1/T of this run, which may have other rounds than the paper's
				value = decimal(1 / float64(s.Rounds))
			}
			if err := to.Set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Values returns all settings as text, by the name of their flag.
func (s *Settings) Values() map[string]string {
	values := map[string]string{}
	for _, r := range rows() {
		values[r.Name] = r.text(s)
	}
	return values
}

// Params returns the settings that differ from the preset's and have no column of their own, sorted by name.
func (s *Settings) Params() results.Params {
	base, err := Defaults(s.Method, s.Preset, s.Data)
	if err != nil { // an unknown method, preset or data set, which Validate refuses
		return ""
	}
	was, is := base.Values(), s.Values()
	var differ []string
	for name := range is {
		if r := rowOf(name); was[name] != is[name] && !r.Column && !r.Apart {
			differ = append(differ, name+"="+is[name])
		}
	}
	slices.Sort(differ)
	return results.NewParams(differ...)
}

// Setup returns the cell of a table that has these settings.
func (s *Settings) Setup(table string) results.Setup {
	c := results.Setup{
		Table: table, Method: s.Method, Preset: s.Preset, Data: s.Data, Net: s.Net, Availability: s.Availability,
		Clients: s.Clients,
	}
	if s.TakesAlpha() {
		c.Alpha = files.Some(s.Alpha)
	}
	return c
}

// MaxNorm returns the largest norm of a local gradient; nil: gradients are not clipped.
func (s *Settings) MaxNorm() *float64 {
	if !s.Clip.Valid {
		return nil
	}
	return &s.Clip.Value
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

// Evaluates reports whether the model is evaluated after this many rounds.
func (s *Settings) Evaluates(round int) bool {
	return results.Evaluated(round, s.Rounds, s.EvalEvery, int(s.EvalLast.Or(0)))
}

// EvaluatesTrain reports whether it is evaluated on the training set as well.
func (s *Settings) EvaluatesTrain(round int) bool {
	return s.EvalTrain && s.Evaluates(round) &&
		(s.EvalTrainRounds != EvalTrainLast || results.AmongLast(round, s.Rounds))
}

// Rate returns the local learning rate η_t of round t, counted from 0.
func (s *Settings) Rate(t int) float64 {
	if s.LRSchedule == "decay" {
		return algos.DecayedLR(s.LR, t)
	}
	return s.LR
}

// divergedBy is how many times the first loss of a run makes it one that has diverged.
const divergedBy = 1e6

// Diverged reports whether a loss is that of a run that has diverged, given the run's first one: it is no finite
// number, or above 1e6 times the larger of the first loss and ln(classes), the loss of a model that knows nothing.
func (s *Settings) Diverged(loss, first float64) bool {
	net, err := s.Model()
	return err == nil && !(loss <= divergedBy*max(first, math.Log(float64(net.Classes)))) || math.IsInf(loss, 0)
}

// AvailabilityOptions returns the options of the availability model for clients with these p_i [N]. The caller adds
// seed, groups, sizes, and the content of a file.
func (s *Settings) AvailabilityOptions(base []float64) availability.Options {
	o := availability.Options{
		Base: base, Period: s.Period, Gamma: s.Gamma, Cutoff: s.Cutoff, Low: s.Low,
		Form: availability.Form(algos.Preset(s.Preset).Reading()), G: s.G, Nu: s.Nu,
		Epsilon: s.Epsilon, Drawn: s.Classes == classesDrawn, Clusters: s.Clusters, PMin: s.PMin,
		Q: s.Q, Turns: s.Turns, On: s.On, Sigma: s.Sigma, SizePower: s.SizePower,
		Draw:   s.ChainSample.Valid || s.TraceSample.Valid,
		Repeat: s.TraceEnd == traceEndRepeat, Rounds: s.Rounds,
	}
	if s.Population != none {
		o.Population = s.Population
	}
	if s.independent() {
		o.Separation = s.Separation
		if s.Outages != none {
			o.Outages = s.Outages
		}
	}
	return o
}
