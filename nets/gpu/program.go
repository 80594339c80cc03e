package gpu

import (
	"fmt"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/kernels"
)

// Precision says how activations are stored and matrices multiplied; weights are float32 always.
type Precision = kernels.Precision

// The precisions.
const (
	TF32 = kernels.TF32 // activations rounded to 11 significant bits, sums in float32
	FP32 = kernels.FP32
	BF16 = kernels.BF16 // activations in 16 bits, sums in float32
)

// ParsePrecision returns the precision of a name; "" is TF32.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case "":
		return TF32, nil
	case TF32, FP32, BF16:
		return p, nil
	}
	return "", fmt.Errorf("gpu: precision %q, want tf32, fp32 or bf16", name)
}

// programKey says which program it is.
type programKey struct{ train, clip bool }

// program is a net's graph lowered to launches, for any number of slots.
type program struct {
	B        int
	launches []launch
	buffers  []*buffer
	logits   *buffer
}

// launch is one kernel of a program.
type launch struct {
	kernel   string // with the precision's suffix
	layer    string // of the net
	geometry kernels.Geometry
	args     func(*frame) []byte
	cost     func(*frame) kernels.Cost // of one slot
}

// frame is what the arguments of a launch depend on: where things are, and which step of a round it is.
type frame struct {
	base  uint64             // of the arena
	guard map[*buffer]uint64 // buffers of their own, in place of an arena
	room  int                // slots that there is room for
	work  uint64             // the wave
	E     uint32
	step  uint32
	parts [2]partMemory // the samples
	part  nets.Part
	grad  uint64 // [room,P]
	loss  uint64 // [E,room]
	scale uint64 // [room] of clipping
	norms uint64 // [room,⌈P/4096⌉] double
	score uint64 // [room] double, then [room,2] int32
}

// at returns the address of a buffer.
func (f *frame) at(b *buffer) uint64 {
	if f.guard != nil {
		return f.guard[b]
	}
	return f.base + uint64(b.offset)
}

// partMemory is where the samples of a part lie on the device.
type partMemory struct{ images, features, classes, table uint64 }

// argBytes returns the bytes of a kernel's arguments.
func argBytes[A any](a A) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a)) }
