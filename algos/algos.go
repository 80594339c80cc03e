package algos

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rollcall/nets"
)

// Round is the part of a round that a method does not choose: who is active, and the learning rates.
type Round struct {
	T        int       // round, from 0
	Active   []int     // A, the active clients, ascending; may be empty
	Next     []int     // a hint, the active clients of the next round, whose batch plans can be made now; may be nil
	P        []float64 // [N] p_i^t, the probability that client i is active in this round
	LR       float64   // η_t, the learning rate of the local steps in this round, positive
	ServerLR float64   // η_g, positive
}

// Method is a federated method in the course of one run. It is used by one goroutine.
type Method interface {
	// Round runs one round, also if nobody is active. It returns the loss of every client that trained, ascending by
	// client: the loss of its first batch before its first step. All active clients train, or those that the method
	// includes, see [Decisions]. After an error no further round can run. If the training failed, Model still returns
	// the model of the round before.
	Round(ctx context.Context, r Round) (loss []float32, err error)
	// Model returns the row to evaluate after the rounds so far; before the first round, the initial weights. It may
	// cost a pass over the models of all clients. The row is valid until the next Round, and must not be written to.
	Model() (nets.Row, error)
	// Inspect returns the decisions of the last round, nil for a method that reports none. They are valid until the
	// next Round, and must not be written to.
	Inspect() *Decisions
	// Save returns the state of the method: all that later rounds need from the rounds so far. The rows belong to the
	// method. They are valid until the next Round, and must not be written to.
	Save(ctx context.Context) ([]Array, error)
	// Restore loads a saved state into a method that was just started with the same federation, weights and options.
	// The method then continues exactly as the saved one would have done. Decisions are not part of the state: Inspect
	// returns them again after the next Round. After an error the method can only be closed.
	Restore(from Source) error
	// Close frees the method's rows. The engine stays open.
	Close()
}

// Definition is one method: its name, what it does, its parameters, how it trains and how it starts.
type Definition struct {
	Name string
	// Brief says in half a sentence what the method is, Idea in one or two sentences what it does and why, Formula in
	// one line how a round moves the model, in the letters of [Notation], and Paper where it is from: authors, title,
	// venue and year. They are for people; every method of this package has all four.
	Brief, Idea, Formula, Paper string
	// Revision is raised by whoever changes the numbers that the method produces, so that older runs are not taken for
	// equal ones. At least 1.
	Revision int
	Params   []*Param
	// Later are parameters that came when runs of the method were kept already. Each has a value AsBefore, at which the
	// run's name and run.json leave it out.
	Later []*Param
	// Is says what the method is. conformance_test.go holds it to every trait that it declares, and to what follows
	// from those that it does not.
	Is Trait
	// The default learning rates η_0 and η_g of a method that no paper trains. 0: it has none, and --lr or --server-lr
	// must be given.
	LR, ServerLR float64
	// Program is the file of a method that is a program of its own, see package algos/remote, and Sum the SHA-256 of
	// its sources, which names its runs. Both are empty for a method in Go.
	Program, Sum string
	// New starts the method, see [New]. A method of this package has start in its place, which starts it on the base of
	// all methods.
	New   func(f Federation, w0 []float32, o Options) (Method, error)
	start func(s *server, w0 []float32, o Options) (method, error)
}

// Trait is something that a method says of itself. Traits are joined by |.
type Trait int

// The traits.
const (
	// Linear: the model is a linear function of the initial weights and of the clients' updates, with weights that
	// depend on neither.
	Linear Trait = 1 << iota
	// FedAvg: where all clients are active in every round and count alike, and neither momentum nor clipping is on,
	// w += η_g·mean Δ.
	FedAvg
	// Remembers: it keeps a row for every client that has trained, from which later rounds step too.
	Remembers
	// OwnModels: clients keep models of their own from round to round, and start from these.
	OwnModels
	// Momentum: earlier updates move the model on, whatever the parameters are.
	Momentum
	// MovesWhenEmpty: a round in which nobody is active moves the model.
	MovesWhenEmpty
	// Chooses: it may leave active clients out; Inspect says whom.
	Chooses
	// Corrects: it adds a row to the gradients of every client.
	Corrects
	// UsesPi: [Federation].P makes a difference to its model or decisions.
	UsesPi
	// UsesImportance: so does [Federation].Importance.
	UsesImportance
)

