package predict

// Card has the constants of the model for one card.
type Card struct {
	Name   string
	Target string // architecture, as ptxas names it

	Multiprocessors int
	Clock           float64 // cycles per second

	// Of a multiprocessor, per cycle.
	Issue      float64 // instructions of warps
	Wavefronts float64 // of shared memory, 128 bytes each
	TF32, BF16 float64 // multiply-adds of the tensor cores that mma.sync reaches

	// Cycles from one instruction of a warp to its next, in the mean; and behind a multiply-add of float32, since those
	// of a product do not wait for each other.
	Latency, MultiplyAdd float64

	// Of a multiprocessor.
	Registers, Shared, Threads, Blocks int // shared memory in bytes
	L1                                 int // bytes, of which shared memory takes what the blocks ask for

	Memory, L2 float64 // bytes per second of the card, read and written together
	Launch     float64 // seconds from the end of a kernel of a CUDA graph to the start of the one that waits for it
}

// sharedReserved are the bytes of shared memory that the driver keeps for itself in every block.
const sharedReserved = 1 << 10

// H200 is an NVIDIA H200 (SXM). Multiprocessors and their limits are those of its data sheet and of the CUDA
// programming guide for capability 9.0. Clock, memory and latency were measured (docs/performance.md): under load it
// runs at 1.78 to 1.97 GHz; kernels that only move bytes reach 4.0 to 4.1 TB/s; a warp of a convolution issues an
// instruction every 6.5 cycles, and in fp32 a multiply-add every 2. The others are what comparable programs reach:
// 6 TB/s from L2; with mma.sync, 60 % of the dense peak, which takes wgmma and is 1024 multiply-adds of TF32 or 2048 of
// bfloat16 per cycle; 1.5 µs between the kernels of a graph.
var H200 = Card{
	Name: "H200", Target: "sm_90",
	Multiprocessors: 132, Clock: 1.83e9,
	Issue: 4, Wavefronts: 1,
	TF32: 0.6 * 1024, BF16: 0.6 * 2048,
	Latency: 6.5, MultiplyAdd: 2,
	Registers: 65536, Shared: 228 << 10, Threads: 2048, Blocks: 32, L1: 256 << 10,
	Memory: 4.1e12, L2: 6e12, Launch: 1.5e-6,
}
