// Package nets holds the networks, and the engines that train them for many clients at once.
//
// Read engine.go first: [Engine] is the contract that the federated methods are written against, and check.go says
// which work an engine refuses. Then read model.go, the catalogue of the networks.
//
//   - One network per file: cnn_*.go, lenet5.go, linear_*.go, resnet18.go and resnet20.go. resnet.go has the blocks
//     of the residual nets.
//   - graph.go builds the Gorgonia graph of a network layer by layer; build_residual.go has the layers of the residual
//     nets. The CUDA engine translates the same graph to kernels.
//   - The CPU engine is cpu_engine.go, with its rows of parameters in cpu_rows.go, training in cpu_train.go and
//     evaluation in cpu_evaluate.go. It trains each client in a slot (slot.go), which calls the ops of the graph one
//     after another (machine.go). cpu_memory.go estimates the memory that it takes.
//
// The running statistics of batch normalisation are parameters with [Param.Buffer] set. Training moves them in
// updateStatistics (cpu_train.go), evaluation reads them, and the methods average them with the weights (package
// algos).
//
// A new network is one file and one line in the catalogue in model.go. Add it to testdata/goldens.py and run that
// script: the tests compare every gradient with PyTorch's. A new layer is an op in nets/ops and a method of the builder
// in graph.go.
//
// numerics.go names the class of an engine's numbers. Whoever changes numbers raises a revision: of the net in its
// file, or of the engine beside its Info. revision_test.go fails if nobody did, and records the new numbers with
// -update.
package nets
