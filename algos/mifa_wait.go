package algos

import "context"

// mifaWait is MIFA as its analysis wants it (Gu et al., NeurIPS 2021: every client is there in the first round): w
// stays at the initial weights until every client was seen once. Until then the active ones refresh y_i.
//
// Clients with p_i = 0 (no samples) are not waited for [inferred]: they would hold up the run for ever. A client that
// its process never lets in although p_i > 0 (interleaved-sine with p_i < δ_0) does hold it up.
type mifaWait struct{ mifa }

var mifaWaitMethod = Definition{"mifa-wait", 1, nil, startOn(newMemory, func(base memory, _ Options) method {
	return &mifaWait{mifa{base}}
})}

func (m *mifaWait) Round(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.refresh(ctx, r)
	if err != nil || m.waits() {
		return loss, err
	}
	return loss, m.step(r.ServerLR)
}

// waits reports whether a client with p_i > 0 was not seen yet.
func (m *mifaWait) waits() bool {
	for i, seen := range m.seen {
		if !seen && m.P[i] > 0 {
			return true
		}
	}
	return false
}
