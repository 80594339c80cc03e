// Package algos holds the federated methods, one per file, written against the engine contract of package nets alone.
//
// A run is a method in a loop:
//
//	m, err := algos.New("fedawe", federation, w0, algos.Options{Preset: algos.Paper})
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	for t := range rounds {
//		model.Probabilities(t, p) // of package availability
//		r := algos.Round{T: t, Active: model.Active(t), P: p, LR: algos.DecayedLR(0.05, t), ServerLR: 1}
//		loss, err := m.Round(ctx, r) // and m.Model() is the row to evaluate
//	}
//
// A method with one model is a file like this, and its name in the list in algos.go:
//
//	var fedHalfMethod = Definition{
//		Name: "fedhalf", Brief: "half the mean over the active clients",
//		Idea:    "Steps half as far as fedavg-active, towards the same biased model.",
//		Formula: "w += η_g/2 · mean_{i∈A} Δ_i", Paper: "A. Author: Half a Step, 2026",
//		Revision: 1, Is: Linear, Later: serverParams, LR: 0.05, ServerLR: 1,
//		start: startOn(newGlobal, func(g global, _ Options) method { return &fedHalf{g} }),
//	}
//
//	type fedHalf struct{ global }
//
//	// Round sets w += η_g/2 · mean_{i∈A} Δ_i.
//	func (m *fedHalf) Round(ctx context.Context, r Round) ([]float32, error) {
//		return m.weight(ctx, r, func(_ int, lr float64) float64 { return lr / 2 / float64(len(r.Active)) })
//	}
//
// Flags, help, completion, the name of a run and its record follow from the declaration, and conformance_test.go holds
// the method to what it declares in [Definition].Is. If a round leaves anything behind for later rounds, the method has
// a function state that calls its base's and names what is kept. go test ./algos -run TestRevisions -update records the
// method's numbers; whoever changes them raises the revision and runs the same command.
package algos
