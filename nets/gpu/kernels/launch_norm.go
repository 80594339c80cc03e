package kernels

// How the kernels of batch normalisation, average pooling and subsampling are launched; every header says the same of
// its kernels.

const (
	normThreads = 256 // NORM_THREADS of norm.cuh
	normRows    = 32  // NORM_ROWS: rows a thread takes
	normWarp    = 32  // the most lanes over the channels, and the channels of a block that adds up chunks
)

// Split chooses how the maps are cut: Lanes, a power of two, and Chunks.
func (a *NormArgs) Split() {
	a.Lanes = 1
	for a.Lanes < min(normWarp, a.C/a.vector()) {
		a.Lanes *= 2
	}
	a.Chunks = uint32(ceil(a.B*a.Pixels, normRows*normThreads/int(a.Lanes)))
}

// vector is the number of channels a thread takes.
func (a *NormArgs) vector() uint32 {
	if a.C%4 == 0 {
		return 4
	}
	return 1
}

// maps is the launch of a kernel that reads maps and moves so many bytes.
func (a *NormArgs) maps(bytes int64) Launch {
	tiles := int(a.Chunks) * ceil(a.C, int(a.Lanes*a.vector()))
	return Launch{Geometry{X: tiles, Threads: normThreads}, Cost{Bytes: bytes}}
}

// elements is the elements of x, of one slot.
func (a *NormArgs) elements() int64 { return volume(a.B, a.Pixels, a.C) }

// sums is the bytes of the partial sums.
func (a *NormArgs) sums() int64 { return 8 * int64(a.Partials()) }

// Moments is the launch of norm_moments: x and the partial sums.
func (a *NormArgs) Moments(p Precision) Launch { return a.maps(p.act(a.elements()) + a.sums()) }

// Channels is the launch of the kernels that add up the partial sums: norm_statistics and norm_solve.
func (a *NormArgs) Channels(Precision) Launch {
	return Launch{Geometry{X: ceil(a.C, normWarp), Threads: normThreads}, Cost{Bytes: a.sums()}}
}

// Apply is the launch of norm_apply and of norm_evaluate: x, y, and what is added if anything is.
func (a *NormArgs) Apply(p Precision) Launch {
	return a.maps(p.act(2*a.elements() + when(a.Add, a.elements())))
}

// Sums is the launch of norm_sums: x, gy, and each of gy2, d and y that is there.
func (a *NormArgs) Sums(p Precision) Launch {
	n := a.elements()
	return a.maps(p.act(2*n + when(a.GY2, n) + when(a.D, n) + when(a.Y, n)))
}

// Input is the launch of norm_input: x, d and dx.
func (a *NormArgs) Input(p Precision) Launch { return a.maps(p.act(3 * a.elements())) }

// Partials is the number of partial sums of a slot, in float64: two of every channel and chunk.
func (a *NormArgs) Partials() int { return int(a.Chunks * 2 * a.C) }

// Statistics is the number of statistics of a slot, in float32.
func (a *NormArgs) Statistics() int { return int(8 * a.C) }

// Launch is that of average_pool and of its gradient.
func (a *AverageArgs) Launch(p Precision) Launch {
	return flat(a.B*a.C, p.act(volume(a.B, a.Pixels, a.C)+volume(a.B, a.C)))
}

// Out is the height and width of y.
func (a *SubsampleArgs) Out() (h, w uint32) {
	return (a.H + a.Stride - 1) / a.Stride, (a.W + a.Stride - 1) / a.Stride
}

// Forward is the launch of subsample: all of y is written, and what is taken of x is read.
func (a *SubsampleArgs) Forward(p Precision) Launch {
	h, w := a.Out()
	return flat(a.B*h*w*a.O, p.act(volume(a.B, h, w, a.O)+volume(a.B, h, w, a.C)))
}

// Backward is the launch of subsample_backward: all of dx is written, and its part of gy is read.
func (a *SubsampleArgs) Backward(p Precision) Launch {
	h, w := a.Out()
	return flat(a.B*a.H*a.W*a.C, p.act(volume(a.B, a.H, a.W, a.C)+volume(a.B, h, w, a.C)))
}
