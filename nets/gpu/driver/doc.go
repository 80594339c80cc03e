//go:build gpu && linux && cgo

// Package driver binds NVIDIA's CUDA driver, looked up at run time: devices, memory, streams, events, graphs and
// kernels.
//
// [Devices] says what is there, or why nothing is. A [Device] belongs to the OS thread that opened it: make every
// call on it, and on what it made, through one [Thread].
//
// Read devices.go and device.go first, then stream.go and graph.go, which queue work and capture it, and module.go,
// which launches kernels. library.go looks the driver's library up and says what it lacks; errors.go has the driver's
// errors.
//
//   - needed.h lists the driver's functions that rollcall calls, linked.h those that gorgonia.org/cu refers to.
//     shim.c makes a function of each that jumps to the library. A new call of the driver is a line in needed.h.
//   - The tests run on testdata/fakecuda.c, a library whose calls fail when a test asks for it, and on a real driver
//     where there is a card.
//
// The package builds with a C compiler alone, with the CGO_CFLAGS and CGO_LDFLAGS that the Makefile exports:
// gorgonia.org/cu, which it stands on, is compiled against cuda.h here and linked against the empty lib/libcuda.a;
// shim.c holds the functions.
package driver
