package algos

// adaFed normalises the unbiased weights among the clients that are there (Tan et al., IEEE TNSE 2022, with every
// active client sampled, as CA-Fed's papers run it): q_i = (α_i/π_i) / Σ_{j∈A} α_j/π_j.
var adaFedMethod = Definition{"adafed", 1, weightedParams, startUnbiased(adaFed)}

func adaFed(_ *weighted, active []int, q []float64) {
	sum := 0.0
	for _, i := range active {
		sum += q[i]
	}
	if sum > 0 {
		for i := range q {
			q[i] /= sum
		}
	}
}
