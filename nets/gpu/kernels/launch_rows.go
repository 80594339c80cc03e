package kernels

// How the kernels without matrix products are launched; every header says the same of its kernels.

const (
	flatThreads = 256  // of an element-wise kernel
	flatBlock   = 1024 // elements a block of it takes: four a thread
	squareBlock = 4096 // elements of one partial sum of squares
	rowThreads  = 512  // ROW_THREADS of softmax.cuh
)

// flat is the launch of an element-wise kernel on n elements that moves so many bytes.
func flat(n uint32, bytes int64) Launch {
	return Launch{Geometry{X: ceil(n, flatBlock), Threads: flatThreads}, Cost{Bytes: bytes}}
}

// ceil is ⌈n/size⌉.
func ceil[N int | uint32](n N, size int) int { return (int(n) + size - 1) / size }

// Launch is that of gather: pixels are bytes, features floats.
func (a *GatherArgs) Launch(p Precision) Launch {
	const staged, perBlock = 32, 4096 // STAGED of gather.cu, and 16 elements a thread
	n := volume(a.B, a.H, a.W, a.C)
	l := Launch{Geometry{X: ceil(uint32(n), perBlock), Threads: flatThreads}, Cost{Bytes: n + p.act(n)}}
	if a.Images == 0 {
		l.Bytes = 4*n + p.act(n)
	} else if a.C <= staged {
		l.Shared = int(a.C) * 256 * 4
	}
	return l
}

// Launch is that of relu_backward.
func (a *ReLUArgs) Launch(p Precision) Launch { return flat(a.N, p.act(3*int64(a.N))) }

// Launch is that of add.
func (a *AddArgs) Launch(p Precision) Launch { return flat(a.N, p.act(3*int64(a.N))) }

// Forward is the launch of log_odds.
func (a *LogOddsArgs) Forward(Precision) Launch { return flat(a.N, 12*int64(a.N)) }

// Backward is the launch of log_odds_backward.
func (a *LogOddsArgs) Backward(p Precision) Launch { return flat(a.N, p.act(3*int64(a.N))) }

// Launch is that of dropout.
func (a *DropoutArgs) Launch(p Precision) Launch { return flat(a.N, p.act(2*int64(a.N))) }

// Launch is that of cross_entropy.
func (a *CrossEntropyArgs) Launch(p Precision) Launch {
	n := volume(a.B, a.O)
	return Launch{Geometry{X: 1, Threads: rowThreads}, Cost{Bytes: 4*n + when(a.DLogits, p.act(n))}}
}

// Launch is that of score.
func (a *ScoreArgs) Launch(Precision) Launch {
	return Launch{Geometry{X: 1, Threads: rowThreads}, Cost{Bytes: 4 * volume(a.B, a.O)}}
}

// Begin is the launch of begin.
func (a *RowsArgs) Begin(p Precision) Launch { return flat(a.P, 8*int64(a.P)+p.apart(int64(a.P))) }

// Round is the launch of round_weights.
func (a *RowsArgs) Round(p Precision) Launch { return flat(a.P, 4*int64(a.P)+p.apart(int64(a.P))) }

// Launch is that of combine, which knows no wave.
func (a *CombineArgs) Launch() Launch { return flat(a.P, 4*int64(a.P)*(int64(a.Terms)+1)) }

// Launch is that of sum_squares, which knows no wave.
func (a *SumSquaresArgs) Launch() Launch { return squares(a.N) }

// squares is the launch of a kernel that adds up the squares of n elements.
func squares(n uint32) Launch {
	return Launch{Geometry{X: Partials(n), Threads: flatThreads}, Cost{Bytes: 4 * int64(n)}}
}

// Partials is the number of partial sums of the squares of n elements.
func Partials(n uint32) int { return ceil(n, squareBlock) }

// Squares is the launch of grad_squares.
func (a *ClipArgs) Squares(Precision) Launch { return squares(a.N) }

// Scales is the launch of clip_scale.
func (a *ClipArgs) Scales(Precision) Launch {
	return Launch{Geometry{X: 1, Threads: flatThreads}, Cost{Bytes: 8*int64(Partials(a.N)) + 4}}
}

// Launch is that of sgd.
func (a *SGDArgs) Launch(p Precision) Launch {
	n := int64(a.N)
	l := flat(a.N, 12*n+p.apart(n))
	l.Momentum, l.Drift = 8*n, 4*n
	return l
}

// Running is the launch of track.
func (a *SGDArgs) Running(Precision) Launch { return flat(a.P-a.N, 12*int64(a.P-a.N)) }

// Launch is that of conv_reduce.
func (a *ConvReduceArgs) Launch(Precision) Launch {
	const threads, perBlock = 128, 512
	bytes := 4 * (int64(a.Chunks) + 1) * (int64(a.N) + int64(a.O))
	return Launch{Geometry{X: ceil(a.N+a.O, perBlock), Threads: threads}, Cost{Bytes: bytes}}
}
