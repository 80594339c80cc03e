package kernels

// How the kernels of batch normalisation, average pooling and subsampling are launched; every header says the same of its kernels.

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
	a.Chunks = uint32(blocks(a.B*a.Pixels, normRows*normThreads/int(a.Lanes)))
}

// vector is the number of channels a thread takes.
func (a *NormArgs) vector() uint32 {
	if a.C%4 == 0 {
		return 4
	}
	return 1
}

// Maps is the geometry of the kernels that read maps: norm_moments, norm_apply, norm_evaluate, norm_sums and norm_input.
func (a *NormArgs) Maps() Geometry {
	return Geometry{X: int(a.Chunks) * blocks(a.C, int(a.Lanes*a.vector())), Threads: normThreads}
}

// Channels is the geometry of the kernels that add up chunks: norm_statistics and norm_solve.
func (a *NormArgs) Channels() Geometry {
	return Geometry{X: blocks(a.C, normWarp), Threads: normThreads}
}

// Partials is the number of partial sums of a slot, in float64.
func (a *NormArgs) Partials() int { return int(a.Chunks * 2 * a.C) }

// Statistics is the number of statistics of a slot, in float32.
func (a *NormArgs) Statistics() int { return int(8 * a.C) }

// Geometry is that of average_pool and of its gradient.
func (a *AverageArgs) Geometry() Geometry { return flat(a.B * a.C) }

// Out is the height and width of y.
func (a *SubsampleArgs) Out() (h, w uint32) {
	return (a.H + a.Stride - 1) / a.Stride, (a.W + a.Stride - 1) / a.Stride
}

// Forward is the geometry of subsample.
func (a *SubsampleArgs) Forward() Geometry {
	h, w := a.Out()
	return flat(a.B * h * w * a.O)
}

// Backward is the geometry of subsample_backward.
func (a *SubsampleArgs) Backward() Geometry { return flat(a.B * a.H * a.W * a.C) }
