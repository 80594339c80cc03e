package kernels

// How the kernels without matrix products are launched; every header says the same of its kernels.

const (
	flatThreads = 256  // of an element-wise kernel
	flatBlock   = 1024 // elements a block of it takes: four a thread
	squareBlock = 4096 // elements of one partial sum of squares
	rowThreads  = 512  // ROW_THREADS of softmax.cuh
)

// flat is the geometry of an element-wise kernel on n elements.
func flat(n uint32) Geometry { return Geometry{X: blocks(n, flatBlock), Threads: flatThreads} }

// blocks is ⌈n/size⌉.
func blocks(n uint32, size int) int { return (int(n) + size - 1) / size }

// Geometry is that of gather.
func (a *GatherArgs) Geometry() Geometry {
	const staged, perBlock = 32, 4096 // STAGED of gather.cu, and 16 elements a thread
	g := Geometry{X: blocks(a.B*a.H*a.W*a.C, perBlock), Threads: flatThreads}
	if a.Images != 0 && a.C <= staged {
		g.Shared = int(a.C) * 256 * 4
	}
	return g
}

// Geometry is that of relu_backward.
func (a *ReLUArgs) Geometry() Geometry { return flat(a.N) }

// Geometry is that of add.
func (a *AddArgs) Geometry() Geometry { return flat(a.N) }

// Geometry is that of log_odds and of its gradient.
func (a *LogOddsArgs) Geometry() Geometry { return flat(a.N) }

// Geometry is that of dropout.
func (a *DropoutArgs) Geometry() Geometry { return flat(a.N) }

// Geometry is that of cross_entropy.
func (a *CrossEntropyArgs) Geometry() Geometry { return Geometry{X: 1, Threads: rowThreads} }

// Geometry is that of score.
func (a *ScoreArgs) Geometry() Geometry { return Geometry{X: 1, Threads: rowThreads} }

// Geometry is that of begin and of round_weights.
func (a *RowsArgs) Geometry() Geometry { return flat(a.P) }

// Geometry is that of combine, which knows no wave.
func (a *CombineArgs) Geometry() Geometry { return flat(a.P) }

// Geometry is that of sum_squares, which knows no wave.
func (a *SumSquaresArgs) Geometry() Geometry {
	return Geometry{X: a.Partials(), Threads: flatThreads}
}

// Partials is the number of partial sums.
func (a *SumSquaresArgs) Partials() int { return blocks(a.N, squareBlock) }

// Squares is the geometry of grad_squares.
func (a *ClipArgs) Squares() Geometry { return Geometry{X: a.Partials(), Threads: flatThreads} }

// Scales is the geometry of clip_scale.
func (a *ClipArgs) Scales() Geometry { return Geometry{X: 1, Threads: flatThreads} }

// Partials is the number of partial sums of a slot.
func (a *ClipArgs) Partials() int { return blocks(a.N, squareBlock) }

// Geometry is that of sgd.
func (a *SGDArgs) Geometry() Geometry { return flat(a.N) }

// Running is the geometry of track.
func (a *SGDArgs) Running() Geometry { return flat(a.P - a.N) }

// Geometry is that of conv_reduce.
func (a *ConvReduceArgs) Geometry() Geometry {
	const threads, perBlock = 128, 512
	return Geometry{X: blocks(a.N+a.O, perBlock), Threads: threads}
}
