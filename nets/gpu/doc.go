// Package gpu is the CUDA engine: it trains all active clients of a round at once on an NVIDIA card.
//
// The engine lowers a net's Gorgonia graph to a program, a list of kernel launches. It gives the program memory for a
// number of slots, one for each client, and makes one CUDA graph of all launches of a round: that is a wave. Every
// later round sends a plan to the device and replays the graph. docs/cuda.md tells the same story at more length.
//
// Read the files in the order of a round:
//
//   - engine.go lists the cards, opens one and copies the samples to it. options.go has what a caller can choose.
//   - train.go and evaluate.go divide a round into waves and read the results.
//   - wave.go finds the wave for a number of clients, or makes one.
//   - load.go makes the programs, has their kernels compiled, and checks that the card can launch them. program.go has
//     the types. lower.go walks the net's graph node by node and turns every op into launches; lower_*.go has the ops,
//     one family a file.
//   - memory.go gives a wave its memory on the device. arena.go decides which buffers of a program share memory.
//   - plan.go writes what changes from round to round, which travels to the device in one copy.
//   - run.go makes the graph of a wave and replays it; order.go says which launch waits for which. launch.go launches
//     one kernel.
//   - bank.go has the rows of parameters on the device, layout.go the order of the parameters in a row. scratch.go
//     carries small arrays to the device and back.
//   - profile.go times kernels. unavailable.go stands in for all of it in a program without CUDA.
//
// Files without a build tag compile without CUDA, so that lowering and the layout of memory are tested everywhere. The
// folders below are driver (calls of the CUDA driver), kernels (the kernels and how they are launched), emulator and
// gputest (tests without a card), and selftest (a card compared with the CPU engine, by the rounds of crowd).
//
// A new op is a case in op in lower.go, its launches in a lower_*.go file and its kernel in nets/gpu/kernels.
package gpu
