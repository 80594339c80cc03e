package algos

import (
	"context"
	"math"

	"rollcall/nets"
)

// memory is the base of the methods that remember the latest update of every client: MIFA, FedVARP and FedAR. A client
// that was never active counts as an update of zero.
//
// The row y_i holds Δ_i, and rate_i the learning rate η of its round. Where a method remembers Δ_i/η, a factor 1/rate_i
// makes up for it: dividing the row by η would round once more.
type memory struct {
	global
	byRate bool
	y      []nets.Row // [N] y_i
	seen   []bool     // [N] whether y_i was ever set
	rate   []float64  // [N] η of the round of y_i; only if byRate
}

// newMemory starts with the model w0 and an empty memory, of updates by rate or of raw ones.
func newMemory(s *server, w0 []float32, o Options, byRate bool) (memory, error) {
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

// summed is a memory that keeps the sum of its updates from round to round, so that a round costs time in proportion to
// its active clients, not to all N:
//
//	sum = Σ y_i, or with --memory rate Σ y_i/rate_i
//
// What rounding adds up to is gone after every round whose number is a multiple of [sumEvery]: it adds all N updates.
type summed struct {
	memory
	sum    nets.Row
	change nets.Row // of the sum in the round
}

const (
	sumEvery = 100 // rounds
	sumBlock = 256 // updates added in one go: the shorter the sums, the smaller their error
)

// newSummed starts with the model w0 and an empty memory, as --memory says.
func newSummed(s *server, w0 []float32, o Options) (summed, error) {
	m, err := newMemory(s, w0, o, memoryParam.Text(o) == memoryRate)
	if err != nil {
		return summed{}, err
	}
	rows, err := s.Rows(2)
	if err != nil {
		return summed{}, err
	}
	return summed{m, rows[0], rows[1]}, nil
}

func (m *summed) state(p *parts) {
	m.memory.state(p)
	p.rows("sum", m.sum)
}

// train runs the local steps of the active clients from w, and sets change. It returns a row for every active client,
// with Δ_i and the running statistics that the steps ended with.
func (m *summed) train(ctx context.Context, r Round) (updates []nets.Row, loss []float32, err error) {
	if updates, loss, err = m.local(ctx, r); err != nil {
		return nil, nil, err
	}
	// Old and new updates alternate, because the smaller the sums on the way, the smaller their error.
	var change terms
	for k, i := range r.Active {
		if err := m.subtract(updates[k], updates[k], m.w); err != nil {
			return nil, nil, err
		}
		change.add(m.factor(r.LR), updates[k])
		if m.seen[i] {
			change.add(-m.factor(m.rate[i]), m.y[i])
		}
	}
	return updates, loss, m.set(m.change, change)
}

// remember keeps what train has returned, and adds the change to the sum.
func (m *summed) remember(r Round, updates []nets.Row) error {
	for k, i := range r.Active {
		if err := m.set(m.y[i], terms{[]float64{1}, updates[k : k+1]}); err != nil {
			return err
		}
		m.seen[i], m.rate[i] = true, r.LR
	}
	if (r.T+1)%sumEvery == 0 {
		return m.sumAll()
	}
	return m.addChange()
}

// sumAll sets the sum to the sum of all updates.
func (m *summed) sumAll() error {
	if err := m.set(m.sum, terms{}); err != nil {
		return err
	}
	for lo := 0; lo < m.N; lo += sumBlock {
		var block terms
		for i := lo; i < min(lo+sumBlock, m.N); i++ {
			if m.seen[i] {
				block.add(m.factor(m.rate[i]), m.y[i])
			}
		}
		if err := m.set(m.change, block); err != nil {
			return err
		}
		if err := m.addChange(); err != nil {
			return err
		}
	}
	return nil
}

func (m *summed) addChange() error {
	return m.set(m.sum, terms{[]float64{1, 1}, []nets.Row{m.sum, m.change}})
}

// factor returns the factor of an update in the sum: 1, or by rate 1/rate, of the learning rate of its round.
func (m *summed) factor(rate float64) float64 {
	if m.byRate {
		return 1 / rate
	}
	return 1
}

// move moves w along share·change + mean_N(y), by rate times η_t. The running statistics are of the clients that have
// just trained: those of other clients in the memory are old.
func (m *summed) move(r Round, share float64, updates []nets.Row) error {
	return m.step(m.w, r, update{clients: r.Active, buffers: updates, memory: func(lr float64) (along terms) {
		if m.byRate {
			lr *= r.LR
		}
		along.add(lr*share, m.change)
		along.add(lr/float64(m.N), m.sum)
		return along
	}})
}
