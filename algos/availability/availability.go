package availability

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Process decides who is active in every round of a run. It knows nothing of the method that runs: the same name,
// [Options] and seed give the same trace to every method.
//
// Rounds count from 0. Probabilities and Active are functions of t alone, whatever rounds were asked for before: a
// process with a state finds it again from the start, so that a resumed run sees the trace it would have seen. It may
// remember the rounds it was asked for, so a process is used by one goroutine at a time.
type Process interface {
	// Probabilities sets p [N] to p_i^t, each client's marginal probability of being active in round t, in [0, 1].
	Probabilities(t int, p []float64)
	// Active returns the clients active in round t, ascending; none is an empty slice.
	Active(t int) []int
	// Stationary returns what is true of each client in the long run, in new slices [N]: π_i, the share of the rounds
	// in which it is active, and λ_i, the second eigenvalue of its chain (ToN, (238)), 0 where its rounds are
	// independent.
	Stationary() (pi, lambda []float64)
}

// Options are the settings of a process; [Defaults] gives those of the papers.
// A process ignores what it has no use for, but every field down to Low must be
// possible. Those after it are looked at by the processes they belong to alone.
type Options struct {
	Seed   uint32
	Base   []float64 // [N] p_i, in [0, 1]; see [Base]
	Period int       // P, rounds per cycle, at least 1
	Gamma  float64   // γ, the sine's amplitude, in [0, 1]
	Cutoff float64   // δ_0: the interleaved sine is 0 where p_i·f(t) is below it, in [0, 1]
	Low    float64   // the staircase's factor in the second half of a cycle, in [0, 1]

	// markov and clusters, of CA-Fed's papers.
	Form     Form    // markov: which classes there are
	G        float64 // g, by which π_i differs from 1/2, in [0, 1/2)
	Nu       float64 // ν, the λ_i of markov's correlated clients
	Epsilon  float64 // ε, the spread of the λ_i of markov's weakly correlated clients, at least 0
	Groups   []int   // markov: [N] from 0; each group is split into the classes by itself; nil: one group
	Clusters int     // clusters that share a chain, at least 1; must divide N

	PMin float64 // uniform: p_0, in (0, 1]

	Trace  []Interval // trace: when the clients are there, in any order; see [ReadTrace]
	Repeat bool       // trace: it begins again after its last interval; false: nobody is there then
}

// Defaults returns the settings of FedAWE (section 7 and appendix J): P = 20, γ = 0.3, δ_0 = 0.1, low step 0.4; those
// of CA-Fed (ToN, section V): g = 0.4, ν = 0.9, ε = 0.01 in the paper's form, 10 clusters; FedAR's smallest p_min, 0.1.
func Defaults(base []float64, seed uint32) Options {
	return Options{
		Seed: seed, Base: base, Period: 20, Gamma: 0.3, Cutoff: 0.1, Low: 0.4,
		Form: PaperForm, G: 0.4, Nu: 0.9, Epsilon: 0.01, Clusters: 10, PMin: 0.1,
	}
}

// processes are the known ones, in the order in which they are listed to users. A revision is raised by whoever changes
// what a process draws or says of its probabilities, so that runs kept from before run again.
var processes = []struct {
	name     string
	revision int
	make     func(Options) (Process, error)
}{
	{"stationary", 1, stationary},
	{"staircase", 1, staircase},
	{"sine", 1, sine},
	{"interleaved-sine", 1, interleavedSine},
	{"markov", 1, markov},
	{"clusters", 1, clusters},
	{"uniform", 1, uniform},
	{"trace", 1, trace},
}

// Names returns the names [New] knows.
func Names() []string {
	names := make([]string, len(processes))
	for i, p := range processes {
		names[i] = p.name
	}
	return names
}

// Revision returns the revision of what a process draws, at least 1; 0 for a name that [New] does not know.
func Revision(process string) int {
	for _, p := range processes {
		if p.name == process {
			return p.revision
		}
	}
	return 0
}

// New returns the process of that name, for len(o.Base) clients. It keeps copies of what it needs of o's slices.
func New(name string, o Options) (Process, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Base = slices.Clone(o.Base)
	for _, p := range processes {
		if p.name == name {
			x, err := p.make(o)
			if err != nil {
				return nil, fmt.Errorf("availability: %s: %w", name, err)
			}
			return x, nil
		}
	}
	return nil, fmt.Errorf("availability: process %q: unknown, want one of %s", name, strings.Join(Names(), ", "))
}

// Validate reports the first impossible setting down to Low; [New] the others.
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

// clientsWho returns those of n clients of whom active is true, ascending; none is an empty slice.
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

// wave returns the sine processes' factor γ sin(2πt/P) + 1 − γ, in [1 − 2γ, 1]. The round is reduced before anything is
// divided, so that cycles repeat bit for bit.
func (o *Options) wave(t int) float64 {
	return o.Gamma*math.Sin(2*math.Pi*(float64(t%o.Period)/float64(o.Period))) + 1 - o.Gamma
}
