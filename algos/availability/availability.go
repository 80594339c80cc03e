package availability

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	recorded "rollcall/algos/availability/trace"
)

// Model is an availability model: it decides who is active in every round of a run. It knows nothing of the method that
// runs: the same name, [Options] and seed give the same trace to every method.
//
// Rounds count from 0. Probabilities and Active depend on t alone, not on the calls before: a model with a state
// computes it from round 0 on, so that a resumed run sees the same trace as an uninterrupted one. A model may
// remember the rounds it has computed, so it is used by one goroutine at a time.
type Model interface {
	// Probabilities sets p [N] to p_i^t, the marginal probability that client i is active in round t, in [0, 1]. It
	// is above 0 for the clients that are active.
	Probabilities(t int, p []float64)
	// Active returns the clients active in round t, ascending. If nobody is active, the slice is empty, not nil.
	Active(t int) []int
	// Stationary returns the long-run behaviour of each client, in new slices [N]. π_i is the share of rounds in which
	// the client is active: the mean of p_i^t over a cycle. It is 0 for a client that is never available. λ_i is the
	// second eigenvalue of its chain (ToN, (238)), 0 if its rounds are independent.
	Stationary() (pi, lambda []float64)
}

// Options holds the settings of a model; [Defaults] returns the values of the papers. A model ignores the settings
// that it does not use. All fields down to Low must be possible all the same; a field after Low is checked only by the
// models that use it.
type Options struct {
	Seed   uint32
	Base   []float64 // [N] p_i, in [0, 1]; see [Base]
	Period int       // P, rounds per cycle, at least 1
	Gamma  float64   // γ, the amplitude of the sine, in [0, 1]
	Cutoff float64   // δ_0, below which the interleaved sine is 0, in [0, 1]
	Low    float64   // the factor of the staircase in the second half of a cycle, in [0, 1]

	// For markov and clusters, the models of CA-Fed's papers.
	Form    Form    // markov: which classes of clients there are
	Drawn   bool    // markov: the clients' classes are drawn independently; else every class has its share
	G       float64 // g, the difference between π_i and 1/2, in [0, 1/2)
	Nu      float64 // ν, the λ_i of correlated clients in markov
	Epsilon float64 // ε, the spread of the λ_i of weakly correlated clients in markov, at least 0
	// markov: [N] the group of each client, from 0; every group is split into the classes; nil: one group
	Groups   []int
	Clusters int // clusters: how many clusters there are, at least 1; must divide N

	PMin float64 // uniform: p_0, in (0, 1]

	Q         float64 // markov-q: P(active | inactive), in (0, 1]
	Turns     int     // periodic: how many groups take turns, at least 1
	On        int     // periodic: rounds of a turn, at least 1
	Sigma     float64 // log-normal, log-normal-sine: σ, at least 0
	Sizes     []int   // data-size: [N] the samples of each client; nil: all have as many
	SizePower float64 // data-size: b

	Chain *ChainTable // chain: the chains of the clients, or those that they draw theirs from; see [ReadChain]
	Draw  bool        // chain: every client draws its chain from the table; trace: N of its clients are drawn

	// What any model may have besides, as factors of its p_i^t.
	Population string // arrival:a:b, departure:a:b or window:c:o:I, see population.go; "": everybody, always
	Separation int    // R rounds for which a client is away after one with it; 0 for models that are not independent
	Outages    string // o:λ_g:G, see outages.go; "": none, as it must be for models that are not independent

	Trace  *recorded.Trace // trace: of the N clients
	Repeat bool            // trace: whether it starts again after its last round; otherwise nobody is active then
	// The rounds of the run, at least 1, over which π_i is a mean if a trace, a changing population or a separation of
	// changing probabilities gives no cycle; of a trace, the rounds that it has, at most all.
	Rounds int
}

// Defaults returns the settings of the papers. FedAWE (section 7 and appendix J): P = 20, γ = 0.3, δ_0 = 0.1, low step
// 0.4. CA-Fed (ToN, section V): g = 0.4, ν = 0.9, ε = 0.01 in the paper's form, 10 clusters. FedAR: its smallest p_min,
// 0.1. IBM's code of FedAU: q = 0.05. Wang and Ji: 5 groups of 100 rounds. FLGo: σ = 0.5, b = 1. A trace is seen whole.
func Defaults(base []float64, seed uint32) Options {
	return Options{
		Seed: seed, Base: base, Period: 20, Gamma: 0.3, Cutoff: 0.1, Low: 0.4,
		Form: PaperForm, G: 0.4, Nu: 0.9, Epsilon: 0.01, Clusters: 10, PMin: 0.1,
		Q: 0.05, Turns: 5, On: 100, Sigma: 0.5, SizePower: 1, Rounds: math.MaxInt,
	}
}

