// Package asm holds the assembly of packages kernels, bf16 and reference: every kernel once for AVX-512 and once for
// AVX2, and the products of bf16 for AVX512_BF16 and AMX as well.
//
// Only these and bf16/permit import it, and only on amd64. The kernels take bare pointers and check nothing: the
// packages check that slices are long enough, and that no count is 0, before they call one.
//
// The file NAME_amd64.go declares one family of kernels and says what each computes. The code is in
// NAME_avx512_amd64.s and NAME_avx2_amd64.s, which ../gen writes (`make generate`); nobody edits them by hand.
// Start with flat_amd64.go, which has the simplest kernels, and end with gemm_amd64.go. All kernels for AMX are
// declared in amx_amd64.go; their code is in NAME_amx_amd64.s.
//
// A name ends in AVX512 if the processor must have AVX-512 F, BW, DQ and VL, in AVX2 if it must have AVX2, FMA and
// BMI2. Both versions of a kernel return the same bits: they add in the same order and fuse the same multiply-adds. A
// register holds 16 float32 with AVX-512, 8 with AVX2.
//
// A name ends in AVX512BF16 if the processor must have what AVX512 needs and AVX512_BF16, in AMX if it must have these
// and in the products AMX-BF16. Go's assembler lacks some of the instructions. They are BYTEs with the instruction in a
// comment; a test compares the two.
//
// A kernel may move its parameters past the end of what they point into, but no pointer in a structure that it gets:
// Go's collector ends the process where it finds such a pointer.
//
// Where a comment does not say otherwise, every count is at least 1, matrices are row by row without gaps, and outputs
// overlap neither inputs nor each other.
package asm

//go:generate go run ../gen
