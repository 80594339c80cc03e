package datasets

import (
	"fmt"
	"math"
	"slices"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
)

// dirichlet splits the samples by draws ν from the symmetric distribution Dirichlet(alpha·1). It returns the samples of
// each client, or of each cluster, sorted by class and then by the order of the file. The n_c samples of class c are
// cut at round(n_c · Σ_{j≤i} ν_jc / Σ_j ν_jc), with halves rounded to even. Every sample goes to exactly one client.
// The clients get different numbers of samples, and a client may get none.
//
// For SplitClients, each client i has a draw ν_i over the classes (FedAWE). For the other kinds, each class c has a
// draw over the clients or clusters, in which j has the share ν_jc (CA-Fed, ToN, section V-A, after Yurochkin et al.
// 2019, with alpha = 0.5).
//
// With o.NumPy, the draws and the split are the same as in FedAWE's released code after numpy.random.seed. It is an
// error if alpha is so small that NumPy's draws become 0.
func dirichlet(train *plan.Samples, o SplitOptions, key rng.Key) ([][]int32, error) {
	byClass, err := samplesByClass(train, 1)
	switch {
	case err != nil:
		return nil, err
	case !(o.Alpha >= 1e-300) || math.IsInf(o.Alpha, 1):
		return nil, fmt.Errorf("datasets: split: alpha %g, want a finite positive number (1e-300 or more)", o.Alpha)
	}
	logNu := o.logShares(train.Classes, key)
	for i, nu := range logNu {
		if slices.ContainsFunc(nu, math.IsNaN) {
			return nil, fmt.Errorf("datasets: split: alpha %g: too small, client %d's shares all vanish", o.Alpha, i)
		}
	}

	parts := make([][]int32, len(logNu))
	share := make([]float64, len(logNu))
	for c, own := range byClass {
		for i := range share {
			share[i] = logNu[i][c]
		}
		// Scaled by the largest share of the class, shares that were too small for a float64 become numbers again.
		total := expScaled(share)
		if math.IsNaN(total) {
			return nil, fmt.Errorf("datasets: split: alpha %g: too small, no client's share of class %d is left",
				o.Alpha, c)
		}
		from, sum := 0, 0.0
		for i := range parts {
			sum += share[i]
			to := int(math.RoundToEven(float64(len(own)) * min(sum/total, 1)))
			// The last client gets the rest of the class, whatever the rounding of the sum.
			if i == len(parts)-1 {
				to = len(own)
			}
			parts[i] = append(parts[i], own[from:to]...)
			from = to
		}
	}
	return parts, nil
}

// logShares returns log ν [clients or clusters][classes] for the draws ν of [dirichlet]. It returns logarithms because
// with a small alpha most shares are too small for a float64, and a class in which all shares are so small must still
// go to the client with the largest share.
//
// Stream (0, i, 0) of rng.Split has the draw of client i, and stream (0, c, 3) the draw of class c.
func (o *SplitOptions) logShares(classes int, key rng.Key) [][]float64 {
	receivers := o.Clients
	if o.Kind == SplitClusters {
		receivers = o.Clusters
	}
	draws, width, step := classes, receivers, rng.SplitStepClasses
	if o.Kind == SplitClients {
		draws, width, step = receivers, classes, rng.SplitStepClients
	}
	shares := make([][]float64, draws)
	for d := range shares {
		if o.NumPy == nil {
			shares[d] = logDirichlet(key.Stream(0, d, step), o.Alpha, width)
			continue
		}
		shares[d] = make([]float64, width)
		o.NumPy.Dirichlet(o.Alpha, shares[d])
		for c, p := range shares[d] {
			shares[d][c] = math.Log(p)
		}
	}
	if o.Kind == SplitClients {
		return shares
	}
	return transposed(shares)
}

// logDirichlet returns the logarithms of the n shares of a draw from a symmetric Dirichlet distribution.
func logDirichlet(s *rng.Stream, alpha float64, n int) []float64 {
	p := make([]float64, n)
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

// expScaled replaces logarithms by the exponentials, scaled so that the largest is 1, and returns the sum.
func expScaled(x []float64) float64 {
	top, sum := slices.Max(x), 0.0
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	return sum
}

// transposed returns y with y[j][i] = x[i][j]; x must have a row.
func transposed(x [][]float64) [][]float64 {
	y := make([][]float64, len(x[0]))
	for _, row := range x {
		for j, v := range row {
			y[j] = append(y[j], v)
		}
	}
	return y
}
