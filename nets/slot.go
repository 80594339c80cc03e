package nets

import (
	"cmp"

	"rollcall/datasets/plan"
	"rollcall/nets/cpu"
)

// slot trains or evaluates one client at a time on its own graphs, which share the weights.
type slot struct {
	engine  *CPU
	exec    *cpu.Exec[float32]
	row     []float32 // [P] the weights both graphs read
	weights [][]float32
	train1  *machine // K = 1, B = the engine's batch
	eval1   *machine // K = 1, B = evalBatch
}

// evalBatch is the number of samples of a forward pass: small enough for its activations to stay in the cache.
const evalBatch = 64

func (s *slot) close() error {
	var first error
	for _, m := range []*machine{s.train1, s.eval1} {
		if m != nil {
			first = cmp.Or(first, m.vm.Close())
		}
	}
	return first
}

// machine returns the slot's graph for training or evaluation, built when it is first used.
func (s *slot) machine(train bool) (*machine, error) {
	at, batch := &s.eval1, evalBatch
	if train {
		at, batch = &s.train1, s.engine.batch
	}
	if *at != nil {
		return *at, nil
	}
	if s.weights == nil {
		for _, p := range s.engine.model.Params {
			s.weights = append(s.weights, s.row[p.Offset:][:p.Size])
		}
	}
	g, err := buildGraph(s.engine.model, s.exec, 1, batch, train)
	if err != nil {
		return nil, err
	}
	*at, err = newMachine(g, s.weights)
	return *at, err
}

// gather writes sample i of a part at place b of the batch: an image cropped and normalised, features as they are; i <
// 0: zeros, which do not count.
func (s *slot) gather(m *machine, part Part, b int, i int32, samples *plan.Samples, row, col int, flip bool) {
	size := len(m.X) / m.graph.B
	dst := m.X[b*size:][:size]
	if i < 0 {
		clear(dst)
		if m.Labels != nil {
			m.Labels[b] = cpu.Ignore
		}
		return
	}
	pixels := samples.H * samples.W * samples.C
	if samples.Features != nil {
		frame(dst, samples.Features[int(i)*pixels:][:pixels], samples.H, samples.W, m.graph.Border)
	} else {
		s.exec.Gather(dst, samples.Images[int(i)*pixels:], s.engine.normals[part], cpu.Crop{
			H: samples.H, W: samples.W, C: samples.C, Border: m.graph.Border, Pad: plan.Pad, Row: row, Col: col,
			Flip: flip,
		})
	}
	if m.Labels != nil {
		m.Labels[b] = int32(samples.Labels[i])
	}
}

// frame copies x [h,w,C] into dst [h+2·border,w+2·border,C], whose border is zero already and stays so.
func frame(dst, x []float32, h, w, border int) {
	if border == 0 {
		copy(dst, x)
		return
	}
	run := len(x) / h
	c := run / w
	for i := range h {
		copy(dst[((i+border)*(w+2*border)+border)*c:], x[i*run:][:run])
	}
}
