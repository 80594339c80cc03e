package kernels

// LogOddsArgs are the arguments of log_odds and log_odds_backward; log_odds.cu says what each field means.
type LogOddsArgs struct {
	Work, X, Y, GY, DX uint64
	N                  uint32
	_                  uint32
}

// Forward returns the launch of log_odds, which reads one float and writes two for every sample.
func (a *LogOddsArgs) Forward(Precision) Launch { return flat(a.N, 12*int64(a.N)) }

// Backward returns the launch of log_odds_backward. A sample costs three activations: two of gy, which lie in one line
// of memory although the kernel uses one alone, and one of dx.
func (a *LogOddsArgs) Backward(p Precision) Launch { return flat(a.N, p.act(3*int64(a.N))) }
