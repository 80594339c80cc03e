// Package cpu holds the kernels of the CPU engine: a matrix-multiply tile and element-wise code in several variants,
// and the batched layers built from them.
//
// Read kernels.go first: [Kernels] lists everything that is written once per instruction set, and says what it
// computes.
//
//   - generic.go and norm_generic.go are the variant in plain Go, which the tests compare every other one with.
//   - The *_amd64.go files check lengths and call the assembly, in methods of code. gen writes the assembly
//     (*_amd64.s), and stubs_amd64.go declares it.
//   - select.go chooses a variant.
//   - pool.go runs a [Task] in chunks on several threads. Chunks are fixed by the sizes, so that no result depends on
//     the threads.
//   - The layers are tasks: conv.go with pooling, conv2d*.go without, linear.go, norm*.go, average.go, subsample.go,
//     dropout.go, softmax.go, and gather.go, which crops and normalises images.
//
// A new kernel is a method of [Kernels], of generic and of code (kernels_amd64.go), a function in gen, its declarations
// in stubs_amd64.go, and a test against the generic one in kernels_test.go. `make generate` then writes the
// assembly. The order of sums is part of a kernel's contract: a new order is a new result.
package cpu
