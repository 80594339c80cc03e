// Package kernels holds the CUDA kernels of the nets' ops: for each, its source, its arguments, how it is launched and
// what the launch costs.
//
// # How to read it
//
// An op has its files side by side. add is the shortest one:
//
//   - add.cu is the kernel. It starts with formula, shapes, launch and traffic, and declares AddArgs, its arguments.
//     Where several .cu files share arguments, a .cuh file declares them: conv.cuh for conv_forward.cu,
//     conv_backward_data.cu and conv_backward_filter.cu.
//   - add.go mirrors the arguments and returns the [Launch]: geometry and [Cost].
//   - add_test.go compares the kernel with nets/cpu/kernels, in every precision.
//   - ptx/add.ptx is what `make kernels` compiles add.cu to. It is committed, and embedded in the program, which needs
//     no CUDA compiler.
//
// Read in this order:
//
//   - work.cuh: the wave of clients that every kernel of a local step serves, and the letters of all shapes; work.go
//     mirrors it.
//   - launch.go: [Launch], [Geometry], [Cost], [Precision].
//   - add.cu and add.go, then relu, dropout, log_odds, average_pool, subsample: element-wise ops, by elements.cuh.
//   - gather, rows and sgd: how a batch comes in, and how rows of parameters start and are updated; dot.cuh has
//     their products. update.cuh is the step of SGD, which kernels of a gradient take at once where nothing is clipped.
//   - cross_entropy and score, by softmax.cuh.
//   - batch_norm.cuh, then batch_norm.cu and batch_norm_backward.cu.
//   - gemm.cuh, with gemm_stage.cuh and gemm_multiply.cuh: the tile product. linear*.cu and conv2d*.cu use it; with
//     gemm_update.cuh it is a gradient of weights.
//   - head.cu, with head.cuh and head_loss.cuh: the last two layers of a net, its loss and their gradients in one
//     launch.
//   - conv.cuh, conv_patch.cuh and conv_multiply.cuh: the convolution with bias, ReLU and pooling of conv_*.cu; the
//     gradient of its weights is filter_units.cuh, filter_load.cuh, filter_multiply.cuh and filter_fp32.cuh. conv.go
//     cuts it into tiles. conv_reduce adds up the partial sums of both convolutions.
//   - prelude.cuh: the device language that clang and the emulator (nets/gpu/emulator) share; precision.cuh: how each
//     precision stores and rounds.
//   - kernels.go finds the PTX of a kernel; gen compiles it.
//
// # How to add an op
//
//   - Write X.cu. A kernel takes one structure XArgs by value, and the blocks of a slot that is not in use return.
//   - Mirror XArgs in X.go, with a method that returns the launch; add it to mirrors in mirror_test.go, and its cost,
//     worked out by hand, to launch_test.go.
//   - Compare it with nets/cpu/kernels in X_test.go.
//   - `make kernels` writes ptx/X.ptx; `make check-kernels` fails if that is not what X.cu compiles to.
//   - `make limits` enters its machine code in nets/gpu/sass/limits.csv. An instruction that no kernel had before must
//     be added to nets/gpu/ptx.
//   - Launch it in nets/gpu/lower_X.go, and add a case to lower.go there.
package kernels
