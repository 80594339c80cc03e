package datasets

import (
	"math"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/internal/longtest"
)

// 50 and 150 samples a client, one client after the other; groups at random on paper, the second half in the code.
func TestBinaryGroups(t *testing.T) {
	longtest.Numbers(t)
	const clients = 2000
	for _, reading := range []Reading{ReadPaper, ReadCode} {
		set := generated(t, "binary", Options{Seed: 4, Clients: clients, Reading: reading})
		second, halves := 0, true
		for k, g := range set.Split.Group {
			second += g
			halves = halves && g == 2*k/clients
			if train, test := set.Split.Train[k], set.Split.Test[k]; len(train) != 50 || len(test) != 150 ||
				train[0] != int32(50*k) || test[149] != int32(150*k+149) {
				t.Fatalf("%s: client %d: %d samples from %d on for training and %d for testing, "+
					"want 50 from %d on and 150", reading, k, len(train), train[0], len(test), 50*k)
			}
		}
		// five standard errors of a fair coin; in the code the half exactly
		if tol := 5 * math.Sqrt(clients) / 2; math.Abs(float64(second)-clients/2) > tol ||
			halves != (reading == ReadCode) {
			t.Errorf("%s: %d of %d clients in group 1, the second half: %t", reading, second, clients, halves)
		}
	}
}

// Features are standard normal and independent; labels of group 0 are 1 with probability σ(⟨w*, x⟩), of group 1 with
// one a fifth of the way back: counted in bins of σ. Tolerance: five standard errors of a binomial count.
func TestBinaryLabels(t *testing.T) {
	longtest.Numbers(t)
	const clients = 2000
	set := generated(t, "binary", Options{Seed: 4, Clients: clients, Reading: ReadPaper})
	var model [binaryFeatures]float64
	r := rng.Key{Seed: 4, Purpose: rng.Generated}.Stream(0, 0, rng.GeneratedStepBinaryModel)
	for j := range model {
		model[j] = r.Normal()
	}
	const bins = 5
	var ones, sum, variance [2][bins]float64
	columns := make([][]float64, binaryFeatures)
	for part, s := range []*plan.Samples{set.Train, set.Test} {
		for k, own := range [][][]int32{set.Split.Train, set.Split.Test}[part] {
			for _, i := range own {
				x, z := s.Features[int(i)*binaryFeatures:][:binaryFeatures], 0.0
				for j, v := range x {
					z += model[j] * float64(v)
					if part == 0 {
						columns[j] = append(columns[j], float64(v))
					}
				}
				g, p := set.Split.Group[k], 1/(1+math.Exp(-z))
				bin := min(int(p*bins), bins-1)
				if g == 1 {
					p = 0.8*p + 0.2*(1-p)
				}
				ones[g][bin] += float64(s.Labels[i])
				sum[g][bin] += p
				variance[g][bin] += p * (1 - p)
			}
		}
	}
	for g := range ones {
		for bin := range bins {
			if got, want, tol := ones[g][bin], sum[g][bin], 5*math.Sqrt(variance[g][bin]); variance[g][bin] < 100 ||
				math.Abs(got-want) > tol {
				t.Errorf("group %d bin %d: %g ones, want %.0f ± %.0f", g, bin, got, want, tol)
			}
		}
	}
	for j, column := range columns {
		moment(t, "feature", column, 0, 1)
		if j > 0 {
			product := 0.0
			for i, v := range column {
				product += v * columns[j-1][i] / float64(len(column))
			}
			if tol := 5 / math.Sqrt(float64(len(column))); math.Abs(product) > tol {
				t.Errorf("features %d and %d: mean product %g, want 0 ± %.2g", j-1, j, product, tol)
			}
		}
	}
}
