// Package kernels holds the CUDA kernels: their source, the PTX made of it, the arguments they take and how they are
// launched.
//
// Read args.go first: it has the arguments of every kernel, field by field as in work.cuh, which says what a wave and
// a slot are. Then read add.cu, the shortest kernel.
//
//   - One family of kernels per .cu file, which starts with formula, shapes, launch and traffic. prelude.cuh is the
//     language they share under clang and on the emulator; gemm*.cuh and conv*.cuh are the matrix products,
//     precision.cuh the precisions.
//   - launch_*.go says how many blocks and threads a kernel is launched with, and what the launch computes and
//     moves.
//   - kernels.go finds the PTX of a kernel.
//
// A new kernel is a .cu file, its arguments in work.cuh and args.go, a [Launch], and a test that compares
// it with nets/cpu in every precision. `make kernels` compiles it to the PTX that is committed, and
// `make check-kernels` compares. nets/gpu/lower*.go launches it.
package kernels
