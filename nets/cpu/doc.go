// Package cpu is the engine that trains nets on the cores of the processor.
//
//	e, err := cpu.Open(net, train, test, cpu.Options{Batch: 32}) // e implements nets.Engine
//
// Each client trains in a slot (slot.go), which calls the ops of the net's graph one after another (machine.go).
// rows.go has the rows of parameters, train.go the local steps, evaluate.go the evaluation; memory.go estimates the
// memory that all this takes. The arithmetic is in the kernels, folder kernels.
//
// Running statistics of batch normalisation are parameters with [models.Param.Buffer] set: training moves them in
// updateStatistics (train.go), and evaluation reads them.
package cpu