// Notation explains the letters of every [Definition].Formula.
const Notation = "w: the model; A: the active clients of the round, of N; Δ_i: how client i's local steps move the " +
	"model; p_i^t, π_i: its availability in round t and in the long run; α_i: its target importance; η_t, η_g: the " +
	"local and the server's learning rate"

// The papers that several methods are from.
const (
	paperFedAvg = "B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Agüera y Arcas: Communication-Efficient " +
		"Learning of Deep Networks from Decentralized Data, AISTATS 2017, Algorithm 1"
	paperMIFA = "X. Gu, K. Huang, J. Zhang, L. Huang: Fast Federated Learning in the Presence of Arbitrary Device " +
		"Unavailability, NeurIPS 2021, Algorithm 1"
	paperFedAWE = "M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong, L. Su: Efficient Federated Learning against " +
		"Heterogeneous and Non-stationary Client Unavailability, NeurIPS 2024"
	paperCAFed = "A. Rodio, F. Faticanti, O. Marfoq, G. Neglia, E. Leonardi: Federated Learning under Heterogeneous " +
		"and Correlated Client Availability, IEEE INFOCOM 2023 and IEEE/ACM Transactions on Networking 2024"
	paperFedAR = "C. Jiang et al.: FedAR: Addressing Client Unavailability in Federated Learning with Local Update " +
		"Approximation and Rectification, ECML PKDD 2024"
)

func (d *Definition) all() []*Param { return slices.Concat(d.Params, d.Later) }

// methods are all methods, in the order in which users see them.
var methods = []Definition{
	fedAvgActiveMethod,
	fedAvgAllMethod,
	fedAvgKnownMethod,
	fedAUMethod,
	f3astMethod,
	fedAWEMethod,
	mifaMethod,
	mifaWaitMethod,
	fedVARPMethod,
	unbiasedMethod,
	moreAvailableMethod,
	adaFedMethod,
	caFedMethod,
	fedARMethod,
	fedAvgISMethod,
	fedAvgSMethod,
	scaffoldMethod,
}

// methodName is what a method may be called: the name is in folders, flags and CSV files.
var methodName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// IsName reports whether a method may have this name, known or not: a letter, then letters, digits, _ and -.
func IsName(name string) bool { return methodName.MatchString(name) }

// Register adds a method to the list, from an init function or before any flag is read: all lists of methods, settings
// and help then have it. It panics if the name is taken.
func Register(d Definition) {
	if Of(d.Name).Name != "" {
		panic("algos: method " + d.Name + " is registered twice")
	}
	methods = append(methods, d)
	additions++
}

// Registered returns how many methods were added by [Register]: whoever keeps a list made from all methods makes a
// new one when this number has grown.
func Registered() int { return additions }

var additions int

// Has reports whether a method declares a trait.
func Has(method string, t Trait) bool { return Of(method).Is&t == t }

// Those returns the names of the methods that declare a trait.
func Those(t Trait) []string {
	return slices.DeleteFunc(Names(), func(method string) bool { return !Has(method, t) })
}

// Of returns the definition of a method, the zero Definition for an unknown name.
func Of(method string) Definition {
	for _, d := range methods {
		if d.Name == method {
			return d
		}
	}
	return Definition{}
}

// Names returns the names of all methods.
func Names() []string { return namesOf(methods) }

// Revision returns the revision of a method's numbers, which is at least 1, or 0 for an unknown name. Runs of different
// revisions must not be compared or continued as one.
func Revision(method string) int { return Of(method).Revision }

func namesOf(some []Definition) []string {
	names := make([]string, len(some))
	for i, d := range some {
		names[i] = d.Name
	}
	return names
}

