package availability

// staircase: p_i^t = p_i in the first half of every cycle of P rounds, Low·p_i in the second half. If P is odd, the
// middle round belongs to the first half.
func staircase(o Options) (Process, error) {
	return &independent{Options: o, at: func(p float64, t int) float64 {
		if 2*(t%o.Period) < o.Period {
			return p
		}
		return o.Low * p
	}}, nil
}
