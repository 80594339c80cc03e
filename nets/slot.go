package nets

import (
	"context"
	"fmt"
	"math"

	"rollcall/datasets/plan"
	"rollcall/nets/cpu"
	"rollcall/nets/ops"
)

// slot trains or evaluates one client at a time on its own graphs, which share the weights.
type slot struct {
	engine  *CPU
	exec    *cpu.Exec[float32]
	row     []float32 // [P] the weights both graphs read
	weights [][]float32
	train1  *machine[float32] // K = 1, B = the engine's batch
	eval1   *machine[float32] // K = 1, B = evalBatch
}

// evalBatch is the number of samples of a forward pass: small enough for its activations to stay in the cache.
const evalBatch = 64

func (s *slot) close() error {
	var first error
	for _, m := range []*machine[float32]{s.train1, s.eval1} {
		if m == nil {
			continue
		}
		if err := m.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// machine returns the slot's graph for training or evaluation, built when it is first used.
func (s *slot) machine(train bool) (*machine[float32], error) {
	at, batch := &s.eval1, evalBatch
	if train {
		at, batch = &s.train1, s.engine.batch
	}
	if *at != nil {
		return *at, nil
	}
	if s.weights == nil {
		for _, p := range s.engine.model.Params {
			s.weights = append(s.weights, s.row[p.Offset:][:p.Size()])
		}
	}
	g, err := buildGraph(s.engine.model, s.exec, 1, batch, train)
	if err != nil {
		return nil, err
	}
	*at, err = newMachine(g, s.weights)
	return *at, err
}

// trainJob is the checked local work of one client.
type trainJob struct {
	work                        *LocalWork
	client                      *ClientWork
	start, end, momentum, drift []float32 // [P]; the last two may be nil
}

// trainJob checks client i of the work.
func (e *CPU) trainJob(work *LocalWork, i int) (trainJob, error) {
	c := &work.Clients[i]
	j := trainJob{work: work, client: c}
	var err error
	if j.start, err = e.row("train: start", c.Start); err != nil {
		return j, err
	}
	if j.end, err = e.row("train: end", c.End); err != nil {
		return j, err
	}
	if j.momentum, err = e.optional("train: momentum", c.Momentum); err != nil {
		return j, err
	}
	if j.drift, err = e.optional("train: drift", c.Drift); err != nil {
		return j, err
	}
	return j, nil
}

// train runs a client's steps and returns the loss of its first batch.
func (s *slot) train(ctx context.Context, j *trainJob) (first float32, err error) {
	m, err := s.machine(true)
	if err != nil {
		return 0, err
	}
	copy(s.row, j.start)
	for e := range j.client.Plan.E {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if !s.load(m, j, e) {
			continue
		}
		if err := m.run(); err != nil {
			return 0, fmt.Errorf("client %d: %w", j.client.Client, err)
		}
		loss := m.Loss[0]
		if e == 0 {
			first = loss
		}
		if math.IsNaN(float64(loss)) || math.IsInf(float64(loss), 0) {
			return first, &DivergedError{Round: j.work.Round, Client: j.client.Client, Step: e, Loss: float64(loss)}
		}
		s.step(m, j)
	}
	copy(j.end, s.row)
	return first, nil
}

// load gathers the batch of step e and reports whether it holds any sample.
func (s *slot) load(m *machine[float32], j *trainJob, e int) bool {
	p, samples := &j.client.Plan, s.engine.parts[Train]
	empty := true
	for b := range m.B {
		at := e*p.B + b
		i := p.Index[at]
		if i >= 0 {
			empty = false
		}
		s.gather(m, Train, b, i, samples, int(p.Crop[2*at]), int(p.Crop[2*at+1]), p.Flip[at] != 0)
	}
	if m.Draw != nil {
		for i, v := range [...]uint32{j.work.Seed, uint32(j.work.Round), uint32(j.client.Client), uint32(e)} {
			m.Draw[i] = int32(v)
		}
	}
	return !empty
}

// gather writes sample i of a part at place b of the batch: an image cropped and normalised, features as they are; i < 0:
// zeros, which do not count.
func (s *slot) gather(m *machine[float32], part Part, b int, i int32, samples *plan.Samples, row, col int, flip bool) {
	size := len(m.X) / m.B
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
		frame(dst, samples.Features[int(i)*pixels:][:pixels], samples.H, samples.W, m.border)
	} else {
		s.exec.Gather(dst, samples.Images[int(i)*pixels:], s.engine.normals[part], cpu.Crop{
			H: samples.H, W: samples.W, C: samples.C, Border: m.border, Pad: plan.Pad, Row: row, Col: col, Flip: flip,
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

// step updates the weights as [LocalWork] says.
func (s *slot) step(m *machine[float32], j *trainJob) {
	step := cpu.Step[float32]{LR: float32(j.work.LR), Scale: 1, Decay: float32(j.work.WeightDecay), Momentum: float32(j.work.Momentum)}
	if j.work.Clip != nil {
		sum := 0.0
		for i, g := range m.Grads {
			if !m.params[i].Buffer {
				sum += s.exec.SumSquares(g)
			}
		}
		if norm := math.Sqrt(sum); norm > *j.work.Clip {
			step.Scale = float32(*j.work.Clip / norm)
		}
	}
	for i, p := range s.engine.model.Params {
		if p.Buffer { // m.Grads has what it moves towards
			s.exec.Step(s.weights[i], m.Grads[i], nil, nil, cpu.Step[float32]{LR: ops.BatchNormMomentum, Scale: -1, Decay: 1})
			continue
		}
		var v, drift []float32
		if j.momentum != nil {
			v = j.momentum[p.Offset:][:p.Size()]
		}
		if j.drift != nil {
			drift = j.drift[p.Offset:][:p.Size()]
		}
		s.exec.Step(s.weights[i], m.Grads[i], v, drift, step)
	}
}

// evaluate returns the summed loss and the correct samples lo … hi of a job.
func (s *slot) evaluate(ctx context.Context, job EvalJob, row []float32, lo, hi int) (EvalResult, error) {
	m, err := s.machine(false)
	if err != nil {
		return EvalResult{}, err
	}
	copy(s.row, row)
	samples := s.engine.parts[job.Part]
	var labels [evalBatch]int32
	var r EvalResult
	for ; lo < hi; lo += evalBatch {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		for b := range evalBatch {
			i := int32(-1)
			if lo+b < hi {
				i = int32(lo + b)
				if job.Index != nil {
					i = job.Index[lo+b]
				}
			}
			labels[b] = cpu.Ignore
			if i >= 0 {
				labels[b] = int32(samples.Labels[i])
			}
			s.gather(m, job.Part, b, i, samples, plan.Pad, plan.Pad, false)
		}
		if err := m.run(); err != nil {
			return r, err
		}
		loss, correct, count := cpu.Score(s.exec, m.Logits, labels[:])
		r.Loss += loss
		r.Correct += correct
		r.N += count
	}
	return r, nil
}
