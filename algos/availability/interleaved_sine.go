package availability

// interleavedSine: p_i^t = p_i·f(t) as in [sine], but 0 where that is below δ_0. A client with p_i < δ_0 is never
// active.
func interleavedSine(o Options) (Process, error) {
	return &independent{Options: o, at: func(p float64, t int) float64 {
		if v := p * o.wave(t); v >= o.Cutoff {
			return v
		}
		return 0
	}}, nil
}
