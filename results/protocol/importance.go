package protocol

import "rollcall/results"

// Importance returns, for each client, the mean over the rounds of its weight q, 0 where it was absent or left out
// (ToN, figure 1d: the cumulative aggregation weight), and its share p of the sum over all clients (INFOCOM, figure 2:
// the importance; with the weights that entered the model in place of the policy's, since AdaFed's depend on who is
// there [inferred]).
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
