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
		for _, word := range row {
			active += bits.OnesCount64(word)
		}
	}
	return float64(active) / float64(len(r.Rows)*r.Rounds)
}
