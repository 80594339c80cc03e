package kernels

// sink returns what it costs to hand n gradients to a Sink of update.cuh: to write them if there is a row of gradients,
// else to update n weights.
func (p Precision) sink(grad uint64, n int64) Cost {
	if grad != 0 {
		return Cost{Bytes: 4 * n}
	}
	return p.update(n)
}

// update returns what it costs to update n weights: to read and write them and to write their copies in bf16. A slot
// with momentum also reads and writes that, a slot with drift also reads that.
func (p Precision) update(n int64) Cost {
	return Cost{Bytes: 8*n + p.copied(n), Momentum: 8 * n, Drift: 4 * n}
}

// plus returns the launch with a cost on top of its own.
func (l Launch) plus(c Cost) Launch {
	l.FLOP += c.FLOP
	l.Bytes += c.Bytes
	l.Momentum += c.Momentum
	l.Drift += c.Drift
	return l
}
