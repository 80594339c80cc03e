package algos

// moreAvailable takes only the clients that are there more often than not
// (CA-Fed, ToN, section V-A c): q_i = α_i/π_i where π_i > 1/2, else 0.
var moreAvailableMethod = Definition{"more-available", 1, weightedParams, startUnbiased(moreAvailable)}

func moreAvailable(m *weighted, _ []int, q []float64) {
	for i, pi := range m.availability.Pi {
		if !(pi > 0.5) {
			q[i] = 0
		}
	}
}
