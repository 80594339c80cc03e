package algos

import (
	"math"
)

// DecayedLR returns η_t = η_0 / sqrt(t/10 + 1), the schedule of all methods in FedAWE's tables.
func DecayedLR(lr float64, t int) float64 { return lr / math.Sqrt(float64(t)/10+1) }
