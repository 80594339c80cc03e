package fit

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"rollcall/algos/availability"
)

// Test is a test of the hypothesis that clients are independent stationary chains of two states.
type Test struct {
	Statistic float64 // the sum of the clients' χ²
	Expected  float64 // its mean in chains with the fitted π and λ
	P         float64 // NaN: not tested
	Clients   int     // clients tested
}

// Tests are the tests of the chains. All three look at clients with at least fewestTested changes, one of each group,
// and of many at a sample.
type Tests struct {
	// Stationary: the share of active rounds is the same in all parts of the record: Σ (active rounds of a block −
	// their mean)² / their variance over 8 blocks, with the variance of a chain with the client's π and λ. It sees
	// trends, and cycles that are longer than about two blocks.
	Stationary Test
	// Order: a state depends on the one before alone, and not on the one before that, too: Pearson's χ² of the counts
	// of three states for either state in the middle (Anderson and Goodman, 1957). It sees independent rounds of an
	// uneven probability, and habits.
	Order Test
	// Runs: the lengths of the times active and inactive are geometric: χ² in up to five classes.
	Runs Test
}

const (
	fewestTested = 10  // changes that a client must have to be tested
	blocks       = 8   // parts of the record in the test of stationarity
	mostTested   = 500 // clients tested
	fewestDraws  = 20  // simulated records of each client
	allDraws     = 4000
	mostSteps    = 4e7 // simulated rounds in all
)

// testsOf tests the clients with the given rows. The sum of the χ² of many clients adds their deviations from χ²
// as well, which are of the order of 1/T for each. So the mean and the variance of each statistic under the hypothesis
// come from simulated chains with the client's π and λ, which are fitted again to each, a parametric bootstrap
// (A. C. Davison, D. V. Hinkley: Bootstrap Methods and their Application, 1997, section 4.2.3); and P from the gamma
// distribution with this mean and variance, which χ² is of one client, nearly the normal distribution of many.
func testsOf(r *rand.Rand, rows [][]uint64, rounds int) (tests Tests) {
	n := len(rows)
	if most := max(1, int(mostSteps/fewestDraws/float64(rounds))); n > min(mostTested, most) {
		n = min(mostTested, most)
	}
	draws := max(fewestDraws, allDraws/max(n, 1))
	var mean, variance, clients [3]float64
	sum := [3]float64{}
	row := make([]uint64, (rounds+63)/64)
	for _, k := range r.Perm(len(rows))[:n] {
		c := count(rows[k], rounds)
		chain := chainOf(&c)
		pi, lambda := chain.Feasible()
		classes := classesOf(rows[k], rounds)
		seen := statistics(rows[k], &c, pi, chain.Lambda.Value, &classes)
		var first, second [3]float64
		for range draws {
			d := counts{}
			for d.changes() < fewestTested { // as the clients tested
				simulate(r, pi, lambda, rounds, row)
				d = count(row, rounds)
			}
			pi, lambda := estimates(&d)
			x := statistics(row, &d, pi, lambda, &classes)
			for j := range x {
				first[j] += x[j]
				second[j] += x[j] * x[j]
			}
		}
		for j := range first {
			m := first[j] / float64(draws)
			v := (second[j] - float64(draws)*m*m) / float64(draws-1)
			if v > 0 { // else the statistic has no class for this client
				sum[j] += seen[j]
				mean[j] += m
				variance[j] += v * (1 + 1/float64(draws))
				clients[j]++
			}
		}
	}
	for j, t := range []*Test{&tests.Stationary, &tests.Order, &tests.Runs} {
		*t = Test{sum[j], mean[j], math.NaN(), int(clients[j])}
		if clients[j] > 0 {
			t.P = distuv.Gamma{Alpha: mean[j] * mean[j] / variance[j], Beta: mean[j] / variance[j]}.Survival(sum[j])
		}
	}
	return tests
}

// simulate sets row to the rounds of a chain.
func simulate(r *rand.Rand, pi, lambda float64, rounds int, row []uint64) {
	clear(row)
	p := pi
	for t := range rounds {
		x := r.Float64() < p
		p = (1 - lambda) * pi
		if x {
			row[t/64] |= 1 << (t % 64)
			p += lambda
		}
	}
}

// statistics returns the χ² of the three tests for a client. In the sum over clients a table with small counts does no
// harm, as its mean is simulated.
func statistics(row []uint64, c *counts, pi, lambda float64, upTo *[2][]int) [3]float64 {
	order, _ := orderOf(c, 0)
	return [3]float64{stationaryOf(row, c.rounds, pi, lambda), order, runsOf(row, c.rounds, upTo)}
}

