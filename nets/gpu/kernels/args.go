package kernels

// Geometry is how a kernel is launched: X blocks for each slot of the wave, of Threads threads, each block with Shared
// bytes of dynamic shared memory. The grid is X × the room in the arena; of kernels that know no wave, X × 1.
type Geometry struct{ X, Threads, Shared int }

// Precision says how activations are kept and matrices multiplied: the ending of the kernels' names.
type Precision string

// The precisions; precision.cuh has what they do.
const (
	FP32 Precision = "fp32"
	TF32 Precision = "tf32"
	BF16 Precision = "bf16"
)

// The structures of work.cuh, field by field; what they mean is said there. Pointers are device addresses, 0 is null.

// Slot is a client that trains, or a part of the samples that a row is evaluated on.
type Slot struct {
	Row, Start, Weights, Momentum, Drift uint64
	Client                               uint32
	_                                    uint32
}

// Work is the wave.
type Work struct {
	Slots, Index, Crop, Flip, Count uint64
	Clients, Seed, Round            uint32
	LR, WeightDecay, Momentum, Clip float32
	_                               uint32
}

// GatherArgs are those of gather.
type GatherArgs struct {
	Work, Images, Features, Classes, Table, Y, Labels uint64
	Step, E, B, H, W, C                               uint32
}

// ConvArgs are those of conv_forward and its gradients.
type ConvArgs struct {
	Work, X, Y, Arg, GY, DX, Partial uint64
	WOffset, BOffset                 uint32
	B, H, W, C, R, S, O, Pad         uint32
	Images                           uint32
	_                                uint32
}

// Conv2DArgs are those of conv2d_forward and its gradients.
type Conv2DArgs struct {
	Work, X, Y, GY, DX, DW      uint64
	WOffset                     uint32
	B, H, W, C, R, S, O, U, Pad uint32
	Images                      uint32 // per chunk of DW: [Conv2DArgs.ChunkImages] or 1 … B
	DWStride                    uint32
}

// ConvReduceArgs are those of conv_reduce.
type ConvReduceArgs struct {
	Work, Partial, Grad uint64
	WOffset, BOffset    uint32
	N, O, Chunks, P     uint32
	Step, E             uint32
}

// LinearArgs are those of linear_forward and its gradients.
type LinearArgs struct {
	Work, X, Y, GY, DX, Grad uint64
	WOffset, BOffset         uint32
	B, I, O, P               uint32
	ReLU, YFloat             uint32 // 0 or 1
}

// ReLUArgs are those of relu_backward.
type ReLUArgs struct {
	Work, Y, GY, D uint64
	N              uint32
	_              uint32
}

// AddArgs are those of add.
type AddArgs struct {
	Work, A, B, Y uint64
	N             uint32
	_             uint32
}

// NormArgs are those of norm_moments and the other kernels of batch normalisation. Split fills in Lanes and Chunks.
type NormArgs struct {
	Work, X, Add, Y, Labels, Partial, Stats, GY, GY2, D, DX, Grad uint64
	WOffset, BOffset, MeanOffset, VarianceOffset                  uint32
	B, Pixels, C, P                                               uint32
	ReLU                                                          uint32 // 0 or 1
	Lanes, Chunks                                                 uint32
	Step, E                                                       uint32
	_                                                             uint32
}

// AverageArgs are those of average_pool and its gradient.
type AverageArgs struct {
	Work, X, Y, GY, DX uint64
	B, Pixels, C       uint32
	_                  uint32
}

// SubsampleArgs are those of subsample and its gradient.
type SubsampleArgs struct {
	Work, X, Y, GY, DX    uint64
	B, H, W, C, O, Stride uint32
}

// LogOddsArgs are those of log_odds and its gradient.
type LogOddsArgs struct {
	Work, X, Y, GY, DX uint64
	N                  uint32
	_                  uint32
}

// DropoutArgs are those of dropout.
type DropoutArgs struct {
	Work, X, Y                uint64
	N, Layer, Threshold, Step uint32
	Scale                     float32
	_                         uint32
}

// CrossEntropyArgs are those of cross_entropy.
type CrossEntropyArgs struct {
	Work, Logits, Labels, Loss, DLogits uint64
	B, O, Step, E, Capacity             uint32
	_                                   uint32
}

// ScoreArgs are those of score.
type ScoreArgs struct {
	Work, Logits, Labels, Loss, Correct uint64
	B, O                                uint32
}

// RowsArgs are those of begin and round_weights.
type RowsArgs struct {
	Work uint64
	P    uint32
	_    uint32
}

// CombineArgs are those of combine.
type CombineArgs struct {
	Dst, C, Src uint64
	Terms, P    uint32
}

// SumSquaresArgs are those of sum_squares.
type SumSquaresArgs struct {
	X, Partial uint64
	N          uint32
	_          uint32
}

// ClipArgs are those of grad_squares and clip_scale.
type ClipArgs struct {
	Work, Grad, Partial, Scale uint64
	P, N                       uint32
}

// SGDArgs are those of sgd and track.
type SGDArgs struct {
	Work, Grad, Scale uint64
	P, N              uint32
	Step, E           uint32
}
