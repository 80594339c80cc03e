// Package tiles lets tests run the instructions of Intel's AMX on a processor that has none.
//
// [Install] handles the signal that such an instruction raises. The handler, in emulate.c, reads the instruction, does
// what Intel's manual says, and goes on behind it. It shares no code with what it tests: package bf16 has the same
// arithmetic in Go, and the assembly is written by nets/cpu/kernels/gen. What a processor with AMX would refuse, such
// as tiles whose shapes do not fit, ends the process with a message. Tiles that nobody has written since the last
// configuration hold NaN, and so do those that a thread left behind.
//
// Only tests import it. It needs Linux, cgo, and a processor with AVX-512 and AVX512_BF16, which run as they are.
package tiles
