package algos

import "context"

// mifaWait is MIFA as its analysis wants it (Gu et al., NeurIPS 2021: every client is there in the first round): w
// stays at the initial weights until every client was seen once. Until then the active ones refresh y_i.
//
// Clients with p_i = 0 (no samples) are not waited for [inferred]: they would hold up the run for ever. A client that
// its process never lets in although p_i > 0 (interleaved-sine with p_i < δ_0) does hold it up.
type mifaWait struct {
	mifa
	waiting int // clients with p_i > 0 not seen yet
}

var mifaWaitMethod = Definition{"mifa-wait", 1, nil, startOn(newMemory, func(base memory, _ Options) Method {
	m := &mifaWait{mifa: mifa{base}}
	for _, p := range m.P {
		if p > 0 {
			m.waiting++
		}
	}
	return m
})}

func (m *mifaWait) Round(ctx context.Context, r Round) ([]float32, error) {
	for _, i := range r.Active {
		if !m.seen[i] && m.P[i] > 0 {
			m.waiting--
		}
	}
	loss, err := m.refresh(ctx, r)
	if err != nil || m.waiting > 0 {
		return loss, err
	}
	return loss, m.step(r.ServerLR)
}
