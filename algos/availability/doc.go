// Package availability holds the availability models: which clients are active in a round.
//
//	model, err := availability.New("sine", availability.Defaults(base, seed)) // base [N]: the p_i, see [Base]
//	if err != nil {
//		return err
//	}
//	p := make([]float64, len(base))
//	for t := range rounds {
//		model.Probabilities(t, p)  // p_i^t
//		active := model.Active(t)  // ascending
//	}
//
// A model of independent rounds is a formula in independent.go; a model with a state is like those of markov.go, on the
// chains of chain.go, or those of cycles.go. Add its name to the list in availability.go, and its settings to [Options]
// and [Defaults]: the tests that go through [Names] then run it with all others. What any model may have besides is in
// population.go, separation.go and outages.go, and recorded traces are read by package trace.
package availability
