package kernels

// Launch says how a kernel is launched and what the launch costs. The geometry depends on sizes alone; the cost also
// depends on which optional pointers are set.
type Launch struct {
	Geometry
	Cost
}

// Geometry is the grid and the block of a launch. A grid has X blocks for every slot of the arena, so that a captured
// graph serves any number of clients; the grid of a kernel that takes no wave has X blocks in all.
type Geometry struct {
	X       int // blocks per slot
	Threads int // per block
	Shared  int // bytes of dynamic shared memory per block
}

// Cost is the least work that a launch does for one slot; a slot that is not in use costs nothing. No card runs the
// launch faster than its arithmetic allows for FLOP, or than its memory allows for Bytes.
type Cost struct {
	// FLOP counts the multiplications and additions of matrix products, as nets.Model.Train does. It counts
	// every tap, whether the tap meets an image or the zeros around it. Element-wise arithmetic is left out, because
	// the memory traffic of the elements takes longer.
	FLOP int64
	// Bytes counts every operand once, read or written, even if blocks read it again from L2. It is the traffic in the
	// header of the kernel, with a halo of 1.
	Bytes int64
	// Momentum and Drift are the additional bytes of a slot that has a row of momentum or of drift.
	Momentum, Drift int64
}

// Of returns the operations and the bytes of a number of slots, of which some have rows of momentum and of drift.
func (c Cost) Of(slots, momenta, drifts int) (flop, bytes float64) {
	return float64(slots) * float64(c.FLOP), float64(slots)*float64(c.Bytes) + float64(momenta)*float64(c.Momentum) +
		float64(drifts)*float64(c.Drift)
}

// Precision says how activations are stored and matrices multiplied. A kernel that depends on it comes in three
// versions, whose names end in the precision: add_fp32, add_tf32, add_bf16.
type Precision string

// The precisions; precision.cuh says how each stores and multiplies.
const (
	FP32 Precision = "fp32"
	TF32 Precision = "tf32"
	BF16 Precision = "bf16"
)

// Act returns the bytes of a stored activation.
func (p Precision) Act() int {
	if p == BF16 {
		return 2
	}
	return 4
}

// act returns the bytes of n activations.
func (p Precision) act(n int64) int64 { return n * int64(p.Act()) }

// copied returns the bytes of the copies of n weights that matrix products read. Only BF16 has copies: in the other
// precisions the weights have the size of activations, and products round them as they read them.
func (p Precision) copied(n int64) int64 {
	if p == BF16 {
		return p.act(n)
	}
	return 0
}

const (
	flatThreads = 256  // in a block of an element-wise kernel
	flatBlock   = 1024 // elements of such a block: four per thread
)

// flat returns the launch of an element-wise kernel on n elements of a slot.
func flat(n uint32, bytes int64) Launch {
	return Launch{Geometry{X: ceil(n, flatBlock), Threads: flatThreads}, Cost{Bytes: bytes}}
}

// ceil returns ⌈n/size⌉.
func ceil[N int | uint32](n N, size int) int { return (int(n) + size - 1) / size }

// volume returns the number of elements of a tensor.
func volume(sizes ...uint32) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= int64(s)
	}
	return n
}

// when returns n if a pointer is set, else 0.
func when(pointer uint64, n int64) int64 {
	if pointer == 0 {
		return 0
	}
	return n
}
