package algos

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rollcall/nets"
)

// Round says what a method cannot choose: who is there, and the learning rates.
type Round struct {
	T        int       // round, from 0
	Active   []int     // A, the active clients, ascending; empty: nobody
	Next     []int     // the next round's, a hint: their batch plans are made while this round trains; nil: no hint
	P        []float64 // [N] p_i^t, with which each client is active in this round
	LR       float64   // η_t of the local steps, positive; see [DecayedLR]
	ServerLR float64   // η_g, positive
}

// Method is a federated method in the course of one run. It is used by one goroutine.
type Method interface {
	// Round runs one round, of an empty active set too, and returns the losses of the clients that trained, ascending,
	// each at its first batch before its first step: A, or whom the method took of it (see [Decisions]). After an
	// error no further round can run; if it was the training that failed, Model is still that of the round before.
	Round(ctx context.Context, r Round) (loss []float32, err error)
	// Model returns the row to evaluate after the rounds so far (the initial weights before the first). It may cost
	// a pass over the clients' models, is good until the next Round, and must not be written to.
	Model() (nets.Row, error)
	// Inspect returns the decisions of the last round, nil for a method that reports none. They are good until the next
	// Round, and must not be written to.
	Inspect() *Decisions
	// Save returns the method's state: all that the rounds so far have left in it. The rows are the method's own, good
	// until the next Round, and must not be written to.
	Save() []Array
	// Restore takes up a state that was saved, in a method that was just started with the same federation, weights and
	// options. Afterwards the method goes on as the one that was saved would; Inspect has something to say again after
	// the next Round. After an error the method is of no use but to be closed.
	Restore(from Source) error
	// Close frees the method's rows. The engine stays open.
	Close()
}

// Definition is one method: its name, its parameters and how it starts.
type Definition struct {
	Name string
	// revision is raised by whoever changes the numbers the method produces, so that runs kept from before run again.
	revision int
	Params   []*Param
	start    func(s *server, w0 []float32, o Options) (method, error)
}

// methods are the known ones, in the order in which they are listed to users.
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

// Names returns the names [New] knows.
func Names() []string { return namesOf(methods) }

// Revision returns the revision of a method's numbers, at least 1; 0 for a name that [New] does not know. Runs of two
// revisions of a method have nothing to do with each other.
func Revision(method string) int {
	for _, d := range methods {
		if d.Name == method {
			return d.revision
		}
	}
	return 0
}

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
		for _, p := range m.Params {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// New starts a method at the weights w0 [P]. Its rows live in f.Engine until Close. Parameters in o are taken to be
// possible: whoever reads them from a user checks them with [Param.CheckFor].
func New(name string, f Federation, w0 []float32, o Options) (Method, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("algos: method %q: unknown, want one of %s", name, strings.Join(Names(), ", "))
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	if p := f.Engine.Info().Params; len(w0) != p {
		return nil, fmt.Errorf("algos: %s: %d initial weights, want %d", name, len(w0), p)
	}
	s := newServer(f)
	started, err := methods[i].start(s, w0, o)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("algos: %s: %w", name, err)
	}
	return &checked{started, name, f.N}, nil
}

// present says of each of n clients whether it is among the active ones.
func present(active []int, n int) []bool {
	here := make([]bool, n)
	for _, i := range active {
		here[i] = true
	}
	return here
}