// stationaryOf returns Σ (x_b − x̄)²/V of the active rounds x_b of the blocks b. The sum of L rounds of a chain has the
// variance V = π(1−π)(L(1+λ)/(1−λ) − 2λ(1−λ^L)/(1−λ)²).
func stationaryOf(row []uint64, rounds int, pi, lambda float64) float64 {
	length := rounds / blocks
	if length == 0 || !(pi > 0 && pi < 1) || lambda >= 1 {
		return 0
	}
	l := float64(length)
	variance := pi * (1 - pi) * (l*(1+lambda)/(1-lambda) - 2*lambda*(1-math.Pow(lambda, l))/((1-lambda)*(1-lambda)))
	if variance <= 0 { // a client who changes every round has as many in every block, up to one
		variance = 0.25
	}
	var sum, squares float64
	for b := range blocks {
		x := float64(activeBetween(row, b*length, (b+1)*length))
		sum += x
		squares += x * x
	}
	return (squares - sum*sum/blocks) / variance
}

// activeBetween returns how many bits from start up to, but not including, end are 1.
func activeBetween(row []uint64, start, end int) (n int) {
	for k := start / 64; k*64 < end; k++ {
		n += bits.OnesCount64(row[k] & mask(end-64*k) &^ mask(start-64*k))
	}
	return n
}

// orderOf returns Pearson's χ² of second order against first, and its degrees of freedom: for each state in the middle,
// of the two by two table of the states before and after. A table with an expected count below the smallest does not
// count.
func orderOf(c *counts, smallest float64) (chi2 float64, df int) {
	for middle := range 2 {
		n := [2][2]float64{
			{c.triples[0][middle][0], c.triples[0][middle][1]},
			{c.triples[1][middle][0], c.triples[1][middle][1]},
		}
		x, y := [2]float64{n[0][0] + n[0][1], n[1][0] + n[1][1]}, [2]float64{n[0][0] + n[1][0], n[0][1] + n[1][1]}
		all := x[0] + x[1]
		if least := min(x[0], x[1]) * min(y[0], y[1]); least == 0 || least < smallest*all {
			continue
		}
		d := n[0][0]*n[1][1] - n[0][1]*n[1][0]
		chi2 += all * d * d / (x[0] * x[1] * y[0] * y[1])
		df++
	}
	return chi2, df
}

// classesOf returns the longest run, inactive and active, of each of up to five classes of runs but the last. They are
// about equally likely in a geometric distribution, with five runs or more in each; nil if there are fewer than ten.
func classesOf(row []uint64, rounds int) (upTo [2][]int) {
	for state, run := range runs(row, rounds) {
		classes := min(5, len(run)/5)
		stay := stays(run)
		if classes < 2 || stay == 0 {
			continue
		}
		for k := 1; k < classes; k++ {
			longest := int(math.Round(math.Log(1-float64(k)/float64(classes)) / math.Log(stay)))
			if last := len(upTo[state]) - 1; longest > 0 && (last < 0 || longest > upTo[state][last]) {
				upTo[state] = append(upTo[state], longest)
			}
		}
	}
	return upTo
}

// runs returns the lengths of the complete runs of inactive and of active rounds: all but the first and the last.
func runs(row []uint64, rounds int) (lengths [2][]int) {
	for t := 0; t < rounds; {
		state := row[t/64] >> (t % 64) & 1
		end := availability.RunEnd(row, t, rounds)
		if t > 0 && end < rounds {
			lengths[state] = append(lengths[state], end-t)
		}
		t = end
	}
	return lengths
}

// stays returns the probability to stay in a state for another round that the mean length of its runs says.
func stays(run []int) float64 {
	sum := 0
	for _, l := range run {
		sum += l
	}
	return 1 - float64(len(run))/float64(max(sum, 1))
}

// runsOf returns χ² of the lengths of the runs in the classes against the geometric distribution of their mean, summed
// over both states.
func runsOf(row []uint64, rounds int, upTo *[2][]int) (chi2 float64) {
	for state, run := range runs(row, rounds) {
		stay := stays(run)
		if len(upTo[state]) == 0 || len(run) == 0 || stay == 0 {
			continue
		}
		seen := make([]float64, len(upTo[state])+1)
		for _, l := range run {
			k := 0
			for k < len(upTo[state]) && l > upTo[state][k] {
				k++
			}
			seen[k]++
		}
		longer := 1.0 // share of runs longer than those of the classes before
		for k, x := range seen {
			rest := 0.0
			if k < len(upTo[state]) {
				rest = math.Pow(stay, float64(upTo[state][k]))
			}
			want := float64(len(run)) * (longer - rest)
			chi2 += (x - want) * (x - want) / want
			longer = rest
		}
	}
	return chi2
}

// survival returns the probability of at least chi2 in the χ² distribution.
func survival(chi2, df float64) float64 { return distuv.ChiSquared{K: df}.Survival(chi2) }
