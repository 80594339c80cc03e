package availability

// sine: p_i^t = p_i·(γ sin(2πt/P) + 1 − γ). With γ ≥ 0.5 the probability falls to 0 once per cycle.
func sine(o Options) (Process, error) {
	return &independent{Options: o, at: func(p float64, t int) float64 { return p * o.wave(t) }}, nil
}
