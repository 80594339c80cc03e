package cpu

import (
	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
)

// slot trains or evaluates one client at a time. It has two graphs, which share their weights. A CPU engine has as many
// slots as threads.
type slot struct {
	engine       *Engine
	exec         *kernels.Exec[float32]
	row          []float32   // [P] the parameters that both graphs read
	weights      [][]float32 // the same memory, cut into one slice per parameter
	trainMachine *machine    // K = 1, B = the batch of the engine; nil until it is needed
	evalMachine  *machine    // K = 1, B = evalBatch; nil until it is needed
}

// evalBatch is the number of samples in a forward pass of an evaluation: few enough for the activations to stay in the
// cache.
const evalBatch = 64

// machine returns the machine of the slot for training or evaluation. The first call builds it.
func (s *slot) machine(train bool) (*machine, error) {
	at, batch := &s.evalMachine, evalBatch
	if train {
		at, batch = &s.trainMachine, s.engine.batch
	}
	if *at != nil {
		return *at, nil
	}
	if s.weights == nil {
		for _, p := range s.engine.model.Params {
			s.weights = append(s.weights, s.row[p.At:][:p.Size])
		}
	}
	g, err := s.engine.model.Graph(s.exec, 1, batch, train)
	if err != nil {
		return nil, err
	}
	*at, err = newMachine(g, s.weights)
	return *at, err
}

// gather writes sample i of a part to place b of the batch: an image cropped and normalised, features unchanged. If i
// is negative, the place is padding: it gets zeros and the label [kernels.Ignore]. crop has Row, Col, Flip and Ahead.
func (s *slot) gather(m *machine, part nets.Part, b int, i int32, samples *plan.Samples, crop kernels.Crop) {
	size := len(m.X) / m.graph.B
	dst := m.X[b*size:][:size]
	if i < 0 {
		clear(dst)
		if m.Labels != nil {
			m.Labels[b] = kernels.Ignore
		}
		return
	}
	pixels := samples.H * samples.W * samples.C
	if samples.Features != nil {
		frame(dst, samples.Features[int(i)*pixels:][:pixels], samples.H, samples.W, m.graph.Border)
	} else {
		crop.H, crop.W, crop.C, crop.Border, crop.Pad = samples.H, samples.W, samples.C, m.graph.Border, plan.Pad
		s.exec.Gather(dst, samples.Images[int(i)*pixels:], s.engine.normals[part], crop)
	}
	if m.Labels != nil {
		m.Labels[b] = int32(samples.Labels[i])
	}
}

// frame copies x [h,w,C] into dst [h+2·border,w+2·border,C], whose border is zero and stays zero.
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
