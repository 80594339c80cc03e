package kernels

// The structures of work.cuh, field by field; the meaning and the shape of each field stand there, once. An address is
// a device address in 64 bits, and 0 is a null pointer.
//
// The same holds of the ...Args of every op: each mirrors the C structure of the file beside it (AddArgs in add.go the
// AddArgs of add.cu), and is handed to the kernel byte by byte. TestMirror compares them all.

// Slot is a client that trains, or a share of the samples that one row of weights is evaluated on.
type Slot struct {
	Row, Start, Weights, Momentum, Drift uint64
	Client                               uint32
	_                                    uint32
}

// Work is a wave: the slots that one launch of every kernel serves, their samples and the hyperparameters of the step.
type Work struct {
	Slots, Index, Crop, Flip, Count uint64
	Clients, Seed, Round            uint32
	LR, WeightDecay, Momentum, Clip float32
	_                               uint32
}
