package gpu

import (
	"fmt"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/kernels"
)

// Precision says how activations are stored and how matrices are multiplied. Weights are always float32.
type Precision = kernels.Precision

// The precisions.
const (
	TF32 = kernels.TF32 // activations rounded to 11 significant bits, sums in float32
	FP32 = kernels.FP32 // activations and sums in float32
	BF16 = kernels.BF16 // activations in 16 bits, sums in float32
)

// ParsePrecision returns the precision with a name. The empty name means TF32.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case "":
		return TF32, nil
	case TF32, FP32, BF16:
		return p, nil
	}
	return "", fmt.Errorf("gpu: precision %q, want tf32, fp32 or bf16", name)
}

// programKey identifies a program of an engine: an engine has at most one program for each key. clip asks for the
// kernels that clip gradients; evaluation never has them.
type programKey struct{ train, clip bool }

// program is a net's graph as a list of kernel launches. The same program serves any number of slots: a slot is an
// active client in training, and a share of one model's samples in evaluation.
type program struct {
	B        int       // samples in a batch of one slot
	weights  launch    // fills the weights that the other launches read; runs once, before the first step
	launches []launch  // one step, in order
	buffers  []*buffer // activations, gradients and partial sums of a step
	// gradients is the range of a row that has a place in the rows of gradients. It is empty if all gradients update
	// the weights at once.
	gradients span
	logits    *buffer
}

// span is the elements from .. to-1 of a row.
type span struct{ from, to int }

// gradientsOf returns the elements of a row for which a program keeps gradients: all with clip, whose factor follows
// from all of them; else those of batch normalisations, and behind them the statistics of the batch.
func gradientsOf(lay layout, train, clip bool) span {
	switch {
	case !train:
		return span{}
	case clip:
		return span{0, lay.P}
	}
	return span{lay.norms, lay.P}
}

// size returns the number of elements.
func (s span) size() int { return s.to - s.from }

// all returns the launches of a program.
func (p *program) all() []launch { return append([]launch{p.weights}, p.launches...) }

// launch is one kernel of a program, before the addresses and the number of slots are known.
type launch struct {
	kernel   string           // with the suffix of its precision
	layer    string           // of the net, for messages and benchmarks
	access   access           // what it reads and writes
	geometry kernels.Geometry // of one slot
	args     func(*frame) []byte
	cost     func(*frame) kernels.Cost // of one slot
}

// access is what a launch reads and what it writes: buffers of the program, and parts of the rows of weights and of
// gradients. Samples, the plan, losses and scores are not among them: no launch of a step both writes and reads them.
type access struct{ reads, writes buffers }

// frame holds what the arguments of a launch depend on: the device addresses of a wave's memory, and the step that is
// being queued.
type frame struct {
	buffers  map[*buffer]uint64 // of this wave: waves of other capacities place the same buffers elsewhere
	capacity int                // slots that the memory is for
	work     uint64             // of the plan, which begins with a kernels.Work
	rowWork  uint64             // of the plan's second kernels.Work, about the rows to be rounded
	E        uint32             // steps that the wave takes
	step     uint32             // 0 … E-1
	parts    [2]partMemory      // the samples, by nets.Part
	part     nets.Part
	grad     uint64 // [capacity,gradients]; 0 if the program keeps none
	loss     uint64 // [E,capacity]
	scale    uint64 // [capacity] factors that clip the gradients, with clip
	norms    uint64 // [capacity,⌈P/4096⌉] double, partial sums of squared gradients, with clip
	score    uint64 // [capacity] double, then [capacity,2] int32
}

// at returns the address of a buffer.
func (f *frame) at(b *buffer) uint64 { return f.buffers[b] }

// partMemory holds the device addresses of the samples of a part; 0 where a data set has no such array.
type partMemory struct{ images, features, classes, table uint64 }

// weightsLaunch returns the launch that fills the weights of a program. In training it copies the row of parameters
// where a client starts to the row where the client ends. With BF16 it also writes the copy that matrix products read;
// in evaluation it writes nothing else. In other precisions matrix products read the rows themselves.
func weightsLaunch(key programKey, P int, p Precision) launch {
	a := kernels.RowsArgs{P: uint32(P)}
	kernel, how := "begin", a.Begin(p)
	if !key.train {
		kernel, how = "round_weights", a.Round()
	}
	return launch{
		kernel: kernel, layer: "weights", geometry: how.Geometry,
		args: func(f *frame) []byte {
			a.Work = f.work
			if !key.train {
				a.Work = f.rowWork
			}
			return argBytes(a)
		},
		cost: func(*frame) kernels.Cost { return how.Cost },
	}
}

// argBytes returns the bytes of a kernel's arguments, as the kernel reads them.
func argBytes[A any](a A) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a)) }
