//go:build gpu && linux && cgo

package gpu

import (
	"rollcall/datasets/plan"
	"rollcall/nets"
)

// Memory is what an engine takes of a card, in bytes.
type Memory struct {
	Samples int64 // the data set
	Waves   int64 // room for the clients that train, or are evaluated, at once
	Banks   int64 // rows of parameters
}

// Total adds it all up.
func (m Memory) Total() int64 { return m.Samples + m.Waves + m.Banks }

// Estimate tells, before anything is opened, what training so many clients at once for so many steps, evaluating with all
// the room there may be, and rows of parameters take.
func Estimate(m *nets.Model, train, test *plan.Samples, o Options, clients, steps, rows int) (Memory, error) {
	var sum Memory
	for _, s := range []*plan.Samples{train, test} {
		if s != nil {
			sum.Samples += int64(len(s.Images) + 4*len(s.Features) + len(s.Labels) + 4*256*len(s.Mean))
		}
	}
	if o.EvalBatch == 0 {
		o.EvalBatch = defaultEvalBatch
	}
	var err error
	if o.Precision, err = ParsePrecision(string(o.Precision)); err != nil {
		return sum, err
	}
	e := &Engine{model: m, layout: newLayout(m), options: o, programs: map[programKey]*program{}}
	for _, key := range []waveKey{
		{programKey: programKey{train: true}, room: roomFor(clients), steps: steps},
		{room: evalRoom, steps: 1},
	} {
		w := &wave{key: key}
		if w.program, err = e.program(key.programKey); err != nil {
			return sum, err
		}
		sum.Waves = max(sum.Waves, w.size(e.layout, o.Precision))
	}
	sum.Banks = int64(rows) * e.rowBytes()
	return sum, nil
}
