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
	if o.EvalBatch == 0 {
		o.EvalBatch = defaultEvalBatch
	}
	var err error
	if o.Precision, err = ParsePrecision(string(o.Precision)); err != nil {
		return Memory{}, err
	}
	e := &Engine{model: m, layout: newLayout(m), options: o, samples: [2]*plan.Samples{train, test}, programs: map[programKey]*program{}}
	return e.estimate(clients, steps, rows)
}

// estimate is [Estimate] for an engine, open or not.
func (e *Engine) estimate(clients, steps, rows int) (Memory, error) {
	sum := Memory{Banks: int64(rows) * e.rowBytes()}
	for _, s := range e.samples {
		if s != nil {
			sum.Samples += int64(len(s.Images) + 4*len(s.Features) + len(s.Labels) + 4*256*len(s.Mean))
		}
	}
	for _, key := range []waveKey{
		{programKey: programKey{train: true}, room: roomFor(clients), steps: steps},
		{room: evalRoom, steps: 1},
	} {
		p, err := e.program(key.programKey)
		if err != nil {
			return sum, err
		}
		w := &wave{key: key, program: p}
		sum.Waves = max(sum.Waves, w.size(e.layout, e.options.Precision))
	}
	return sum, nil
}
