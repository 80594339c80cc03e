package availability

// stationary: p_i^t = p_i, in all rounds.
func stationary(o Options) (Process, error) {
	o.Period = 1
	return &independent{Options: o, at: func(p float64, _ int) float64 { return p }}, nil
}
