package gpu

import "rollcall/nets/gpu/kernels"

// crossEntropy lowers the gradient of the cross-entropy; the kernel computes the loss as well. The inputs are logits,
// labels, loss and the gradient of the loss, which is 1 because the losses of clients are summed. n is the number of
// logits.
func (l *lowerer) crossEntropy(in []value, n int) (value, error) {
	if in[0].kind == inHead {
		return l.headLoss(in)
	}
	if err := want(in, activations, nothing, nothing, one); err != nil {
		return value{}, err
	}
	logits, labels := in[0].buf, l.labels
	d := l.buffer("dlogits", n/l.graph.B)
	a := kernels.CrossEntropyArgs{B: uint32(l.graph.B), O: uint32(n / l.graph.B)}
	l.layer = "loss"
	queue(l, l.kernel("cross_entropy"), (*kernels.CrossEntropyArgs).Launch, a,
		func(f *frame, a *kernels.CrossEntropyArgs) {
			a.Work, a.Logits, a.Labels, a.Loss, a.DLogits = f.work, f.at(logits), f.at(labels), f.loss, f.at(d)
			a.Step, a.E, a.Capacity = f.step, f.E, uint32(f.capacity)
		}, access{buffers{logits, labels}, buffers{d}})
	return value{kind: activations, buf: d}, nil
}

// score queues the evaluation of the logits: loss, correct samples and samples that count. A frame has room for the
// losses of all slots, in float64, and behind them for the two counts of each.
func (l *lowerer) score() {
	logits, labels := l.program.logits, l.labels
	a := kernels.ScoreArgs{B: uint32(l.graph.B), O: uint32(logits.n / l.graph.B)}
	l.layer = "loss"
	queue(l, "score", (*kernels.ScoreArgs).Launch, a, func(f *frame, a *kernels.ScoreArgs) {
		a.Work, a.Logits, a.Labels = f.work, f.at(logits), f.at(labels)
		a.Loss, a.Correct = f.score, f.score+uint64(8*f.capacity)
	}, access{buffers{logits, labels}, nil})
}