// models are all models, in the order in which users see them. A revision is raised by whoever changes the draws
// of a model or the probabilities it returns, so that older runs are not taken for equal ones.
var models = []Definition{
	{
		Name: "stationary", revision: 1, FromClasses: true, Independent: true, make: stationary,
		Brief:   "the same probability in all rounds",
		Formula: "p_i^t = p_i",
		Paper:   fedAWE,
	},
	{
		Name: "staircase", revision: 1, FromClasses: true, Independent: true, make: staircase,
		Brief:   "less in the second half of every cycle",
		Formula: "p_i^t = p_i in the first P/2 rounds of every P (--period), --low·p_i in the others",
		Paper:   fedAWE,
	},
	{
		Name: "sine", revision: 1, FromClasses: true, Independent: true, make: sine,
		Brief:   "a probability that goes up and down",
		Formula: "p_i^t = p_i·(γ·sin(2πt/P) + 1 − γ), γ is --gamma, P --period",
		Paper:   fedAWE,
	},
	{
		Name: "interleaved-sine", revision: 1, FromClasses: true, Independent: true, make: interleavedSine,
		Brief:   "sine, and nobody whose probability is small",
		Formula: "p_i^t = p_i·(γ·sin(2πt/P) + 1 − γ), 0 where that is below --cutoff; γ is --gamma, P --period",
		Paper:   fedAWE,
	},
	{
		Name: "markov", revision: 1, make: markov,
		Brief:   "a chain for every client, active or not, of a few classes",
		Formula: "P(active | active) = λ_i + (1−λ_i)·π_i, P(active | inactive) = (1−λ_i)·π_i, π_i = 1/2 ± g",
		Paper:   caFed,
	},
	{
		Name: "clusters", revision: 1, make: clusters,
		Brief:   "groups of clients that share a chain, and come and go together",
		Formula: "as markov, one chain for cluster c of C: π = 1/2 + g, λ = 0 if c < C/2, else π = 1/2 − g, λ = c/C",
		Paper:   caFed,
	},
	{
		Name: "uniform", revision: 1, Independent: true, make: uniform,
		Brief:   "probabilities from p_min to 1, in all rounds",
		Formula: "p_i^t = p_min + (1 − p_min)·i/(N−1)",
		Paper: "C. Jiang et al.: FedAR: Addressing Client Unavailability in Federated Learning with Local Update " +
			"Approximation and Rectification, ECML PKDD 2024",
	},
	{
		Name: "cyclic", revision: 1, FromClasses: true, make: cyclic,
		Brief:   "a number of rounds in a row out of every cycle, from a round of the client's own on",
		Formula: "a_i = max(1, round(P·p_i)) rounds there, P − a_i away; p_i^t = a_i/P, P is --period",
		Paper:   fedAU,
	},
	{
		Name: "markov-q", revision: 1, FromClasses: true, make: markovQ,
		Brief:   "a chain for every client, whose share of rounds is its p_i",
		Formula: "P(active | inactive) = q, P(inactive | active) = min(1, q·(1/p_i − 1)), q is --q",
		Paper:   fedAU,
	},
	{
		Name: "periodic", revision: 1, make: periodic,
		Brief:   "groups of clients that take turns",
		Formula: "group ⌊iG/N⌋ is there for --on rounds of every G·on; p_i^t = 1/G, G is --groups",
		Paper: "S. Wang, M. Ji: A Unified Analysis of Federated Learning with Arbitrary Client Participation, " +
			"NeurIPS 2022",
	},
	{
		Name: "log-normal", revision: 1, Independent: true, make: logNormal,
		Brief:   "log-normal probabilities up to 1, in all rounds",
		Formula: "p_i^t = exp(σ·z_i)/max_j exp(σ·z_j), z_i normal, σ is --sigma",
		Paper:   flgo,
	},
	{
		Name: "log-normal-sine", revision: 1, Independent: true, make: logNormalSine,
		Brief:   "log-normal probabilities that go up and down",
		Formula: "p_i^t = p_i·(0.4·sin(2πt/P) + 0.5), p_i as in log-normal, P is --period",
		Paper:   flgo,
	},
	{
		Name: "data-size", revision: 1, Independent: true, make: dataSize,
		Brief:   "the more samples a client has, the more often it is there",
		Formula: "p_i^t = (n_i/max_j n_j)^b; with b < 0 (min_j n_j/n_i)^−b; n_i samples, b is --size-power",
		Paper:   flgo,
	},
	{
		Name: "chain", revision: 1, make: chain,
		Brief:   "a chain for every client, from a file",
		Formula: "as markov, with π_i and λ_i, or both transition probabilities, from --chain",
		Paper:   "none: the chains are yours",
	},
	{
		Name: "trace", revision: 2, make: trace,
		Brief:   "a recorded trace",
		Formula: "client i is active in round t if the file says so; p_i^t is the file's, or else the share of rounds",
		Paper:   "none: the trace is yours",
	},
}

