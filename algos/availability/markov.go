package availability

import "fmt"

// Form says which classes of clients the markov model has.
type Form string

// The forms.
const (
	// PaperForm has four classes: half of the clients have π = 1/2 + g, the others π = 1/2 − g. In each half, one half
	// is correlated, λ = ν, and the other weakly correlated, λ ~ N(0, ε²) (INFOCOM and ToN, section V-A).
	PaperForm Form = "paper"
	// CodeForm has the three classes of ToN's figure 1d: half of the clients have π = 1/2 + g and are weakly
	// correlated, a quarter has π = 1/2 − g and is weakly correlated, and a quarter has π = 1/2 − g and λ = ν. Weakly
	// correlated is λ ~ (N(0, ε²) + ε)/2, as in the released code, whose constant .01 is taken for ε [inferred].
	CodeForm Form = "code"
)

// markov: every client has a chain of its own (CA-Fed, section V-A), see [chains]. (π_i, λ_i) depends on the class of
// the client, see [Form]; each group of clients is split into the classes uniformly at random. If a number to be halved
// is odd, the client left over is less available, or weakly correlated [inferred]. With o.Drawn the class of each
// client is an independent draw, so that the classes have their shares on average only. That is how the released code
// makes the classes of MNIST and CIFAR-10: it draws their sizes from a multinomial distribution, and then who is in
// them.
func markov(o Options) (Model, error) {
	n := len(o.Base)
	pi, lambda, err := o.classes(n)
	if err != nil {
		return nil, err
	}
	return newChains(n, o.Seed, pi, lambda, "client")
}

func (o *Options) spread() error {
	if !(o.G >= 0 && o.G < 0.5) {
		return fmt.Errorf("g %g, want at least 0 and below 0.5", o.G)
	}
	return nil
}

// classes returns π_i and λ_i of every client [n]. Stream (0, k, 2) of [rng.Availability] shuffles group k before it is
// split, the normal number of client i is the first of stream (0, i, 1), and its drawn class the first of stream (0, i,
// 4).
func (o *Options) classes(n int) (pi, lambda []float64, err error) {
	if err := o.spread(); err != nil {
		return nil, nil, err
	}
	if !(o.Epsilon >= 0 && o.Epsilon < 1) {
		return nil, nil, fmt.Errorf("epsilon %g, want at least 0 and below 1", o.Epsilon)
	}
	if o.Form != PaperForm && o.Form != CodeForm {
		return nil, nil, fmt.Errorf("form %q: unknown, want %s or %s", o.Form, PaperForm, CodeForm)
	}
	groups, err := o.groups(n)
	if err != nil {
		return nil, nil, err
	}
	pi, lambda = make([]float64, n), make([]float64, n)
	key := drawsOf(o.Seed)
	for k, members := range groups {
		key.Stream(0, k, 2).Shuffle(members)
		// The members up to more are more available; those up to each of the other bounds in their half are correlated.
		more := len(members) / 2
		moreCorrelated, lessCorrelated := more/2, more+(len(members)-more)/2
		for place, i := range members {
			if o.Drawn { // a place in a group of four
				more, moreCorrelated, lessCorrelated = 2, 1, 3
				place = key.Stream(0, int(i), 4).IntN(4)
			}
			pi[i] = 0.5 - o.G
			correlated := place < lessCorrelated
			if place < more {
				pi[i] = 0.5 + o.G
				correlated = place < moreCorrelated && o.Form == PaperForm
			}
			if correlated {
				lambda[i] = o.Nu
				continue
			}
			lambda[i] = o.Epsilon * key.Stream(0, int(i), 1).Normal()
			if o.Form == CodeForm {
				lambda[i] = (lambda[i] + o.Epsilon) / 2
			}
		}
	}
	return pi, lambda, nil
}

// groups returns the clients of each group; without Groups, all clients are one group.
func (o *Options) groups(n int) (members [][]int32, err error) {
	if o.Groups != nil && len(o.Groups) != n {
		return nil, fmt.Errorf("groups of %d clients, want %d", len(o.Groups), n)
	}
	members = make([][]int32, 1)
	for i := range n {
		k := 0
		if o.Groups != nil {
			k = o.Groups[i]
		}
		if k < 0 || k >= n {
			return nil, fmt.Errorf("client %d: group %d, want 0 … %d", i, k, n-1)
		}
		for k >= len(members) {
			members = append(members, nil)
		}
		members[k] = append(members[k], int32(i))
	}
	return members, nil
}

// clusters: the clients of a cluster share one chain (CA-Fed, ToN, figure 5), see [chains]. Cluster c of C holds the
// N/C clients from c·N/C on [inferred]. With ten clusters and g = 0.4 the chains are the figure's.
func clusters(o Options) (Model, error) {
	n := len(o.Base)
	if o.Clusters < 1 || n%o.Clusters != 0 {
		return nil, fmt.Errorf("%d clusters for %d clients, want a divisor of %d", o.Clusters, n, n)
	}
	if err := o.spread(); err != nil {
		return nil, err
	}
	pi, lambda := make([]float64, o.Clusters), make([]float64, o.Clusters)
	for c := range pi {
		pi[c] = 0.5 + o.G
		if 2*c >= o.Clusters {
			pi[c], lambda[c] = 0.5-o.G, float64(c)/float64(o.Clusters)
		}
	}
	return newChains(n, o.Seed, pi, lambda, "cluster")
}

// markovQ: every client has a chain of its own (IBM's released code of FedAU). It comes with probability q, whoever it
// is, and goes with probability q(1/p_i − 1), at most 1, so that π_i = p_i; below p_i = q/(1+q), where the bound holds,
// π_i = q/(1+q). It starts from π_i, and with p_i = 1 stays.
func markovQ(o Options) (Model, error) {
	if !(o.Q > 0 && o.Q <= 1) {
		return nil, fmt.Errorf("q %g, want above 0 and at most 1", o.Q)
	}
	pi, lambda := make([]float64, len(o.Base)), make([]float64, len(o.Base))
	for i, p := range o.Base {
		pi[i], lambda[i] = stationaryOf(o.Q, min(1, o.Q*(1/p-1)))
	}
	return follow(len(pi), &chains{history: historyOf(len(pi)), key: drawsOf(o.Seed), pi: pi, lambda: lambda}), nil
}

// stationaryOf returns π and λ of a chain that becomes active with probability come, and inactive with probability
// leave, of which one is above 0. A chain that never leaves a state has no transitions to correlate: its λ is 0.
func stationaryOf(come, leave float64) (pi, lambda float64) {
	switch {
	case come == 0:
		return 0, 0
	case leave == 0:
		return 1, 0
	}
	return come / (come + leave), 1 - come - leave
}
