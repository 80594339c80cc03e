package availability

import "fmt"

// clusters: the clients of a cluster share one chain (CA-Fed, ToN, figure 5), see [chains]. Cluster c of C holds the
// N/C clients from c·N/C on [inferred]. The clusters have
//
//	π = 1/2 + g and λ = 0 in the first half,  π = 1/2 − g and λ = c/C in the second
//
// With ten clusters and g = 0.4 these are the figure's values.
func clusters(o Options) (Process, error) {
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
