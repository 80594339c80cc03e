// Package models holds the networks, and builds their Gorgonia graphs.
//
// A net is a text of layers, in front of the last one, which has an output for every class:
//
//	conv 32 3x3 pad 1 pool, conv 32 3x3 pad 1 pool, linear 64
//
// Users register their own; those of the papers are the catalogue. A net with other layers is a function:
//
//	Build: func(b *Builder) Maps { return b.Odds(b.Linear(b.Input(0), 1, false)) }
//
// A net of the catalogue goes into testdata/goldens.py too: run that script, and the tests of nets/cpu compare every
// gradient with PyTorch's. A new layer is an op in nets/ops, a method of [Builder], and a word of the texts. Whoever
// changes what a net computes raises the revision beside its name: revision_test.go fails if nobody did, and records
// the new numbers with -update.
package models
