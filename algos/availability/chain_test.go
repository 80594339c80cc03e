package availability

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// ToN, (236)–(238), on 10⁶ rounds. Of T rounds of a chain the share of active ones has the standard error
// sqrt(π(1−π)/T·(1+λ)/(1−λ)); a transition probability p seen from a state n times sqrt(p(1−p)/n), and λ̂ = p̂_1 + p̂_0
// − 1 that of both together. Five of them.
func TestChainsInTheLongRun(t *testing.T) {
	const rounds = 1_000_000
	pi := []float64{0.9, 0.9, 0.1, 0.1, 0.5, 0.3}
	lambda := []float64{0.9, 0.01, 0.9, -0.1, -0.8, 0}
	made := must.Get(newChains(len(pi), 11, pi, lambda, "client"))(t)
	x := made.(*chained)
	for m := range pi {
		t.Run(fmt.Sprintf("pi=%g_lambda=%g", pi[m], lambda[m]), func(t *testing.T) {
			var active float64
			var count [2][2]float64 // transitions from, to
			last := 0
			for r := range rounds {
				state := 0
				if x.active(r, m) {
					state = 1
					active++
				}
				if r > 0 {
					count[last][state]++
				}
				last = state
			}
			tol := 5 * math.Sqrt(pi[m]*(1-pi[m])/rounds*(1+lambda[m])/(1-lambda[m]))
			if got := active / rounds; math.Abs(got-pi[m]) > tol {
				t.Errorf("share of active rounds %.5f, want %.5f ± %.5f", got, pi[m], tol)
			}
			n := [2]float64{count[0][0] + count[0][1], count[1][0] + count[1][1]}
			stay := [2]float64{1 - (1-lambda[m])*pi[m], lambda[m] + (1-lambda[m])*pi[m]}
			got, variance := -1.0, 0.0
			for s := range 2 {
				p := count[s][s] / n[s]
				tol := 5 * math.Sqrt(stay[s]*(1-stay[s])/n[s])
				if math.Abs(p-stay[s]) > tol {
					t.Errorf("stays in state %d with probability %.5f, want %.5f ± %.5f", s, p, stay[s], tol)
				}
				got += p
				variance += stay[s] * (1 - stay[s]) / n[s]
			}
			if tol := 5 * math.Sqrt(variance); math.Abs(got-lambda[m]) > tol {
				t.Errorf("λ %.5f, want %.5f ± %.5f", got, lambda[m], tol)
			}
		})
	}
}

// A chain's way does not depend on how many others there are.
func TestChainsAlone(t *testing.T) {
	pi, lambda := []float64{0.4, 0.6, 0.4, 0.2}, []float64{0.6, 0.1, 0.6, 0.3}
	all := must.Get(newChains(4, 7, pi, lambda, "client"))(t)
	fewer := must.Get(newChains(2, 7, pi[:2], lambda[:2], "client"))(t)
	for r := range 60 {
		want := slices.DeleteFunc(slices.Clone(all.Active(r)), func(i int) bool { return i >= 2 })
		if got := fewer.Active(r); !slices.Equal(got, want) {
			t.Errorf("round %d: %v without clients 2 and 3, want %v", r, got, want)
		}
	}
}

// The chains start from their stationary distribution, and move from round 0 on: of 4000 seeds five standard errors of
// the shares that are active in rounds 0 and 1, and in both, π(λ + (1−λ)π).
func TestChainsStartStationary(t *testing.T) {
	const seeds, pi, lambda = 4000, 0.2, 0.7
	var count [3]float64
	for seed := range uint32(seeds) {
		x := must.Get(newChains(1, seed, []float64{pi}, []float64{lambda}, "client"))(t)
		first, second := len(x.Active(0)), len(x.Active(1))
		count[0] += float64(first)
		count[1] += float64(second)
		count[2] += float64(first * second)
	}
	for k, want := range [3]float64{pi, pi, pi * (lambda + (1-lambda)*pi)} {
		if tol := 5 * math.Sqrt(want*(1-want)/seeds); math.Abs(count[k]/seeds-want) > tol {
			t.Errorf("active in %s: %.4f of the seeds, want %.4f ± %.4f",
				[]string{"round 0", "round 1", "both"}[k], count[k]/seeds, want, tol)
		}
	}
}

