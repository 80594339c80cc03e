package algos

// adaFed normalises the weights of unbiased over the active clients (Tan et al., IEEE TNSE 2022, with every active
// client sampled, as in CA-Fed's papers): q_i = (α_i/π_i) / Σ_{j∈A} α_j/π_j.
var adaFedMethod = Definition{
	Name: "adafed", Revision: 1, Is: weightedTraits, Params: weightedParams, start: startUnbiased(adaFed),
}

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
