package algos

// moreAvailable uses only the clients that are active in more than half of the rounds (CA-Fed, ToN, section V-A c):
// q_i = α_i/π_i where π_i > 1/2, otherwise 0.
var moreAvailableMethod = Definition{
	Name: "more-available", Revision: 1, Is: weightedTraits | Chooses,
	Params: weightedParams, start: startUnbiased(moreAvailable),
}

func moreAvailable(m *weighted, _ []int, q []float64) {
	for i, pi := range m.availability.Pi {
		if !(pi > 0.5) {
			q[i] = 0
		}
	}
}
