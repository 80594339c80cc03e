// Package describe holds the statistics of a record of who is active: how long clients stay and stay away, how their
// activity depends on earlier rounds, and what chains of two states lead one to expect.
//
//	record := availability.RecordOf(model, clients, rounds)
//	active, _ := describe.Runs(record)
//	survival := active.Survival() // P(run ≥ k) at k−1
//	expected := describe.ChainRuns(pi, lambda, true, len(survival)) // the same of clients who follow chains
package describe

import (
	"math"
	"math/bits"

	"rollcall/algos/availability"
)

// PerRound returns the share of clients that are active in each round [T].
func PerRound(r availability.Record) []float64 {
	share := r.PerRound()
	for t := range share {
		share[t] /= float64(len(r.Rows))
	}
	return share
}

// PerClient returns the share of rounds in which each client is active [N].
func PerClient(r availability.Record) []float64 {
	share := make([]float64, len(r.Rows))
	for i, row := range r.Rows {
		share[i] = float64(availability.Ones(row)) / float64(r.Rounds)
	}
	return share
}

// Lengths are the numbers of runs by their length: index k is the number of runs of k rounds.
type Lengths struct {
	Ended []int // runs that are seen whole
	Cut   []int // runs that the end of the record cuts: they take k rounds at least
}

// Runs returns the lengths of the runs of rounds in which a client is active, and of those in which it is away, over
// all clients. The run of round 0 has begun nobody knows when, and is left out.
func Runs(r availability.Record) (active, away Lengths) {
	kinds := [2]*Lengths{&away, &active}
	for _, row := range r.Rows {
		if r.Rounds == 0 {
			break
		}
		state := row[0] & 1
		for from := availability.RunEnd(row, 0, r.Rounds); from < r.Rounds; {
			state ^= 1
			to := availability.RunEnd(row, from, r.Rounds)
			if to < r.Rounds {
				kinds[state].Ended = counted(kinds[state].Ended, to-from)
			} else {
				kinds[state].Cut = counted(kinds[state].Cut, to-from)
			}
			from = to
		}
	}
	return active, away
}

// counted adds 1 to counts[k], which grows as needed.
func counted(counts []int, k int) []int {
	if k >= len(counts) {
		counts = append(counts, make([]int, k+1-len(counts))...)
	}
	counts[k]++
	return counts
}

// Survival returns the estimate of P(run ≥ k) for k = 1, 2, …, at index k−1, by E. L. Kaplan and P. Meier:
// Nonparametric Estimation from Incomplete Observations, JASA 1958. It ends after the longest run, and is empty if
// there is no run.
func (l Lengths) Survival() []float64 {
	longest := max(len(l.Ended), len(l.Cut)) - 1
	risk := 0 // runs of k rounds at least
	for _, counts := range [][]int{l.Ended, l.Cut} {
		for _, n := range counts {
			risk += n
		}
	}
	var survival []float64
	p := 1.0
	for k := 1; k <= longest; k++ {
		survival = append(survival, p)
		if k < len(l.Ended) {
			p *= 1 - float64(l.Ended[k])/float64(risk)
			risk -= l.Ended[k]
		}
		if k < len(l.Cut) {
			risk -= l.Cut[k]
		}
	}
	return survival
}

// ChainRuns returns P(run ≥ k) for k = 1 … longest, at index k−1, over the runs of clients who follow chains of two
// states with these π and λ [N]. A client's runs are geometric: each further round has the probability λ + (1−λ)π
// if it is active, λ + (1−λ)(1−π) if it is away. It begins π(1−π)(1−λ) runs of either state in a round, which is its
// weight. ChainRuns returns nil if nobody ever begins one.
func ChainRuns(pi, lambda []float64, active bool, longest int) []float64 {
	survival := make([]float64, longest)
	total := 0.0
	for i := range pi {
		weight := pi[i] * (1 - pi[i]) * (1 - lambda[i])
		here := pi[i]
		if !active {
			here = 1 - pi[i]
		}
		stay := lambda[i] + (1-lambda[i])*here
		total += weight
		for k := 0; k < longest && weight > 0; k++ {
			survival[k] += weight
			weight *= stay
		}
	}
	if total == 0 {
		return nil
	}
	for k := range survival {
		survival[k] /= total
	}
	return survival
}