// Params returns the parameters of all methods, every one once, in the order of the methods.
func Params() []*Param {
	var all []*Param
	for _, m := range methods {
		for _, p := range m.all() {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// New starts a method at the weights w0 [P]. Its rows are in the memory of f.Engine until Close. New does not check the
// parameters in o: whoever reads them from a user must check them with [Param.CheckFor].
func New(name string, f Federation, w0 []float32, o Options) (Method, error) {
	d := Of(name)
	if d.Name == "" {
		return nil, fmt.Errorf("algos: method %q: unknown, want one of %s", name, strings.Join(Names(), ", "))
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	if p := f.Engine.Info().Params; len(w0) != p {
		return nil, fmt.Errorf("algos: %s: %d initial weights, want %d", name, len(w0), p)
	}
	m, err := d.begin(f, w0, o)
	if err != nil {
		return nil, fmt.Errorf("algos: %s: %w", name, err)
	}
	return &checked{m, name, f.N}, nil
}

func (d *Definition) begin(f Federation, w0 []float32, o Options) (Method, error) {
	if d.New != nil {
		return d.New(f, w0, o)
	}
	s := newServer(f)
	m, err := d.start(s, w0, o)
	if err != nil {
		s.Close()
		return nil, err
	}
	return stateful{m}, nil
}

// present returns, for each of n clients, whether it is active.
func present(active []int, n int) []bool {
	here := make([]bool, n)
	for _, i := range active {
		here[i] = true
	}
	return here
}

// checked wraps every method that [New] returns. It checks each round before the method runs it, and puts the name of
// the method in front of errors.
type checked struct {
	Method
	name string
	n    int
}

func (c *checked) Round(ctx context.Context, r Round) (loss []float32, err error) {
	err = ctx.Err() // a round without active clients does not check it
	if err == nil {
		err = r.validate(c.n)
	}
	if err == nil {
		loss, err = c.Method.Round(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("algos: %s: round %d: %w", c.name, r.T, err)
	}
	return loss, nil
}

func (c *checked) Model() (nets.Row, error) {
	row, err := c.Method.Model()
	if err != nil {
		return nets.Row{}, fmt.Errorf("algos: %s: model: %w", c.name, err)
	}
	return row, nil
}

func (c *checked) Save(ctx context.Context) ([]Array, error) {
	parts, err := c.Method.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("algos: %s: state: %w", c.name, err)
	}
	return parts, nil
}

func (c *checked) Restore(from Source) error {
	if err := c.Method.Restore(from); err != nil {
		return fmt.Errorf("algos: %s: state: %w", c.name, err)
	}
	return nil
}

// withLocalModels is implemented by a method whose clients keep models of their own from round to round.
type withLocalModels interface {
	localModels() (rows []nets.Row, of [][]int)
}

// LocalModels returns the models that clients keep from round to round. rows holds the distinct models, and of[k] the
// clients whose model is rows[k], ascending; the model of client 0 comes first. The rows are valid until the next
// Round, and must not be written to. Both are nil for a method without [OwnModels].
func LocalModels(m Method) (rows []nets.Row, of [][]int) {
	if c, is := m.(*checked); is {
		if s, is := c.Method.(stateful); is {
			if with, is := s.method.(withLocalModels); is {
				return with.localModels()
			}
		}
	}
	return nil, nil
}

// Runtime returns the versions of what a method runs on beside this program, by name, such as python and numpy; nil for
// a method in Go.
func Runtime(m Method) map[string]string {
	if c, is := m.(*checked); is {
		if with, is := c.Method.(interface{ Runtime() map[string]string }); is {
			return with.Runtime()
		}
	}
	return nil
}

// validate returns an error that names the first field of r that no method can work with. n is the number of clients.
func (r *Round) validate(n int) error {
	switch {
	case r.T < 0:
		return fmt.Errorf("negative round, want 0 or more")
	case len(r.P) != n:
		return fmt.Errorf("%d probabilities, want %d", len(r.P), n)
	case !isPositive(r.LR):
		return fmt.Errorf("learning rate %g, want positive", r.LR)
	case !isPositive(r.ServerLR):
		return fmt.Errorf("server learning rate %g, want positive", r.ServerLR)
	}
	last := -1
	for _, i := range r.Active {
		if i <= last || i >= n {
			return fmt.Errorf("active client %d after %d, want ascending in 0 … %d", i, last, n-1)
		}
		last = i
	}
	for _, i := range r.Next {
		if i < 0 || i >= n {
			return fmt.Errorf("client %d in the next round, want 0 … %d", i, n-1)
		}
	}
	return nil
}
