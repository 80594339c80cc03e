package gpu

import "rollcall/nets/gpu/kernels"

// crossEntropy takes logits, labels and the gradient of the loss, which is 1: losses are summed over clients.
func (l *lowerer) crossEntropy(in []value, n int) (value, error) {
	if err := want(in, activations, nothing, one); err != nil {
		return value{}, err
	}
	logits, labels := in[0].buf, l.labels
	d := l.buffer("dlogits", n/l.graph.B)
	a := kernels.CrossEntropyArgs{B: uint32(l.graph.B), O: uint32(n / l.graph.B)}
	l.layer = "loss"
	queue(l, l.precise("cross_entropy"), (*kernels.CrossEntropyArgs).Launch, a,
		func(f *frame, a *kernels.CrossEntropyArgs) {
			a.Work, a.Logits, a.Labels, a.Loss, a.DLogits = f.work, f.at(logits), f.at(labels), f.loss, f.at(d)
			a.Step, a.E, a.Capacity = f.step, f.E, uint32(f.capacity)
		}, logits, labels, d)
	return value{kind: activations, buf: d}, nil
}

// score adds the evaluation of the logits.
func (l *lowerer) score() {
	logits, labels := l.program.logits, l.labels
	a := kernels.ScoreArgs{B: uint32(l.graph.B), O: uint32(logits.n / l.graph.B)}
	l.layer = "loss"
	queue(l, "score", (*kernels.ScoreArgs).Launch, a, func(f *frame, a *kernels.ScoreArgs) {
		a.Work, a.Logits, a.Labels, a.Loss, a.Correct = f.work, f.at(logits), f.at(labels), f.score,
			f.score+uint64(8*f.capacity)
	}, logits, labels)
}

// update adds the step of SGD, behind the clipping of the gradients, and that of running statistics if there are any.
func (l *lowerer) update(clip bool) {
	P, n := uint32(l.layout.P), uint32(l.layout.trained)
	l.layer = "weights"
	if clip {
		c := kernels.ClipArgs{P: P, N: n}
		fill := func(f *frame, c *kernels.ClipArgs) {
			c.Work, c.Grad, c.Partial, c.Scale = f.work, f.grad, f.norms, f.scale
		}
		queue(l, "grad_squares", (*kernels.ClipArgs).Squares, c, fill)
		queue(l, "clip_scale", (*kernels.ClipArgs).Scales, c, fill)
	}
	a := kernels.SGDArgs{P: P, N: n}
	fill := func(f *frame, a *kernels.SGDArgs) {
		a.Work, a.Grad, a.Step, a.E = f.work, f.grad, f.step, f.E
		if clip {
			a.Scale = f.scale
		}
	}
	queue(l, l.precise("sgd"), (*kernels.SGDArgs).Launch, a, fill)
	if n < P {
		queue(l, "track", (*kernels.SGDArgs).Running, a, fill)
	}
}
