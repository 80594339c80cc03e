package availability

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// outages is an independent model in which groups of clients with neighbouring numbers fail together: a group is away
// in a share o of the rounds, by a chain of its own with eigenvalue λ_g, see [chains]. So p_i^t = q_i^t(1−o), where q
// is the model's.
//
// [Options].Outages is o:λ_g:G, with G groups. The chain of group g reads streams (t+1, g, 1) of
// [rng.Availability].
type outages struct {
	*independent
	up     *chains // the groups that are there
	share  float64 // o
	lambda float64 // λ_g
}

func withOutages(m *independent, text string) (Model, error) {
	parts, n := strings.Split(text, ":"), len(m.Base)
	if len(parts) != 3 {
		return nil, fmt.Errorf("outages %q: want o:lambda:groups, the share of rounds away, the chain's λ and "+
			"how many groups", text)
	}
	o, errO := strconv.ParseFloat(parts[0], 64)
	lambda, errLambda := strconv.ParseFloat(parts[1], 64)
	groups, errGroups := strconv.Atoi(parts[2])
	if err := errors.Join(errO, errLambda, errGroups); err != nil || groups < 1 || groups > n {
		return nil, fmt.Errorf("outages %q: want two numbers and 1 … %d groups", text, n)
	}
	if err := feasible(1-o, lambda); err != nil {
		return nil, fmt.Errorf("outages %q: a group that is there with %w", text, err)
	}
	up := &chains{
		history: historyOf(groups), key: drawsOf(m.Seed), step: 1,
		pi: slices.Repeat([]float64{1 - o}, groups), lambda: slices.Repeat([]float64{lambda}, groups),
	}
	return &outages{m, up, o, lambda}, nil
}

func (m *outages) Probabilities(t int, p []float64) {
	m.independent.Probabilities(t, p)
	for i := range p {
		p[i] *= 1 - m.share
	}
}

func (m *outages) Active(t int) []int {
	return slices.DeleteFunc(m.independent.Active(t), func(i int) bool {
		return !m.up.active(t, groupOf(i, len(m.up.pi), len(m.Base)))
	})
}

// Stationary returns π = q(1−o) and λ = q·o·λ_g/(1 − q(1−o)), with the mean q of a cycle.
func (m *outages) Stationary() (pi, lambda []float64) {
	pi, lambda = m.independent.Stationary()
	for i, q := range pi {
		pi[i] = q * (1 - m.share)
		if q > 0 { // not −0
			lambda[i] = q * m.share * m.lambda / (1 - pi[i])
		}
	}
	return pi, lambda
}
