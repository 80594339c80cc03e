package availability

// sine: p_i^t = p_i·(γ sin(2πt/P) + 1 − γ). From γ = 0.5 on the trough is at 0.
func sine(o Options) (Process, error) {
	return &independent{Options: o, at: func(p float64, t int) float64 { return p * o.wave(t) }}, nil
}
