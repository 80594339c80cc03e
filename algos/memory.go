package algos

import (
	"context"
	"math"

	"rollcall/nets"
)

// memory is the base of the methods that remember the latest update of every client: MIFA, FedVARP and FedAR. A client
// that was never active counts as an update of zero.
//
// The row y_i holds Δ_i, and rate_i the learning rate η of its round. Where a method remembers Δ_i/η, the factor
// η_t/rate_i makes up for it: dividing the row by η would round once more.
type memory struct {
	global
	byRate bool
	y      []nets.Row // [N] y_i
	seen   []bool     // [N] whether y_i was ever set
	rate   []float64  // [N] η of the round of y_i; only if byRate
}

// The values of parameter memory: what a client's remembered update is.
const (
	memoryRaw  = "raw"  // Δ_i
	memoryRate = "rate" // Δ_i/η of the round of Δ_i, which enters the step with η of the present round
)

// FedAWE's released code remembers Δ_i. MIFA's authors remember Δ_i/η (update_table in their trainer), as FedAR does in
// its equation 4. The two differ where η falls from round to round: by rate, an old update does not outweigh new ones.
// FedVARP's paper has a constant rate; it follows MIFA here [inferred].
var memoryParam = &Param{
	Name: "memory", Kind: Word, Default: memoryRaw, Paper: memoryRate, Words: []string{memoryRaw, memoryRate},
	Help: "mifa, mifa-wait, fedvarp: remember a client's update as it is (raw), or divided by the learning rate of " +
		"its round and multiplied by that of the present round (rate) (default: raw in preset code, rate in preset " +
		"paper and in FedAR's tables)",
}

// newMemory starts with the model w0 and an empty memory, as --memory says.
func newMemory(s *server, w0 []float32, o Options) (memory, error) {
	return newMemoryOf(s, w0, o, memoryParam.Text(o) == memoryRate)
}

// newMemoryOf is newMemory for updates by rate, or raw ones.
func newMemoryOf(s *server, w0 []float32, o Options, byRate bool) (memory, error) {
	g, err := newGlobal(s, w0, o)
	if err != nil {
		return memory{}, err
	}
	y, err := s.Rows(s.N)
	return memory{g, byRate, y, make([]bool, s.N), make([]float64, s.N)}, err
}

func (m *memory) state(p *parts) {
	m.global.state(p)
	p.flags("seen", each(m.seen)...)
	p.rows("y", chosen(m.y, m.seen)...)
	if m.byRate {
		p.floats("rate", chosen(each(m.rate), m.seen), math.SmallestNonzeroFloat64, math.MaxFloat64)
	}
}

// updateMemory trains the active clients from w, and remembers the update of each. The local steps end in the row of
// y_i, from which w is then subtracted, so that no other rows are needed. The running statistics that they end with
// stay in that row until the client trains again, for [memory.move] in the same round alone.
func (m *memory) updateMemory(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.trainTo(ctx, r, chosen(m.y, present(r.Active, m.N)))
	if err != nil {
		return nil, err
	}
	for _, i := range r.Active {
		if err := m.subtract(m.y[i], m.y[i], m.w); err != nil {
			return nil, err
		}
		m.remember(i, r)
	}
	return loss, nil
}

func (m *memory) remember(i int, r Round) { m.seen[i], m.rate[i] = true, r.LR }

// scale returns the factor with which the row of y_i, which was seen, enters the step of round r with the rate lr of
// the server: lr, or by rate lr·η_t/rate_i.
func (m *memory) scale(i int, r Round, lr float64) float64 {
	if !m.byRate {
		return lr
	}
	return lr * r.LR / m.rate[i]
}

// share returns the terms η·d_i·y_i of the clients seen so far, where weight(i, η_i) is η_i·d_i and η_i the factor of
// y_i, see [memory.scale].
func (m *memory) share(r Round, weight func(i int, scale float64) float64) func(lr float64) terms {
	return func(lr float64) (sum terms) {
		for i, y := range m.y {
			if m.seen[i] {
				sum.add(weight(i, m.scale(i, r, lr)), y)
			}
		}
		return sum
	}
}

// move makes the round's step along the memory alone. The running statistics are of the clients that have just trained:
// the statistics of other clients in the memory are old.
func (m *memory) move(r Round, weight func(i int, scale float64) float64) error {
	return m.step(m.w, r, update{
		clients: r.Active, memory: m.share(r, weight), buffers: chosen(m.y, present(r.Active, m.N)),
	})
}
