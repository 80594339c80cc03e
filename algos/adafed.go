package algos

var adaFedMethod = Definition{
	Name:  "adafed",
	Brief: "unbiased with weights that sum to 1 over the active clients",
	Idea: "Normalises the weights of unbiased over the active clients, so that the length of a step does not " +
		"depend on how many are active. Every active client is sampled, as in CA-Fed's papers.",
	Formula: "w += η_g · Σ_{i∈A} q_i Δ_i, q_i = (α_i/π_i) / Σ_{j∈A} α_j/π_j",
	Paper: "L. Tan, X. Zhang, Y. Zhou, X. Che, M. Hu et al.: AdaFed: Optimizing Participation-Aware Federated " +
		"Learning with Adaptive Aggregation Weights, IEEE TNSE 2022",
	Revision: 1, Is: weightedTraits, Params: weightedParams, start: startUnbiased(adaFed),
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
