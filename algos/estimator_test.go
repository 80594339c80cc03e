package algos

import (
	"math"
	"testing"
)

// ToN, section IV-B, with a prior of n_k = 3 active and m_k = 2 inactive rounds, a = 2 stays active, b = 1 goes, c = 1
// stays inactive, d = 1 comes. Tolerance 1e-15: a few roundings of numbers of at most 1.
func TestEstimatorPaper(t *testing.T) {
	e := NewEstimator(1, Paper, 1, []float64{0.5, 0.5}, []float64{0, 0})
	prior := counts{rounds: [2]float64{2, 3}, moves: [2][2]float64{{1, 1}, {1, 2}}, unknown: true}
	e.counts[0], e.counts[1] = prior, prior
	for r, c := range []struct {
		active     bool
		pi, lambda float64
	}{
		{true, 4. / 6, 2./3 + 1./2 - 1}, // what came before is not known: no transition
		{true, 5. / 7, 3./4 + 1./2 - 1},
		{false, 5. / 8, 3./5 + 1./2 - 1},
		{false, 5. / 9, 3./5 + 2./3 - 1},
		{true, 6. / 10, 3./5 + 2./4 - 1},
	} {
		active := []int{}
		if c.active {
			active = []int{1}
		}
		e.Observe(active)
		if math.Abs(e.Pi[1]-c.pi) > 1e-15 || math.Abs(e.Lambda[1]-c.lambda) > 1e-15 {
			t.Errorf("round %d: π̂ %.17g λ̂ %.17g, want %.17g and %.17g ± 1e-15",
				r, e.Pi[1], e.Lambda[1], c.pi, c.lambda)
		}
	}
	want := 2./3 + 5./6 - 1 // inactive in all five
	if math.Abs(e.Pi[0]-0.3) > 1e-15 || math.Abs(e.Lambda[0]-want) > 1e-15 {
		t.Errorf("client 0: π̂ %g λ̂ %g, want 0.3 and %g ± 1e-15", e.Pi[0], e.Lambda[0], want)
	}
}

// The code at t' = 4, π = λ = 1/2: P(a|a) = P(i|i) = 0.75, so the prior adds 2 to n_A and 6 to n_AA + n_II.
func TestEstimatorCode(t *testing.T) {
	e := NewEstimator(4, CodeNoMomentum, 1, []float64{0.5, 0.5}, []float64{0.5, 0.5}) // whose estimator is the code's
	if e.Pi[0] != 0.5 || e.Lambda[0] != 0.5 {
		t.Errorf("before round 0: π̂ %g λ̂ %g, want 0.5 twice", e.Pi[0], e.Lambda[0])
	}
	for r, c := range []struct {
		active     bool
		pi, lambda [2]float64 // of client 0, who does as said, and of client 1, who is never active
	}{
		{true, [2]float64{3. / 5, 2. / 5}, [2]float64{6./5 - 1, 7./5 - 1}}, // everybody was inactive before
		{true, [2]float64{4. / 6, 2. / 6}, [2]float64{7./6 - 1, 8./6 - 1}},
		{false, [2]float64{4. / 7, 2. / 7}, [2]float64{7./7 - 1, 9./7 - 1}},
		{false, [2]float64{4. / 8, 2. / 8}, [2]float64{8./8 - 1, 10./8 - 1}},
	} {
		active := []int{}
		if c.active {
			active = []int{0}
		}
		e.Observe(active)
		for i := range 2 {
			if math.Abs(e.Pi[i]-c.pi[i]) > 1e-15 || math.Abs(e.Lambda[i]-c.lambda[i]) > 1e-15 {
				t.Errorf("round %d client %d: π̂ %g λ̂ %g, want %g and %g ± 1e-15",
					r, i, e.Pi[i], e.Lambda[i], c.pi[i], c.lambda[i])
			}
		}
	}
}

// A prior is a history of the clients' own chains: t' rounds of
// them, after which π̂ and λ̂ lie within five standard errors.
func TestEstimatorHistory(t *testing.T) {
	pis, lambdas := []float64{0.9, 0.9, 0.1, 0.1, 0.5}, []float64{0.9, 0.01, 0.9, 0.01, -0.5}
	for _, prior := range []int{1, 1000, 100_000} {
		e := NewEstimator(prior, Paper, 4, pis, lambdas)
		for i := range pis {
			c := e.counts[i]
			if n := c.rounds[0] + c.rounds[1]; n != float64(prior+2) {
				t.Errorf("t'=%d client %d: %g rounds, want %d", prior, i, n, prior+2)
			}
			if n := c.moves[0][0] + c.moves[0][1] + c.moves[1][0] + c.moves[1][1]; n != float64(prior+3) {
				t.Errorf("t'=%d client %d: %g transitions, want %d", prior, i, n, prior+3)
			}
			if c.see(true); c.moves[1][1] != e.counts[i].moves[1][1] || c.moves[0][1] != e.counts[i].moves[0][1] {
				t.Errorf("t'=%d client %d: a transition from the history into round 0, want none", prior, i)
			}
			if prior < 1000 {
				continue
			}
			pi, lambda, n := pis[i], lambdas[i], float64(prior)
			stay, away := lambda+(1-lambda)*pi, 1-(1-lambda)*pi
			tolPi := 5 * math.Sqrt(pi*(1-pi)/n*(1+lambda)/(1-lambda))
			tolLambda := 5 * math.Sqrt(stay*(1-stay)/(n*pi)+away*(1-away)/(n*(1-pi)))
			// Beta(1, 1), which at π = 0.1 weighs tenfold
			tolPi, tolLambda = tolPi+2/float64(prior), tolLambda+20/float64(prior)
			if math.Abs(e.Pi[i]-pis[i]) > tolPi || math.Abs(e.Lambda[i]-lambdas[i]) > tolLambda {
				t.Errorf("t'=%d client %d: π̂ %.4f λ̂ %.4f, want %g ± %.4f and %g ± %.4f",
					prior, i, e.Pi[i], e.Lambda[i], pis[i], tolPi, lambdas[i], tolLambda)
			}
		}
	}
}