const (
	fedAWE = "M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong, L. Su: Efficient Federated Learning against Heterogeneous " +
		"and Non-stationary Client Unavailability, NeurIPS 2024"
	fedAU = "S. Wang, M. Ji: A Lightweight Method for Tackling Unknown Participation Statistics in Federated " +
		"Averaging, ICLR 2024"
	flgo  = "Z. Wang et al.: FLGo: A Fully Customizable Federated Learning Platform, 2023 (arXiv 2306.12079)"
	caFed = "A. Rodio, F. Faticanti, O. Marfoq, G. Neglia, E. Leonardi: Federated Learning under Heterogeneous and " +
		"Correlated Client Availability, IEEE INFOCOM 2023 and IEEE/ACM Transactions on Networking 2024"
)

// Definition is one model: its name, and for people half a sentence that says what it is, in one line when clients are
// active, and the paper that it is from.
type Definition struct {
	Name                  string
	Brief, Formula, Paper string
	// FromClasses: p_i is a client's [Base], from the classes it holds. Independent: a client is active in a round
	// independently of all other rounds and clients.
	FromClasses, Independent bool

	revision int
	make     func(Options) (Model, error)
}

// Of returns the definition of a model, the zero Definition for an unknown name.
func Of(model string) Definition {
	for _, d := range models {
		if d.Name == model {
			return d
		}
	}
	return Definition{}
}

// Names returns the names of all models.
func Names() []string {
	names := make([]string, len(models))
	for i := range models {
		names[i] = models[i].Name
	}
	return names
}

// Revision returns the revision of a model, which is at least 1, or 0 for an unknown name.
func Revision(model string) int { return Of(model).revision }

// New returns the model with the given name, for len(o.Base) clients. The caller may change the slices of o
// afterwards.
func New(name string, o Options) (Model, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Base = slices.Clone(o.Base)
	d := Of(name)
	if d.Name == "" {
		return nil, fmt.Errorf("availability: model %q: unknown, want one of %s", name, strings.Join(Names(), ", "))
	}
	made, err := d.make(o)
	if err == nil {
		made, err = o.factors(made, d.Independent)
	}
	if err != nil {
		return nil, fmt.Errorf("availability: %s: %w", name, err)
	}
	return made, nil
}

// Check is [New] for settings whose files have not been read yet: it makes no trace and no chains of a file.
func Check(name string, o Options) error {
	if name == "chain" || name == "trace" {
		o.Chain, o.Draw, name = &ChainTable{Pi: []float64{1}, Lambda: []float64{0}}, true, "chain"
	}
	_, err := New(name, o)
	return err
}

// factors returns a model with what o adds to it.
func (o *Options) factors(m Model, independently bool) (made Model, err error) {
	made = m
	if o.Separation != 0 || o.Outages != "" {
		of, ok := m.(*independent)
		switch {
		case !ok || !independently:
			return nil, errors.New("separation and outages: of no use with a model whose rounds depend on each other")
		case o.Separation != 0 && o.Outages != "":
			return nil, errors.New("separation and outages together, want one of them")
		case o.Separation != 0:
			made, err = separate(of, o.Separation, o.Rounds)
		default:
			made, err = withOutages(of, o.Outages)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Population != "" {
		return changing(made, o)
	}
	return made, nil
}

// Validate returns an error that names the first impossible setting among the fields down to Low. [New] checks the
// rest.
func (o *Options) Validate() error {
	if len(o.Base) == 0 {
		return fmt.Errorf("availability: base: 0 clients, want at least 1")
	}
	for i, p := range o.Base {
		if !isFraction(p) {
			return fmt.Errorf("availability: base: client %d: probability %g, want 0 … 1", i, p)
		}
	}
	switch {
	case o.Period < 1:
		return fmt.Errorf("availability: period: %d rounds, want at least 1", o.Period)
	case !isFraction(o.Gamma):
		return fmt.Errorf("availability: gamma: %g, want 0 … 1", o.Gamma)
	case !isFraction(o.Cutoff):
		return fmt.Errorf("availability: cutoff: %g, want 0 … 1", o.Cutoff)
	case !isFraction(o.Low):
		return fmt.Errorf("availability: low: %g, want 0 … 1", o.Low)
	}
	return nil
}

// clientsWho returns the clients among n for which active is true, ascending. The slice is empty, not nil, if there are
// none.
func clientsWho(n int, active func(i int) bool) []int {
	found := []int{}
	for i := range n {
		if active(i) {
			found = append(found, i)
		}
	}
	return found
}

// isFraction reports whether x is in [0, 1]; NaN is not.
func isFraction(x float64) bool { return x >= 0 && x <= 1 }

// wave returns f(t) = γ sin(2πt/P) + 1 − γ, the factor of FedAWE's two sine models, in [1 − 2γ, 1].
func (o *Options) wave(t int) float64 { return o.Gamma*o.sin(t) + 1 - o.Gamma }

// sin returns sin(2πt/P). It reduces t modulo P first, so that cycles repeat bit for bit.
func (o *Options) sin(t int) float64 {
	return math.Sin(2 * math.Pi * (float64(t%o.Period) / float64(o.Period)))
}
