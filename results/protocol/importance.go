package protocol

import "rollcall/results"

// Importance returns two numbers for each client of one run. q is the client's weight, averaged over the rounds, with 0
// in rounds in which it was absent or excluded (ToN, figure 1d: the cumulative aggregation weight). p is the client's
// share of the sum of q (INFOCOM, figure 2: the importance). The paper computes p from the weights of the policy; here
// it comes from the weights that entered the model, since AdaFed's weights depend on who is available [inferred].
func Importance(rows []results.DecisionRow) (q, p []float64) {
	n := results.ClientsOf(rows)
	if n == 0 {
		return nil, nil
	}
	q, p = make([]float64, n), make([]float64, n)
	sum := 0.0
	for _, r := range rows {
		q[r.Client] += r.Weight / float64(len(rows)/n)
	}
	for _, v := range q {
		sum += v
	}
	for i, v := range q {
		if sum > 0 {
			p[i] = v / sum
		}
	}
	return q, p
}
