// Package gpu is the CUDA engine: it trains all active clients of a round at once on an NVIDIA card.
//
// The engine lowers a net's Gorgonia graph to a program, a list of kernel launches. It gives the program memory for a
// number of slots, one for each client, and makes one CUDA graph of all launches of a round: that is a wave. Every
// later round sends a plan to the device and replays the graph. docs/cuda.md tells the same story at more length.
//
//	e, err := gpu.Open(model, train, test, gpu.Options{Batch: 128})
//	if err != nil {
//		return err // there is no card, or none that can be used
//	}
//	defer e.Close()
//	rows, err := e.NewBank(2)
//	if err != nil {
//		return err
//	}
//	start, end := nets.Row{Bank: rows}, nets.Row{Bank: rows, Index: 1}
//	work := nets.LocalWork{LR: 0.1, Clients: []nets.ClientWork{{Start: start, End: end, Plan: plan}}}
//	losses, err := e.Train(ctx, work)
//
// A round goes from train.go and evaluate.go, which divide it into waves, to wave.go, plan.go and run.go, which replay
// one. lower.go makes the launches: a new op is a case in op there, its launches in a lower_*.go file and its kernel in
// nets/gpu/kernels.
//
// Files without a build tag compile without CUDA, so that lowering and the layout of memory are tested everywhere.
package gpu
