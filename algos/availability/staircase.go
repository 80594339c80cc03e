package availability

// staircase: p_i^t = p_i in the first half of every cycle of P rounds, Low·p_i in the second. The middle round of an
// odd P belongs to the first.
func staircase(o Options) (Process, error) {
	return &independent{Options: o, at: func(p float64, t int) float64 {
		if 2*(t%o.Period) < o.Period {
			return p
		}
		return o.Low * p
	}}, nil
}
