// Package algos holds the federated methods, one per file, written against the engine contract of package nets alone.
//
// A method with one model is a file like this, and its name in the list in algos.go:
//
//	var fedHalfMethod = Definition{
//		Name: "fedhalf", Revision: 1, Is: Linear, Later: serverParams, LR: 0.05, ServerLR: 1,
//		start: startOn(newGlobal, func(g global, _ Options) method { return &fedHalf{g} }),
//	}
//
//	type fedHalf struct{ global }
//
//	// Round sets w += η_g/2 · mean_{i∈A} Δ_i.
//	func (m *fedHalf) Round(ctx context.Context, r Round) ([]float32, error) {
//		return m.weigh(ctx, r, func(_ int, lr float64) float64 { return lr / 2 / float64(len(r.Active)) })
//	}
//
// Flags, help, completion, the name of a run and its record follow from the declaration. conformance_test.go holds the
// method to what it declares in [Definition].Is, and to what follows from what it does not; foreign_test.go has a
// method with momentum, one with Load and Store, and one with a memory, and mistakes that are caught. If a round leaves
// anything behind for later rounds, the method has a function state that calls its base's and names what is kept. Its
// numbers go to testdata/revisions by
//
//	go test ./algos -run TestRevisions -update
//
// Whoever changes them raises the revision and runs the same command: runs of other revisions are never taken for
// equal.
//
// Read algos.go first, then global.go, the base of the methods with one model and the server's step; server.go, what
// all methods share; memory.go, the base of those that remember updates; weighted.go, that of CA-Fed's methods.
// param.go says how a parameter is declared, state.go how a run is resumed.
//
// The learning rate of a round is Round.LR: the caller chooses it. The update Δ_i of a client is its row after the
// local steps minus its row before. Running statistics of batch normalisation are no weights: see
// server.averageBuffers.
package algos