// The classes of N = 24 clients, and of two groups of them by themselves. λ ~ N(0, ε²): within 5ε of its mean.
func TestMarkovClasses(t *testing.T) {
	groups := slices.Concat(slices.Repeat([]int{0}, 12), slices.Repeat([]int{1}, 12))
	for _, c := range []struct {
		form                                     Form
		groups                                   []int
		moreCorrelated, moreWeak, lessCorrelated int // of 24; the others are less available and weakly correlated
	}{
		{PaperForm, nil, 6, 6, 6},
		{PaperForm, groups, 6, 6, 6},
		{CodeForm, nil, 0, 12, 6},
		{CodeForm, groups, 0, 12, 6},
	} {
		t.Run(fmt.Sprintf("%s/groups=%t", c.form, c.groups != nil), func(t *testing.T) {
			o := Defaults(make([]float64, 24), 3)
			o.Form, o.Groups = c.form, c.groups
			pi, lambda := mustNew(t, "markov", o).Stationary()
			mean, sigma := 0.0, 0.01
			if c.form == CodeForm {
				mean, sigma = 0.005, 0.005
			}
			for half := range 2 { // clients 0 … 11 and 12 … 23
				got := map[string]int{}
				for i := 12 * half; i < 12*half+12; i++ {
					class := fmt.Sprintf("π=%.1f ", pi[i])
					switch {
					case lambda[i] == 0.9:
						class += "correlated"
					case math.Abs(lambda[i]-mean) < 5*sigma && lambda[i] != 0:
						class += "weak"
					}
					got[class]++
				}
				want := map[string]int{
					"π=0.9 correlated": c.moreCorrelated / 2, "π=0.9 weak": c.moreWeak / 2,
					"π=0.1 correlated": c.lessCorrelated / 2, "π=0.1 weak": (12 - c.lessCorrelated) / 2,
				}
				if c.groups == nil { // only both halves together are what is wanted
					continue
				}
				for class, n := range want {
					if got[class] != n {
						t.Errorf("group %d: %v, want %v", half, got, want)
					}
				}
			}
			var correlated, more int
			for i := range pi {
				if lambda[i] == 0.9 {
					correlated++
				}
				if pi[i] == 0.9 {
					more++
				}
			}
			if more != 12 || correlated != c.moreCorrelated+c.lessCorrelated {
				t.Errorf("%d more available and %d correlated clients of 24, want 12 and %d",
					more, correlated, c.moreCorrelated+c.lessCorrelated)
			}
		})
	}
}

// Drawn classes: of 8000 clients a quarter is correlated and less available, and so on, within five standard errors of
// a binomial count; of 12 clients at a time the more available have the variance 12/4 of such a count, which exact
// classes have not. A client's class depends on its own number alone.
func TestDrawnClasses(t *testing.T) {
	const clients, seed = 8000, 3
	classes := func(form Form, n int, groups []int) (class []string) {
		o := Defaults(make([]float64, n), seed)
		o.Form, o.Groups, o.Drawn = form, groups, true
		pi, lambda := mustNew(t, "markov", o).Stationary()
		for i := range pi {
			class = append(class, fmt.Sprintf("π=%.1f correlated=%t", pi[i], lambda[i] == 0.9))
		}
		return class
	}
	for form, shares := range map[Form]map[string]float64{
		PaperForm: {
			"π=0.9 correlated=true": 0.25, "π=0.9 correlated=false": 0.25,
			"π=0.1 correlated=true": 0.25, "π=0.1 correlated=false": 0.25,
		},
		CodeForm: {"π=0.9 correlated=false": 0.5, "π=0.1 correlated=true": 0.25, "π=0.1 correlated=false": 0.25},
	} {
		t.Run(string(form), func(t *testing.T) {
			all := classes(form, clients, nil)
			count, squares := map[string]int{}, 0.0
			more := 0
			for i, class := range all {
				count[class]++
				if strings.HasPrefix(class, "π=0.9") {
					more++
				}
				if i%12 == 11 {
					squares += float64((more - 6) * (more - 6))
					more = 0
				}
			}
			for class, share := range shares {
				if tol := 5 * math.Sqrt(clients*share*(1-share)); math.Abs(float64(count[class])-clients*share) > tol {
					t.Errorf("%s: %d of %d clients, want %g ± %.0f", class, count[class], clients, clients*share, tol)
				}
			}
			if len(count) != len(shares) {
				t.Errorf("classes %v, want those of %v", count, shares)
			}
			// The squared deviation of a binomial count has at most twice its squared variance as variance.
			if got, tol := squares/(clients/12), 5*3*math.Sqrt(2./(clients/12)); math.Abs(got-3) > tol {
				t.Errorf("more available of a dozen: variance %.2f, want 3 ± %.2f", got, tol)
			}
			groups := make([]int, 50)
			for i := range groups {
				groups[i] = i % 3
			}
			if few := classes(form, 50, groups); !slices.Equal(few, all[:50]) {
				t.Errorf("classes of 50 clients in groups %q, want those of the first of %d", few, clients)
			}
		})
	}
}

