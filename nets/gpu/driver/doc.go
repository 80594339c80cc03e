//go:build gpu && linux && cgo

// Package driver binds NVIDIA's CUDA driver: devices, memory, streams, events, graphs and kernels. It loads the
// driver's library at run time, so that one binary runs on machines with and without a card.
//
// [Devices] lists the devices, or says why there are none. A [Device] belongs to the OS thread that opened it: a caller
// uses one [Thread] for all calls on a device and on its memory, streams, events, graphs and modules.
//
// Read device.go first, then memory.go and stream.go, which queue work, graph.go, which makes graphs of it, and
// module.go, which launches kernels. library.go finds the driver's library and says what it lacks. errors.go has the
// driver's errors.
//
//   - needed.h lists the driver functions that rollcall calls. linked.h lists the driver functions that gorgonia.org/cu
//     refers to and rollcall never calls. shim.c defines each of them as a jump into the library. A new driver function
//     is a line in needed.h.
//   - The tests run on testdata/fakecuda.c, a library whose calls fail when a test asks for it, and on the real driver
//     if the machine has a card. `make check-driver` gets a real one that works as far as it can without a card.
//
// The package needs a C compiler, and the CGO_CFLAGS and CGO_LDFLAGS that the Makefile exports, but no file of
// NVIDIA's: gorgonia.org/cu compiles against cuda.h in this folder and links with the empty lib/libcuda.a.
package driver
