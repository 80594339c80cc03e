package algos

var moreAvailableMethod = Definition{
	Name:  "more-available",
	Brief: "unbiased over clients that are active in more than half of the rounds",
	Idea: "Uses only the clients that are active in more than half of the rounds: their steps vary less, at the " +
		"price of a model that leaves the others out.",
	Formula:  "w += η_g · Σ_{i∈A} q_i Δ_i, q_i = α_i/π_i where π_i > 1/2, otherwise 0",
	Paper:    paperCAFed + ", section V-A",
	Revision: 1, Is: weightedTraits | Chooses,
	Params: weightedParams, start: startUnbiased(moreAvailable),
}

func moreAvailable(m *weighted, _ []int, q []float64) {
	for i, pi := range m.availability.Pi {
		if !(pi > 0.5) {
			q[i] = 0
		}
	}
}
