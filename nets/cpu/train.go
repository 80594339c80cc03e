package cpu

import (
	"context"
	"fmt"
	"math"

	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/ops"
)

// Train implements [nets.Engine].
func (e *Engine) Train(ctx context.Context, work nets.LocalWork) ([]float32, error) {
	if err := work.Check(ctx, e.batch, e.parts[nets.Train]); err != nil {
		return nil, err
	}
	jobs := make([]trainJob, len(work.Clients))
	for i := range work.Clients {
		var err error
		if jobs[i], err = e.trainJob(&work, i); err != nil {
			return nil, err
		}
	}
	loss := make([]float32, len(jobs))
	err := e.each(len(jobs), func(s *slot, i int) error {
		var err error
		loss[i], err = s.train(ctx, &jobs[i])
		return err
	})
	return loss, err
}

// trainJob is the checked local work of one client.
type trainJob struct {
	work   *nets.LocalWork
	client *nets.ClientWork
	rows   nets.ClientRows[[]float32] // [P]
}

func (e *Engine) trainJob(work *nets.LocalWork, i int) (trainJob, error) {
	c := &work.Clients[i]
	rows, err := nets.LocateRows(c, e.row)
	return trainJob{work, c, rows}, err
}

// train runs all steps of a client, and returns the loss of its first batch.
func (s *slot) train(ctx context.Context, j *trainJob) (first float32, err error) {
	m, err := s.machine(true)
	if err != nil {
		return 0, err
	}
	copy(s.row, j.rows.Start)
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
			return first, &nets.DivergedError{
				Round: j.work.Round, Client: j.client.Client, Step: e, Loss: float64(loss),
			}
		}
		s.step(m, j)
	}
	copy(j.rows.End, s.row)
	return first, nil
}

// load writes the batch of step e into the inputs of the graph, and reports whether it has any sample: a batch that is
// all padding makes no step.
func (s *slot) load(m *machine, j *trainJob, e int) bool {
	p, samples := &j.client.Plan, s.engine.parts[nets.Train]
	empty := true
	for b := range m.graph.B {
		at := e*p.B + b
		i := p.Index[at]
		if i >= 0 {
			empty = false
		}
		crop := kernels.Crop{Row: int(p.Crop[2*at]), Col: int(p.Crop[2*at+1]), Flip: p.Flip[at] != 0}
		if at+1 < len(p.Index) && p.Index[at+1] >= 0 {
			crop.Ahead = int(p.Index[at+1]-i) * samples.H * samples.W * samples.C
		}
		s.gather(m, nets.Train, b, i, samples, crop)
	}
	if m.Draw != nil {
		for i, v := range [...]uint32{j.work.Seed, uint32(j.work.Round), uint32(j.client.Client), uint32(e)} {
			m.Draw[i] = int32(v)
		}
	}
	return !empty
}

// step updates the weights after a backward pass, by the formulas of [nets.LocalWork], and the running statistics.
func (s *slot) step(m *machine, j *trainJob) {
	step := kernels.Step[float32]{
		LR: float32(j.work.LR), Scale: 1, Decay: float32(j.work.WeightDecay), Momentum: float32(j.work.Momentum),
	}
	if j.work.Clip != nil {
		sum := 0.0
		for i, g := range m.Grads {
			if !s.engine.model.Params[i].Buffer {
				sum += s.exec.Dot(g, g)
			}
		}
		if norm := math.Sqrt(sum); norm > *j.work.Clip {
			step.Scale = float32(*j.work.Clip / norm)
		}
	}
	for i, p := range s.engine.model.Params {
		if p.Buffer {
			s.updateStatistics(s.weights[i], m.Grads[i])
			continue
		}
		var v, drift []float32
		if j.rows.Momentum != nil {
			v = j.rows.Momentum[p.At:][:p.Size]
		}
		if j.rows.Drift != nil {
			drift = j.rows.Drift[p.At:][:p.Size]
		}
		s.exec.Step(s.weights[i], m.Grads[i], v, drift, step)
	}
}

// updateStatistics moves the running statistics of a batch normalisation towards the statistics of the last batch,
// which [ops.BatchNorm] leaves where the gradient of a weight would be:
//
//	running ← running − BatchNormMomentum·(running − batch)
//
// The kernel of an SGD step computes just this with weight decay 1 and gradient −batch.
func (s *slot) updateStatistics(running, batch []float32) {
	s.exec.Step(running, batch, nil, nil, kernels.Step[float32]{LR: ops.BatchNormMomentum, Scale: -1, Decay: 1})
}
