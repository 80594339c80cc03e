// Package ptx reads PTX and runs it on the CPU, as NVIDIA's manual says: a second reading of what clang makes of the
// kernels, which apart from it only NVIDIA's assembler reads.
//
// It is a tool of tests and of models of speed. It knows the instructions that nets/gpu/kernels/ptx uses, in their
// exact forms; every other one is an error of [Parse] that names its line and text. What an instruction does is taken
// from "Parallel Thread Execution ISA", version 7.8, not from the C++ of the kernels or of the emulator that runs it.
//
//	m, err := ptx.Parse(text)
//	counts, err := m.Kernel("add_fp32").Run(ptx.Launch{Grid: [2]int{4, 1}, Threads: 256, Args: args}, memory)
//
// # What it does beyond the manual
//
// What the manual leaves undefined is a fault, or is made visible. A fault ends the run with an error that names the
// kernel, the line of the text, the block and a thread.
//
//   - Registers and shared memory are garbage at first, every bit set: a NaN as a number.
//   - So is the target of cp.async, until a cp.async.wait_group lets its group arrive.
//   - An access beside all buffers, beyond shared memory, or at an address that is no multiple of its size is a fault.
//   - So is a barrier that a thread misses, and an mma, an ldmatrix or a shfl that lanes of its mask miss.
//   - Between barriers the warps of a block run one after the other, in turns forwards and backwards.
//   - mma.sync adds up as the tensor cores of [Launch.Arch] do, bit by bit, which the manual leaves open.
//
// # Limits
//
// Lanes that part at a branch meet again at its immediate post-dominator. A card may let them meet later, so the counts
// are the least. There are no atomics, no local memory, no calls, no barrier but bar.sync 0. The registers are those of
// the text, not those of a card.
package ptx
