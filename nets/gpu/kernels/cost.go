package kernels

// Launch is how a kernel is launched, and what that costs. The geometry depends on sizes alone, the cost also on which
// pointers are there.
type Launch struct {
	Geometry
	Cost
}

// Cost is the least that a launch takes of a card for one slot; slots that are not in use take nothing. A launch cannot
// be faster than its FLOP by the card's arithmetic, nor than its bytes by its memory.
type Cost struct {
	// FLOP counts the multiplications and additions of matrix products, as nets.Model.Train does: of every tap, whether
	// it meets an image or the zeros around it. What is done to elements beside them is free: it hides behind their
	// memory.
	FLOP int64
	// Bytes counts every operand once, read or written, whatever blocks read again from L2. It is the traffic that the
	// kernel's header gives, each halo counting 1.
	Bytes int64
	// Momentum and Drift are the bytes more of a slot that has such a row.
	Momentum, Drift int64
}

// Of returns the operations and the bytes of so many slots, some of which have rows of momentum and of drift.
func (c Cost) Of(slots, momenta, drifts int) (flop, bytes float64) {
	return float64(slots) * float64(c.FLOP), float64(slots)*float64(c.Bytes) + float64(momenta)*float64(c.Momentum) +
		float64(drifts)*float64(c.Drift)
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
