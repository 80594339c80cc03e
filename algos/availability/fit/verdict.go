package fit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread is where the values of the clients lie.
type Spread struct{ Low, Median, High float64 } // quantiles 5 %, 50 % and 95 %

func (s Spread) String() string {
	return fmt.Sprintf("median %.3g, 90 %% of clients in %.3g to %.3g", s.Median, s.Low, s.High)
}

func spreadOf(x []float64) Spread {
	if len(x) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(x)
	at := func(q float64) float64 { return stat.Quantile(q, stat.Empirical, x, nil) }
	return Spread{at(0.05), at(0.5), at(0.95)}
}

// Chains sums up the chains of all clients.
type Chains struct {
	Pi            Spread
	Lambda        Spread // of the clients that change
	Never, Always int    // clients that are active in no round, and in all
	Few           int    // clients that change, but too little for intervals
	Given         int    // clients with intervals
	Dependent     int    // those whose interval of λ is without 0
	Beyond        int    // those whose interval of λ is without what the cycle found makes it, 0 without a cycle
}

// Chains sums up the chains of all clients.
func (r *Result) Chains() (s Chains) {
	var pi, lambda []float64
	for i := range r.Clients {
		c := &r.Clients[i]
		pi = append(pi, c.Pi.Value)
		switch {
		case c.Changes == 0 && c.Active == 0:
			s.Never++
			continue
		case c.Changes == 0:
			s.Always++
			continue
		case !c.Pi.Given():
			s.Few++
		default:
			s.Given++
			if c.Lambda.Low > 0 || c.Lambda.High < 0 {
				s.Dependent++
			}
			if by := r.Cycle.lambda(c); c.Lambda.Low > by || c.Lambda.High < by {
				s.Beyond++
			}
		}
		lambda = append(lambda, c.Lambda.Value)
	}
	s.Pi, s.Lambda = spreadOf(pi), spreadOf(lambda)
	return s
}

// Verdict says of a model whether it describes the record.
type Verdict struct{ Model, Says string }

// Verdicts says of each kind of model whether it describes the record. No test can show that a model is right: it can
// only fail to show that it is wrong.
func (r *Result) Verdicts() []Verdict {
	s, t := r.Chains(), &r.Tests
	broken := func(t Test) bool { return t.P < 0.05 }
	untested := s.Given == 0 || math.IsNaN(t.Order.P)
	cycle := r.Cycle.Found()
	together := len(r.Groups.Groups) > 0

	stationary := "not contradicted: rounds that depend neither on the time nor on each other"
	switch {
	case s.Given == 0:
		stationary = "cannot be told: too few changes"
	case cycle:
		stationary = "clearly not: there is a cycle"
	case float64(s.Dependent) > 0.25*float64(s.Given):
		stationary = "clearly not: a round depends on the one before"
	case float64(s.Dependent) > 0.1*float64(s.Given) || broken(t.Stationary) || broken(t.Order):
		stationary = "doubtful: rounds depend on each other, or on the time, a little"
	case together:
		stationary = "clearly not: clients depend on each other"
	}

	sine := "not contradicted: a sine, and independent rounds around it"
	switch {
	case math.IsNaN(r.Cycle.P):
		sine = "cannot be told: too few rounds"
	case !cycle:
		sine = "clearly not, unless it is weak: no cycle was found"
	case r.Cycle.Harmonics < 0.05:
		sine = "not quite: the cycle is no sine; staircase and interleaved-sine have cycles of other shapes"
	case float64(s.Beyond) > 0.25*float64(s.Given):
		sine = "in part: the mean follows a sine, but a round depends on the one before beyond it"
	}

	chain := "not contradicted: a chain of its own for every client, see --chain"
	switch {
	case untested:
		chain = "cannot be told: too few changes"
	case broken(t.Order) && broken(t.Runs):
		chain = "clearly not: a client remembers more than one round, and its times are not geometric"
	case broken(t.Order) || broken(t.Runs) || broken(t.Stationary) || cycle:
		chain = "in part: it has π and λ of every client, but not all that the tests and the cycle show"
	case together:
		chain = "in part: it has π and λ of every client, but not that clients come and go together"
	}

	clusters := "clearly not: no clients come and go together"
	switch {
	case r.Groups.Compared == 0:
		clusters = "cannot be told: too few changes"
	case together && r.Groups.Alone() == 0:
		clusters = "not contradicted: all clients compared come and go in groups; the model's groups are of one size"
	case together:
		clusters = fmt.Sprintf("in part: %d of the %d clients compared come and go in groups",
			r.Groups.Compared-r.Groups.Alone(), r.Groups.Compared)
	case r.Groups.Above > 0:
		clusters = "clearly not: no clients share half of their changes, though some may depend on each other"
	}
	return []Verdict{{"stationary", stationary}, {"sine", sine}, {"chain", chain}, {"clusters", clusters}}
}