// Autocorrelation returns the autocorrelation of activity at the lags 0 … lags [lags+1], the mean over the clients that
// change, and which clients do [N]. Client i has
//
//	r_k = Σ_{t<T−k} (a_t − ā)(a_{t+k} − ā) / Σ_t (a_t − ā)²,
//
// ā is its share of rounds. A client who is always active, or never, has none. The mean is nil if nobody changes.
func Autocorrelation(r availability.Record, lags int) (mean []float64, changes []bool) {
	mean, changes = make([]float64, lags+1), make([]bool, len(r.Rows))
	clients := 0
	for i, row := range r.Rows {
		ones := availability.Ones(row)
		if changes[i] = ones > 0 && ones < r.Rounds; !changes[i] {
			continue
		}
		clients++
		share := float64(ones) / float64(r.Rounds)
		variance := float64(ones) * (1 - share)
		early, late := ones, ones // active rounds among the first T−k, and from round k on
		for k := range min(lags, r.Rounds-1) + 1 {
			if k > 0 {
				early -= bit(row, r.Rounds-k)
				late -= bit(row, k-1)
			}
			sum := float64(both(row, k)) - share*float64(early+late) + float64(r.Rounds-k)*share*share
			mean[k] += sum / variance
		}
	}
	if clients == 0 {
		return nil, changes
	}
	for k := range mean {
		mean[k] /= float64(clients)
	}
	return mean, changes
}

// bit returns the state in round t.
func bit(row []uint64, t int) int { return int(row[t/64] >> (t % 64) & 1) }

// both returns the number of rounds t in which a client is active, and in round t+k as well.
func both(row []uint64, k int) (rounds int) {
	words, shift := k/64, k%64
	for w := 0; w+words < len(row); w++ {
		later := row[w+words] >> shift
		if w+words+1 < len(row) {
			later |= row[w+words+1] << (64 - shift) // 0 if shift is 0
		}
		rounds += bits.OnesCount64(row[w] & later)
	}
	return rounds
}

// ChainAutocorrelation returns what [Autocorrelation] is expected to be, at the lags 0 … lags, if clients follow chains
// with these λ: the mean of λ^k over them, less what the estimate from T rounds, 2 at least, misses because it is
// centred with the mean of the same rounds. That is the ratio of the expected sums, and tends to the mean of λ^k with
// T. Chains with λ = 1 never change, and are left out. The mean is nil if none is left.
func ChainAutocorrelation(lambda []float64, rounds, lags int) []float64 {
	mean, clients, T := make([]float64, lags+1), 0, float64(rounds)
	for _, l := range lambda {
		if l == 1 {
			continue
		}
		clients++
		// with(m) is Σ_{t<m} Cov(a_t, ā) / Var(a), from Σ_s λ^|t−s| = (1 + λ − λ^{t+1} − λ^{T−t}) / (1−λ).
		with := func(m int) float64 {
			first := (1 - math.Pow(l, float64(m))) / (1 - l) // Σ_{t<m} λ^t
			last := math.Pow(l, float64(rounds-m+1)) * first // Σ_{t<m} λ^{T−t}
			return (float64(m)*(1+l) - l*first - last) / ((1 - l) * T)
		}
		v := with(rounds) / T // Var(ā) / Var(a)
		for k := range min(lags, rounds-1) + 1 {
			sum := (T-float64(k))*(math.Pow(l, float64(k))+v) - 2*with(rounds-k)
			mean[k] += sum / (T * (1 - v))
		}
	}
	if clients == 0 {
		return nil
	}
	for k := range mean {
		mean[k] /= float64(clients)
	}
	return mean
}
