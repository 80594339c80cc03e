// Package gpu is the CUDA engine: it lowers the nets' Gorgonia graphs to kernels that train all active clients at
// once.
//
// docs/cuda.md describes a round. Read engine.go first, which opens a card, then train.go and evaluate.go.
//
//   - lower.go walks a graph node by node and turns every op into launches; lower_*.go has the ops, a family per
//     file. program.go has the result, a program, and arena.go places the buffers of a program.
//   - wave.go runs a program for many clients at once, captured as one CUDA graph. memory.go finds room for it;
//     load.go checks that the card can launch its kernels.
//   - bank.go and layout.go have the rows of parameters on the card, scratch.go the small copies.
//   - profile.go times kernels. cards.go lists the cards, and unavailable.go stands for it all in a program without
//     CUDA.
//
// Files without a build tag compile without CUDA: lowering and memory layout are tested everywhere. Below are driver
// (calls of the CUDA driver), kernels (the kernels and how they are launched), emulator and gputest (tests without a
// card).
//
// A new op is a case in op in lower.go, its launches in a lower_*.go file and its kernel in nets/gpu/kernels.
package gpu
