// Package kernels holds the kernels of the CPU engine: a matrix-multiply tile and element-wise code in several
// variants, and the batched layers built from them.
//
// Read kernels.go first: [Kernels] lists everything that is written once per instruction set, and says what it
// computes.
//
//   - generic.go, norm_generic.go and winograd_generic.go are the variant in plain Go. The tests compare every other
//     variant with it.
//   - The *_amd64.go files check lengths and call the assembly, in methods of code. The assembly is package asm, in the
//     folder asm; the command in the folder gen writes it.
//   - select.go chooses a variant for the processor at hand.
//   - pool.go cuts a [Task] into chunks and runs them on several threads. The sizes of the layer alone fix the chunks,
//     so that no result depends on the number of threads.
//   - The layers are tasks: conv.go and conv_*.go with pooling, conv2d*.go without, linear*.go, norm*.go, average.go,
//     subsample.go, dropout.go, softmax.go, and gather.go, which crops and normalises images.
//   - Behind pooling and ReLU most numbers are 0: sparse.go has lists of the others and the product of lists with a
//     matrix, conv_winners.go and linear_sparse.go the layers that leave the zeros out. Whether they do is a matter of
//     the shape, and changes no bit.
//   - pixels.go has convolutions with few outputs, whose registers are filled with pixels.
//   - winograd.go computes convolutions of many channels with a stride of 1 by Winograd's algorithm, for the tasks of
//     conv2d*.go. Whether they are is a matter of the shape.
//   - Where an executor has [Exec.Products], the operands of all matrix products are rounded to bfloat16, by package
//     bf16. matrix.go has what the layers share for it, weights_product.go the gradient of a convolution's weights.
//
// A new kernel is a method of [Kernels], of generic and of code (kernels_amd64.go), a function in gen, its declarations
// in asm, and a test against the generic variant in kernels_test.go. `make generate` then writes the assembly. The
// order of sums is part of a kernel's contract: another order gives other results.
package kernels
