// Package bf16 multiplies matrices whose elements are rounded to bfloat16, the upper half of a float32. The sums are in
// float32. With bf16x3 an element is the sum of two bfloat16, which makes the products nearly as exact as with float32.
//
// Read product.go first: [Product] says what is computed, and in which order. All variants compute the same bits.
//
//   - generic.go is the variant in plain Go, with the roundings of round.go. The tests compare every other one with it.
//   - wide_amd64.go has the variants for AVX2 and AVX-512, which keep operands as float32.
//   - paired.go has the variant for AVX512_BF16, which keeps operands in pairs of 16 bits: dots_amd64.go its code, and
//     paired_model.go the same in plain Go.
//   - amx_amd64.go has the variant for Intel's AMX, which keeps operands in 16 bits; unpool.go is what it has on top.
//   - select_*.go lists the variants of the processor at hand, and says why the fastest is not among them ([Lost]).
//     Package permit asks the operating system for AMX.
//
// Package kernels uses it for the layers of a net. The assembly is package asm. The tests run the last two on
// processors without their instructions: package tiles emulates those of AMX, and [Modelled] has a model of the other.
package bf16
