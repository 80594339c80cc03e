package predict

// Card has the constants of the model for one card.
type Card struct {
	Name   string
	Target string // architecture, as ptxas names it

	Multiprocessors int
	Clock           float64 // cycles per second

	// Of a multiprocessor, per cycle.
	Issue      float64 // instructions of warps
	Multiply   float64 // of these, multiply-adds of float32
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

// Cards are all cards with constants. The model was fitted to the H200, the only one that it was compared with.
var Cards = []Card{H200, H100, A100}

// H200 is an NVIDIA H200 (SXM). Multiprocessors and their limits are those of its data sheet and of the CUDA
// programming guide for capability 9.0. Clock, memory and latency were measured (docs/performance.md): under load it
// runs at 1.78 to 1.97 GHz; kernels that only move bytes reach 4.0 to 4.1 TB/s; a warp of a convolution issues an
// instruction every 6.5 cycles, and in fp32 a multiply-add every 2. The others are what comparable programs reach:
// 6 TB/s from L2; with mma.sync, 60 % of the dense peak, which takes wgmma and is 1024 multiply-adds of TF32 or 2048 of
// bfloat16 per cycle; 1.5 µs between the kernels of a graph.
var H200 = Card{
	Name: "H200", Target: "sm_90",
	Multiprocessors: 132, Clock: 1.83e9,
	Issue: 4, Multiply: 4, Wavefronts: 1,
	TF32: 0.6 * 1024, BF16: 0.6 * 2048,
	Latency: 6.5, MultiplyAdd: 2,
	Registers: 65536, Shared: 228 << 10, Threads: 2048, Blocks: 32, L1: 256 << 10,
	Memory: 4.1e12, L2: 6e12, Launch: 1.5e-6,
}

// H100 is an NVIDIA H100 (SXM, 80 GB), which has the chip of the H200. Data sheet: the multiprocessors and their
// limits. Assumed: the clock under load, and all else that was fitted to the H200. Memory has 3.35 TB/s by the data
// sheet; a copy on one card was measured at about 3.0.
var H100 = func() Card {
	c := H200
	c.Name, c.Memory = "H100", 3.0e12
	return c
}()

// A100 is an NVIDIA A100 (SXM, 80 GB).
//
// Data sheet and programming guide for capability 8.0: the multiprocessors and their limits; 64 multiply-adds of
// float32, 512 of TF32 and 1024 of bfloat16 per cycle; 1.41 GHz, the highest clock. Assumed: that it runs at this clock
// under load, and that mma.sync, the only instruction of its tensor cores, reaches their peak; latencies and the time
// of a launch of the H200.
//
// Memory has 2.04 TB/s by the data sheet, of which the same share is assumed as on the H200, 86 %. L2 reads 5120 bytes
// a cycle by NVIDIA's white paper, 7.2 TB/s. Measured by others (github.com/te42kyfo/gpu-benches, gpu-l2-cache), reads
// reach 5.4 TB/s in L2 and 1.73 in memory; on an H200 9.7, of which the model has 6, and 3.89. The same share of L2 is
// assumed here.
var A100 = Card{
	Name: "A100", Target: "sm_80",
	Multiprocessors: 108, Clock: 1.41e9,
	Issue: 4, Multiply: 2, Wavefronts: 1,
	TF32: 512, BF16: 1024,
	Latency: 6.5, MultiplyAdd: 2,
	Registers: 65536, Shared: 164 << 10, Threads: 2048, Blocks: 32, L1: 192 << 10,
	Memory: 1.75e12, L2: 5.4 / 9.7 * 6e12, Launch: 1.5e-6,
}
