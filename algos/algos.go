package algos

import (
	"context"
	"fmt"
	"math"
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
	// each at its first batch before its first step: A, or whom the method took of it (see [Inspector]). After an
	// error no further round can run; if it was the training that failed, Model is still that of the round before.
	Round(ctx context.Context, r Round) (loss []float32, err error)
	// Model returns the row to evaluate after the rounds so far (the initial weights before the first). It may cost
	// a pass over the clients' models, is good until the next Round, and must not be written to.
	Model() (nets.Row, error)
	// Close frees the method's rows. The engine stays open.
	Close()
}

// Definition is one method: its name, its parameters and how it starts.
type Definition struct {
	Name   string
	Params []*Param
	start  func(s *server, w0 []float32, o Options) (Method, error)
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

// New starts a method at the weights w0 [P]. Its rows live in f.Engine until Close. Where the method is an [Inspector],
// what is returned is one too.
func New(name string, f Federation, w0 []float32, o Options) (Method, error) {
	for _, m := range methods {
		if m.Name != name {
			continue
		}
		if err := f.Validate(); err != nil {
			return nil, err
		}
		if err := o.validate(&m, f.N); err != nil {
			return nil, fmt.Errorf("algos: %s: %w", name, err)
		}
		if p := f.Engine.Info().Params; len(w0) != p {
			return nil, fmt.Errorf("algos: %s: %d initial weights, want %d", name, len(w0), p)
		}
		if f.Lambda == nil {
			f.Lambda = make([]float64, f.N)
		}
		s := &server{Federation: f, taken: make([]int, f.N)}
		started, err := m.start(s, w0, o)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("algos: %s: %w", name, err)
		}
		c := &checked{Method: started, name: name, n: f.N}
		if inspector, ok := started.(Inspector); ok {
			return &inspected{c, inspector}, nil
		}
		return c, nil
	}
	return nil, fmt.Errorf("algos: method %q: unknown, want one of %s", name, strings.Join(Names(), ", "))
}

// DecayedLR returns η_t = η_0 / sqrt(t/10 + 1), the schedule of all methods in FedAWE's tables.
func DecayedLR(lr float64, t int) float64 { return lr / math.Sqrt(float64(t)/10+1) }

// checked is every method as users get it: rounds are checked before
// they reach the method, and errors say where they come from.
type checked struct {
	Method
	name string
	n    int
}

// inspected is checked of a method that is an [Inspector].
type inspected struct {
	*checked
	Inspector
}

func (c *checked) Round(ctx context.Context, r Round) ([]float32, error) {
	err := ctx.Err() // a round without clients would not look
	if err == nil {
		err = r.validate(c.n)
	}
	var loss []float32
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

// validate reports the first thing in r that no method can work with.
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

// present says of each of n clients whether it is among the active ones.
func present(active []int, n int) []bool {
	here := make([]bool, n)
	for _, i := range active {
		here[i] = true
	}
	return here
}

// isPositive reports whether x is a finite number above 0.
func isPositive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// isNotNegative reports whether x is a finite number of 0 or more.
func isNotNegative(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
