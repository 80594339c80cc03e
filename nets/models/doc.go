// Package models holds the networks, and builds their Gorgonia graphs.
//
// A net is a function that adds layers:
//
//	Build: func(b *Builder) Maps {
//		h := b.Conv(b.Input(1), 32, 3, 0)
//		return b.Linear(b.Linear(h, 64, true), 10, false)
//	}
//
// Its name goes into the catalogue in model.go, and into testdata/goldens.py: run that script, and the tests of
// nets/cpu compare every gradient with PyTorch's. A new layer is an op in nets/ops and a method of [Builder]. Whoever
// changes what a net computes raises the revision beside its name: revision_test.go fails if nobody did, and records
// the new numbers with -update.
package models
