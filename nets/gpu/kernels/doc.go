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
// The engine launches it on a grid of blocks × slots:
//
//	a := kernels.AddArgs{Work: work, A: x, B: shortcut, Y: y, N: elements}
//	how := a.Launch(kernels.TF32)
//	grid := [2]int{how.X, slots}
//	err := function.Launch(grid, how.Threads, how.Shared, stream, argBytes(a)) // of "add_tf32"
//
// work.cuh has the wave of clients that every kernel of a local step serves, and the letters of all shapes; prelude.cuh
// is the device language that clang and the emulator (nets/gpu/emulator) share.
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
