// Package nets is the contract between federated methods and the engines that train their clients.
//
// A method says who trains from which row of parameters, and then combines rows; it never sees a tensor:
//
//	bank, err := e.NewBank(3)                               // [3,P] zeros in the engine's memory
//	w, end, mean := nets.Row{Bank: bank}, …
//	loss, err := e.Train(ctx, nets.LocalWork{LR: 0.1, Clients: []nets.ClientWork{{Start: w, End: end, Plan: plan}}})
//	err = e.Combine(mean, []float64{0.5, 0.5}, []nets.Row{w, end}) // mean = w/2 + end/2
//
// [Engine] is the contract. Package nets/cpu implements it on the processor and nets/gpu on CUDA, both from the graph
// that nets/models builds of a net.
package nets
