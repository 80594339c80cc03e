package kernels

// What batch normalisation, average pooling and subsampling cost. There are no products in them.

// maps is the elements of x, of one slot.
func (a *NormArgs) maps() int64 { return volume(a.B, a.Pixels, a.C) }

// sums is the bytes of the partial sums: two in float64 of every channel and chunk.
func (a *NormArgs) sums() int64 { return 16 * volume(a.Chunks, a.C) }

// MomentsCost is that of norm_moments: x and the partial sums.
func (a *NormArgs) MomentsCost(p Precision) Cost { return Cost{Bytes: p.act(a.maps()) + a.sums()} }

// ChannelsCost is that of norm_statistics and of norm_solve: the partial sums.
func (a *NormArgs) ChannelsCost(Precision) Cost { return Cost{Bytes: a.sums()} }

// ApplyCost is that of norm_apply and of norm_evaluate: x, y, and what is added if anything is.
func (a *NormArgs) ApplyCost(p Precision) Cost {
	return Cost{Bytes: p.act(2*a.maps() + when(a.Add, a.maps()))}
}

// SumsCost is that of norm_sums: x, gy, and each of gy2, d and y that is there.
func (a *NormArgs) SumsCost(p Precision) Cost {
	n := a.maps()
	return Cost{Bytes: p.act(2*n + when(a.GY2, n) + when(a.D, n) + when(a.Y, n))}
}

// InputCost is that of norm_input: x, d and dx.
func (a *NormArgs) InputCost(p Precision) Cost { return Cost{Bytes: p.act(3 * a.maps())} }

// Cost is that of average_pool and of its gradient.
func (a *AverageArgs) Cost(p Precision) Cost {
	return Cost{Bytes: p.act(volume(a.B, a.Pixels, a.C) + volume(a.B, a.C))}
}

// copied is the elements of x that subsample copies.
func (a *SubsampleArgs) copied() int64 {
	h, w := a.Out()
	return volume(a.B, h, w, a.C)
}

// ForwardCost is that of subsample: all of y is written, and what is taken of x is read.
func (a *SubsampleArgs) ForwardCost(p Precision) Cost {
	h, w := a.Out()
	return Cost{Bytes: p.act(volume(a.B, h, w, a.O) + a.copied())}
}

// BackwardCost is that of subsample_backward: all of dx is written, and its part of gy is read.
func (a *SubsampleArgs) BackwardCost(p Precision) Cost {
	return Cost{Bytes: p.act(volume(a.B, a.H, a.W, a.C) + a.copied())}
}
