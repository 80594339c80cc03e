package algos

import (
	"context"
	"fmt"
	"math"
)

// FedAR are fedar's own settings.
type FedAR struct {
	Rho     float64 // ρ, in [0, 1]: how fast the weight of a stale update grows
	T0      float64 // t_0 of g(t) = t_0 + t/b, in rounds, above 0
	B       float64 // b, above 2
	Forever bool    // g = ∞: no update is ever too stale, whatever T0 and B
}

// DefaultFedAR returns ρ = 0.1, which the paper prints (section 6.1), and t_0 = 50, b = 4, which it does not [inferred].
func DefaultFedAR() FedAR { return FedAR{Rho: 0.1, T0: 50, B: 4} }

// validate reports the first impossible setting.
func (o *FedAR) validate() error {
	switch {
	case !(o.Rho >= 0 && o.Rho <= 1):
		return fmt.Errorf("rho %g, want 0 … 1", o.Rho)
	case !isPositive(o.T0):
		return fmt.Errorf("t0 of %g rounds, want above 0", o.T0)
	case !(o.B > 2) || math.IsInf(o.B, 1):
		return fmt.Errorf("b %g, want above 2", o.B)
	}
	return nil
}

// psiMax bounds ψ (section 4: "we also set the maximum value to 2").
const psiMax = 2

// psi returns ψ of a client inactive for tau rounds in round t, counted from 1: 0 if tau > g(t), else min((tau+1)^ρ, 2) (eq. 6).
func (o *FedAR) psi(tau, t int) float64 {
	if !o.Forever && float64(tau) > o.T0+float64(t)/o.B {
		return 0
	}
	return min(math.Pow(float64(tau)+1, o.Rho), psiMax)
}

// fedAR steps along the latest updates of all clients seen so far, those of the absent a little enlarged, those too old left out
// (Jiang et al., "FedAR: Addressing Client Unavailability in Federated Learning with Local Update Approximation and
// Rectification", ECML PKDD 2024, Algorithm 1):
//
//	G_i ← (w − w_i)/η_t for i∈A;  τ_i ← 0 if active, else τ_i + 1
//	w ← w − η_g (η_t/N_t) Σ_i ψ_i G_i,  N_t = clients seen so far with ψ_i > 0; no update while N_t = 0
//
// η_g is 1 in the paper. Line 12 read to the letter would also take those never seen from N_t once their τ_i exceeds g(t), who are
// not in it; they are left alone, as the text after eq. (7) has it.
//
// The rows hold Δ_i = −η G_i, and η is kept beside: G_i itself would be rounded once more.
type fedAR struct {
	global
	memory
	options FedAR
	tau     []int     // [N] rounds since the client was active
	rate    []float64 // [N] η of the round of y_i
}

func newFedAR(s *server, w0 []float32, o Options) (Method, error) {
	settings := DefaultFedAR()
	if o.FedAR != nil {
		settings = *o.FedAR
	}
	if err := settings.validate(); err != nil {
		return nil, err
	}
	g, err := newGlobal(s, w0)
	if err != nil {
		return nil, err
	}
	mem, err := newMemory(s)
	return &fedAR{g, mem, settings, make([]int, s.N), make([]float64, s.N)}, err
}

func (m *fedAR) Round(ctx context.Context, r Round) ([]float32, error) {
	loss, err := m.refresh(ctx, &m.global, r)
	if err != nil {
		return nil, err
	}
	for i := range m.tau {
		m.tau[i]++
	}
	for _, i := range r.Active {
		m.tau[i], m.rate[i] = 0, r.LR
	}
	psi, n := m.weights(r.T + 1)
	if n == 0 {
		return loss, nil
	}
	var w terms
	w.add(1, m.w)
	for i, y := range m.y {
		if psi[i] > 0 {
			w.add(r.ServerLR*r.LR/m.rate[i]*psi[i]/float64(n), y)
		}
	}
	return loss, m.set(m.w, w)
}

// weights returns ψ_i [N] in round t, counted from 1, 0 for those never seen, and N_t.
func (m *fedAR) weights(t int) (psi []float64, n int) {
	psi = make([]float64, m.N)
	for i, tau := range m.tau {
		if !m.seen[i] {
			continue
		}
		if psi[i] = m.options.psi(tau, t); psi[i] > 0 {
			n++
		}
	}
	return psi, n
}
