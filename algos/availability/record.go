package availability

import "math/bits"

// Record says which of N clients are active in which of the rounds 0 … T−1, a bit for each.
type Record struct {
	Rounds int // T
	// Client i is active in round t if bit t%64 of Rows[i][t/64] is 1. Bits from T on are 0. [N][⌈T/64⌉]
	Rows [][]uint64
}

// NewRecord returns the record of n clients who are never active.
func NewRecord(n, rounds int) Record {
	words := (rounds + 63) / 64
	bits := make([]uint64, n*words)
	r := Record{Rounds: rounds, Rows: make([][]uint64, n)}
	for i := range r.Rows {
		r.Rows[i] = bits[i*words:][:words:words]
	}
	return r
}

// RecordOf returns the first rounds of a model of n clients.
func RecordOf(m Model, n, rounds int) Record {
	r := NewRecord(n, rounds)
	for t := range rounds {
		for _, i := range m.Active(t) {
			r.Set(i, t)
		}
	}
	return r
}

// Set makes client i active in round t.
func (r *Record) Set(i, t int) { r.Rows[i][t/64] |= 1 << (t % 64) }

// Active reports whether client i is active in round t.
func (r *Record) Active(i, t int) bool { return r.Rows[i][t/64]>>(t%64)&1 == 1 }

// Mean returns the share of all clients and rounds in which a client is active.
func (r *Record) Mean() float64 {
	active := 0
	for _, row := range r.Rows {
		active += Ones(row)
	}
	return float64(active) / float64(len(r.Rows)*r.Rounds)
}

// PerRound returns how many clients are active in each round [T].
func (r *Record) PerRound() []float64 {
	active := make([]float64, r.Rounds)
	for _, row := range r.Rows {
		for k, word := range row {
			for ; word != 0; word &= word - 1 {
				active[64*k+bits.TrailingZeros64(word)]++
			}
		}
	}
	return active
}

// Ones returns in how many rounds of a row a client is active.
func Ones(row []uint64) (rounds int) {
	for _, word := range row {
		rounds += bits.OnesCount64(word)
	}
	return rounds
}

// RunEnd returns the first round after t in which the client of a row is in another state than in round t, or rounds.
func RunEnd(row []uint64, t, rounds int) int {
	state := row[t/64] >> (t % 64) & 1
	for k := t / 64; k < len(row); k++ {
		other := row[k] ^ -state // a bit is 1 where the state is another one
		if k == t/64 {
			other &= ^uint64(0) << (t % 64)
		}
		if other != 0 {
			return min(64*k+bits.TrailingZeros64(other), rounds)
		}
	}
	return rounds
}
