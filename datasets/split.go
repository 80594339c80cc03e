package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// dirichletPerClient cuts the samples among clients as FedAWE does, and returns each client's, class by class in file
// order: ν_i ~ Dirichlet(alpha·1) over the classes, and the samples of class c, in file order, are cut at
// round(n_c · Σ_{j≤i} ν_jc / Σ_j ν_jc), halves to even. Every sample goes to exactly one client; sizes differ, and a
// client may get none.
//
// Client i's ν is stream (0, i, 0) of rng.Split. It is kept as a logarithm, since with a small alpha most shares are
// too small for a float64, and a class that nobody has a visible share of must still go to whoever has the most of it.
// alpha is any positive finite number down to 1e-300.
//
// With numpy, ν is drawn as FedAWE's released code draws it, the split that code has after numpy.random.seed. An alpha
// so small that NumPy's draws vanish is an error.
func dirichletPerClient(
	train *plan.Samples, clients int, alpha float64, seed uint32, numpy *rng.NumPy,
) ([][]int32, error) {
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	return dirichlet(train, clients, alpha, func(i int) []float64 {
		if numpy == nil {
			return logDirichlet(key.Stream(0, i, rng.SplitStepClients), alpha, train.Classes)
		}
		p := make([]float64, train.Classes)
		numpy.Dirichlet(alpha, p)
		for c := range p {
			p[c] = math.Log(p[c])
		}
		return p
	})
}

// dirichletPerClass cuts the samples among clients as CA-Fed does (ToN, section V-A, after Yurochkin et al. 2019): the
// samples of class c are cut in proportion to one draw from the symmetric Dirichlet(alpha·1) over the clients, stream
// (0, c, 3) of rng.Split, at the places and in the order of [dirichletPerClient]. CA-Fed has alpha = 0.5.
func dirichletPerClass(train *plan.Samples, clients int, alpha float64, seed uint32) ([][]int32, error) {
	key := rng.Key{Seed: seed, Purpose: rng.Split}
	var shares [][]float64 // [classes][clients], logarithms
	return dirichlet(train, clients, alpha, func(i int) []float64 {
		own := make([]float64, train.Classes)
		for c := range own {
			if i == 0 {
				shares = append(shares, logDirichlet(key.Stream(0, c, rng.SplitStepClasses), alpha, clients))
			}
			own[c] = shares[c][i]
		}
		return own
	})
}

// dirichlet cuts the samples; draw returns the logarithms of a client's shares, and is called for one client after the
// other.
func dirichlet(
	train *plan.Samples, clients int, alpha float64, draw func(client int) []float64,
) ([][]int32, error) {
	byClass, err := samplesByClass(train, 1)
	switch {
	case err != nil:
		return nil, err
	case !(alpha >= 1e-300) || math.IsInf(alpha, 1):
		return nil, fmt.Errorf("datasets: split: alpha %g, want a finite positive number (1e-300 or more)", alpha)
	}
	logNu := make([][]float64, clients) // [clients][classes]
	for i := range logNu {
		if logNu[i] = draw(i); slices.ContainsFunc(logNu[i], math.IsNaN) {
			return nil, fmt.Errorf("datasets: split: alpha %g: too small, client %d's shares all vanish", alpha, i)
		}
	}

	parts := make([][]int32, clients)
	share := make([]float64, clients)
	for c, own := range byClass {
		for i := range share {
			share[i] = logNu[i][c]
		}
		total := expScaled(share)
		if math.IsNaN(total) {
			return nil, fmt.Errorf("datasets: split: alpha %g: too small, nobody's share of class %d is left", alpha, c)
		}
		from, sum := 0, 0.0
		for i := range parts {
			sum += share[i]
			to := int(math.RoundToEven(float64(len(own)) * min(sum/total, 1)))
			if i == clients-1 {
				to = len(own)
			}
			parts[i] = append(parts[i], own[from:to]...)
			from = to
		}
	}
	return parts, nil
}

// logDirichlet returns the logarithms of a draw from the symmetric Dirichlet distribution.
func logDirichlet(s *rng.Stream, alpha float64, classes int) []float64 {
	p := make([]float64, classes)
	for c := range p {
		p[c] = s.LogGamma(alpha)
	}
	top, sum := slices.Max(p), expScaled(slices.Clone(p))
	for c := range p {
		p[c] -= top
		p[c] -= math.Log(sum)
	}
	return p
}

// expScaled replaces logarithms by numbers in their proportion, the largest of which is 1, and returns their sum.
func expScaled(x []float64) float64 {
	top, sum := slices.Max(x), 0.0
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	return sum
}

// ClassShares returns, for each client, which share of its samples each class has [clients][classes]: zeros for a
// client without samples, else a sum of 1. parts index labels, which lie below classes.
func ClassShares(parts [][]int32, labels []uint8, classes int) [][]float64 {
	shares := make([][]float64, len(parts))
	for i, part := range parts {
		shares[i] = make([]float64, classes)
		for _, s := range part {
			shares[i][labels[s]]++
		}
		for c := range shares[i] {
			shares[i][c] /= float64(max(len(part), 1))
		}
	}
	return shares
}

// cutClusters cuts the samples among clusters as [dirichletPerClass] does, and each cluster's evenly among its clients,
// who follow one another.
func cutClusters(train *plan.Samples, o SplitOptions, seed uint32) ([][]int32, error) {
	clusters, err := dirichletPerClass(train, o.Clusters, o.Alpha, seed)
	if err != nil {
		return nil, err
	}
	var parts [][]int32
	for c, samples := range clusters {
		parts = append(parts, cutEven(samples, o.Clients/o.Clusters, c, seed)...)
	}
	return parts, nil
}

// cutEven cuts samples into n parts whose sizes differ by one at most, after a shuffle by stream (2, group, 0) of
// rng.Split. Each part is in the order of the file; samples itself is not changed.
func cutEven(samples []int32, n, group int, seed uint32) [][]int32 {
	samples = slices.Clone(samples)
	rng.Key{Seed: seed, Purpose: rng.Split}.Stream(rng.SplitRoundEven, group, 0).Shuffle(samples)
	parts := make([][]int32, n)
	for i := range parts {
		parts[i] = slices.Sorted(slices.Values(samples[i*len(samples)/n : (i+1)*len(samples)/n]))
	}
	return parts
}
