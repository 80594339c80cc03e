// Package models holds the networks, one per file, and builds their Gorgonia graphs.
//
// A net is a function that adds layers:
//
//	Build: func(b *Builder) Maps {
//		h := b.Conv(b.Input(1), 32, 3, 0)
//		return b.Linear(b.Linear(h, 64, true), 10, false)
//	}
//
// Read model.go first: the catalogue, the order of parameters and initial weights. graph.go has the builder and its
// layers, build_residual.go those of the residual nets.
//
// A new net is one file and its name in the catalogue. Add it to testdata/goldens.py and run that script: the tests of
// nets/cpu compare every gradient with PyTorch's. A new layer is an op in nets/ops and a method of [Builder]. Whoever
// changes what a net computes raises the revision in its file: revision_test.go fails if nobody did, and records the
// new numbers with -update.
package models
