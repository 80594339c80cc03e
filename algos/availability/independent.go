package availability

import "rollcall/datasets/rng"

// independent is a process whose clients are active independently of each other and of other rounds. Such a process is
// fully described by the probabilities p_i^t.
type independent struct {
	Options
	at func(p float64, t int) float64 // p_i^t of a client with p_i = p, before it is clipped to [0, 1]
}

func (x *independent) Probabilities(t int, p []float64) {
	for i, base := range x.Base {
		p[i] = min(1, max(0, x.at(base, t)))
	}
}

// Stationary returns the mean of p_i^t over a cycle of P rounds, and λ = 0.
func (x *independent) Stationary() (pi, lambda []float64) {
	n := len(x.Base)
	pi, lambda = make([]float64, n), make([]float64, n)
	p := make([]float64, n)
	for t := range x.Period {
		x.Probabilities(t, p)
		for i := range pi {
			pi[i] += p[i]
		}
	}
	for i := range pi {
		pi[i] /= float64(x.Period)
	}
	return pi, lambda
}

func (x *independent) Active(t int) []int {
	p := make([]float64, len(x.Base))
	x.Probabilities(t, p)
	return Draw(p, x.Seed, t)
}

// Draw returns the clients that are active in round t if client i is active with probability p[i], independently of the
// others. They are ascending; the slice is empty, not nil, if there are none. Client i is active if its uniform number
// is below p[i]. So a client with p 0 is never active and a client with p 1 always, and with the same seed a larger p
// only adds clients.
//
// The number is at counter (t+1, i, 0) of [rng.Availability]: round 0 of that purpose belongs to [Base].
func Draw(p []float64, seed uint32, t int) []int {
	key := rng.Key{Seed: seed, Purpose: rng.Availability}
	return clientsWho(len(p), func(i int) bool { return key.Stream(t+1, i, 0).Float64() < p[i] })
}

// Base returns p_i = ⟨shares[i], φ⟩ [N], where shares[i][c] is the fraction of client i's samples that are of class c
// and φ_c is uniform in (0, 1) for the first half of the classes and in (0, 0.5) for the second (FedAWE, section 7).
// All clients share one φ, which depends on the seed. A client without samples has shares of 0, and so p_i = 0.
func Base(shares [][]float64, seed uint32) []float64 {
	return base(shares, rng.Key{Seed: seed, Purpose: rng.Availability}.Stream(0, 0, 0).Float64)
}

// base returns ⟨shares[i], φ⟩ [N]. It draws φ class by class, from as many uniform numbers as there are classes.
func base(shares [][]float64, uniform func() float64) []float64 {
	var phi []float64 // φ, drawn at the first client
	p := make([]float64, len(shares))
	for i, share := range shares {
		for c := len(phi); c < len(share); c++ {
			phi = append(phi, uniform())
			if 2*c >= len(share) {
				phi[c] /= 2
			}
		}
		for c, s := range share {
			p[i] += s * phi[c]
		}
		p[i] = min(1, p[i]) // rounded shares may sum to a little more than 1
	}
	return p
}
