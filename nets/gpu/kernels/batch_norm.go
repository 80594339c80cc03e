package kernels

// NormArgs are the arguments of all kernels of batch normalisation, norm_moments and the others; batch_norm.cuh says
// what each field means. Set the sizes, then call Split, before a launch.
type NormArgs struct {
	Work, X, Add, Y, Labels, Partial, Stats, GY, GY2, D, DX, Grad uint64
	WOffset, BOffset, MeanOffset, VarianceOffset                  uint32
	B, Pixels, C, P                                               uint32
	ReLU                                                          uint32 // 0 or 1
	Lanes, Chunks                                                 uint32
	Step, E, First                                                uint32
}

const (
	normThreads  = 256 // NORM_THREADS of batch_norm.cuh
	normRows     = 32  // NORM_ROWS: the rows that a thread takes
	normChannels = 32  // the most lanes of a tile, and the channels of a block that adds up chunks
)

// Split sets Lanes and Chunks, which say how the maps are cut, from B, Pixels and C. Lanes is a power of two. The cut
// depends on nothing else, so that the sums have the same order on every card.
func (a *NormArgs) Split() {
	a.Lanes = 1
	for a.Lanes < min(normChannels, a.C/a.vector()) {
		a.Lanes *= 2
	}
	a.Chunks = uint32(ceil(a.B*a.Pixels, normRows*normThreads/int(a.Lanes)))
}

// vector returns the number of channels that a thread takes.
func (a *NormArgs) vector() uint32 {
	if a.C%4 == 0 {
		return 4
	}
	return 1
}

// Partials returns the number of partial sums of a slot, in float64: two for every channel and chunk.
func (a *NormArgs) Partials() int { return int(a.Chunks * 2 * a.C) }

// Statistics returns the number of statistics of a slot, in float32: the eight that batch_norm.cuh lists, per channel.
func (a *NormArgs) Statistics() int { return int(8 * a.C) }

// Moments returns the launch of norm_moments, which reads x and writes the partial sums.
func (a *NormArgs) Moments(p Precision) Launch { return a.overMaps(p.act(a.elements()) + a.sums()) }

// Channels returns the launch of norm_statistics and of norm_solve, which read the partial sums.
func (a *NormArgs) Channels(Precision) Launch {
	return Launch{Geometry{X: ceil(a.C, normChannels), Threads: normThreads}, Cost{Bytes: a.sums()}}
}

// Apply returns the launch of norm_apply and of norm_evaluate, which read x and, if Add is set, the maps to add, and
// write y.
func (a *NormArgs) Apply(p Precision) Launch {
	return a.overMaps(p.act(2*a.elements() + when(a.Add, a.elements())))
}

// Sums returns the launch of norm_sums, which reads x and gy; each of GY2, D and Y that is set costs as much as x.
func (a *NormArgs) Sums(p Precision) Launch {
	n := a.elements()
	return a.overMaps(p.act(2*n + when(a.GY2, n) + when(a.D, n) + when(a.Y, n)))
}

// Input returns the launch of norm_input, which reads x and d (or gy) and writes dx.
func (a *NormArgs) Input(p Precision) Launch { return a.overMaps(p.act(3 * a.elements())) }

// overMaps returns the launch of a kernel with one block for every chunk and tile of channels.
func (a *NormArgs) overMaps(bytes int64) Launch {
	tiles := int(a.Chunks) * ceil(a.C, int(a.Lanes*a.vector()))
	return Launch{Geometry{X: tiles, Threads: normThreads}, Cost{Bytes: bytes}}
}

// elements returns the number of elements of x of one slot.
func (a *NormArgs) elements() int64 { return volume(a.B, a.Pixels, a.C) }

// sums returns the bytes of the partial sums of one slot.
func (a *NormArgs) sums() int64 { return 8 * int64(a.Partials()) }