// The weakly correlated clients' λ over 2000 clients: mean and standard deviation within five standard errors.
func TestWeakCorrelation(t *testing.T) {
	for form, want := range map[Form][2]float64{PaperForm: {0, 0.01}, CodeForm: {0.005, 0.005}} {
		o := Defaults(make([]float64, 2000), 5)
		o.Form = form
		_, lambda := mustNew(t, "markov", o).Stationary()
		var n, sum, squares float64
		for _, l := range lambda {
			if l != 0.9 {
				n, sum, squares = n+1, sum+l, squares+l*l
			}
		}
		mean := sum / n
		sigma := math.Sqrt(squares/n - mean*mean)
		if tol := 5 * want[1] / math.Sqrt(n); math.Abs(mean-want[0]) > tol || math.Abs(sigma-want[1]) > tol/math.Sqrt2 {
			t.Errorf("%s: λ of mean %.5f and standard deviation %.5f, want %g ± %.5f and %g ± %.5f",
				form, mean, sigma, want[0], tol, want[1], tol/math.Sqrt2)
		}
	}
}

// ToN, figure 5: 100 clients, 10 clusters of 10.
func TestClustersMoveTogether(t *testing.T) {
	x := mustNew(t, "clusters", Defaults(make([]float64, 100), 2))
	pi, lambda := x.Stationary()
	p := make([]float64, 100)
	x.Probabilities(7, p)
	for i := range pi {
		c := i / 10
		wantPi, wantLambda := 0.9, 0.0
		if c >= 5 {
			wantPi, wantLambda = 0.1, float64(c)/10
		}
		if math.Abs(pi[i]-wantPi) > 1e-15 || lambda[i] != wantLambda || p[i] != pi[i] { // 0.5 − 0.4, rounded
			t.Errorf("client %d: π %g, λ %g, p %g, want %g, %g and π", i, pi[i], lambda[i], p[i], wantPi, wantLambda)
		}
	}
	states := map[int]bool{} // the clusters seen with and without each other, as bits
	for r := range 500 {
		active := x.Active(r)
		state := 0
		for c := range 10 {
			n := 0
			for _, i := range active {
				if i/10 == c {
					n++
				}
			}
			if n != 0 && n != 10 {
				t.Fatalf("round %d: %d clients of cluster %d, want all of its 10 or none", r, n, c)
			}
			if n == 10 {
				state |= 1 << c
			}
		}
		states[state] = true
	}
	if len(states) < 50 { // five clusters at 0.9 and five at 0.1 alone leave more than this
		t.Errorf("%d different sets of clusters in 500 rounds, want at least 50: they do not move by themselves",
			len(states))
	}
}

// A far round costs its way once: 10,000 rounds of 100 chains.
func BenchmarkChains(b *testing.B) {
	for b.Loop() {
		x := must.Get(New("markov", Defaults(make([]float64, 100), 1)))(b)
		x.Active(9999)
	}
}
