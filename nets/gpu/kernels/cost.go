package kernels

// Cost is the least that a launch takes of a card for one slot; slots that are not in use take nothing. A launch cannot be
// faster than its FLOP by the card's arithmetic, nor than its bytes by its memory.
type Cost struct {
	// FLOP counts the multiplications and additions of matrix products, as nets.Model.Train does: of every tap, whether it meets
	// an image or the zeros around it. What is done to elements beside them is free: it hides behind their memory.
	FLOP int64
	// Bytes counts every operand once, read or written, whatever blocks read again from L2. It is the traffic that the kernel's
	// header gives, each halo counting 1.
	Bytes int64
	// Momentum and Drift are the bytes more of a slot that has such a row.
	Momentum, Drift int64
}

// Of returns the operations and the bytes of so many slots, some of which have rows of momentum and of drift.
func (c Cost) Of(slots, momenta, drifts int) (flop, bytes float64) {
	return float64(slots) * float64(c.FLOP), float64(slots)*float64(c.Bytes) + float64(momenta)*float64(c.Momentum) + float64(drifts)*float64(c.Drift)
}

// Act is the size of a stored activation.
func (p Precision) Act() int {
	if p == BF16 {
		return 2
	}
	return 4
}

// act is the bytes of so many activations.
func (p Precision) act(n int64) int64 { return n * int64(p.Act()) }

// apart is what the rounded copies of n weights take: with fp32 there is none.
func (p Precision) apart(n int64) int64 {
	if p == FP32 {
		return 0
	}
	return p.act(n)
}

// volume is the number of elements of a tensor.
func volume(sizes ...uint32) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= int64(s)
	}
	return n
}

// when is n if a pointer is there.
func when(pointer uint64, n int64) int64 {
	if pointer == 0 {
		return 0
	}
	return n
}

// Cost is that of gather: pixels are bytes, features floats.
func (a *GatherArgs) Cost(p Precision) Cost {
	n := volume(a.B, a.H, a.W, a.C)
	read := n
	if a.Images == 0 {
		read = 4 * n
	}
	return Cost{Bytes: read + p.act(n)}
}

// Cost is that of relu_backward.
func (a *ReLUArgs) Cost(p Precision) Cost { return Cost{Bytes: p.act(3 * int64(a.N))} }

// Cost is that of add.
func (a *AddArgs) Cost(p Precision) Cost { return Cost{Bytes: p.act(3 * int64(a.N))} }

// ForwardCost is that of log_odds.
func (a *LogOddsArgs) ForwardCost(Precision) Cost { return Cost{Bytes: 12 * int64(a.N)} }

// BackwardCost is that of log_odds_backward.
func (a *LogOddsArgs) BackwardCost(p Precision) Cost { return Cost{Bytes: p.act(3 * int64(a.N))} }

// Cost is that of dropout.
func (a *DropoutArgs) Cost(p Precision) Cost { return Cost{Bytes: p.act(2 * int64(a.N))} }

// Cost is that of cross_entropy.
func (a *CrossEntropyArgs) Cost(p Precision) Cost {
	n := volume(a.B, a.O)
	return Cost{Bytes: 4*n + when(a.DLogits, p.act(n))}
}

// Cost is that of score.
func (a *ScoreArgs) Cost(Precision) Cost { return Cost{Bytes: 4 * volume(a.B, a.O)} }

// BeginCost is that of begin.
func (a *RowsArgs) BeginCost(p Precision) Cost {
	return Cost{Bytes: 8*int64(a.P) + p.apart(int64(a.P))}
}

// RoundCost is that of round_weights.
func (a *RowsArgs) RoundCost(p Precision) Cost {
	return Cost{Bytes: 4*int64(a.P) + p.apart(int64(a.P))}
}

// Cost is that of combine, which knows no wave: of one launch.
func (a *CombineArgs) Cost() Cost { return Cost{Bytes: 4 * int64(a.P) * (int64(a.Terms) + 1)} }

// Cost is that of sum_squares, which knows no wave: of one launch.
func (a *SumSquaresArgs) Cost() Cost { return Cost{Bytes: 4 * int64(a.N)} }

// SquaresCost is that of grad_squares.
func (a *ClipArgs) SquaresCost(Precision) Cost { return Cost{Bytes: 4 * int64(a.N)} }

// ScalesCost is that of clip_scale.
func (a *ClipArgs) ScalesCost(Precision) Cost { return Cost{Bytes: 8*int64(a.Partials()) + 4} }

// Cost is that of sgd.
func (a *SGDArgs) Cost(p Precision) Cost {
	n := int64(a.N)
	return Cost{Bytes: 12*n + p.apart(n), Momentum: 8 * n, Drift: 4 * n}
}

// RunningCost is that of track.
func (a *SGDArgs) RunningCost(Precision) Cost { return Cost{Bytes: 12 * int64(a.P-a.N)} }

// Cost is that of conv_reduce.
func (a *ConvReduceArgs) Cost(Precision) Cost {
	return Cost{Bytes: 4 * (int64(a.Chunks) + 1) * (int64(a.N) + int64(a.O))}
}
