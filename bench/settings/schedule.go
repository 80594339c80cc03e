package settings

import (
	"rollcall/algos"
	"rollcall/results"
)

// Evaluates reports whether the model is evaluated after this many rounds.
func (s *Settings) Evaluates(round int) bool {
	return results.Evaluated(round, s.Rounds, s.EvalEvery, int(s.EvalLast.Or(0)))
}

// Rate returns the local learning rate η_t of round t, counted from 0.
func (s *Settings) Rate(t int) float64 {
	if s.LRSchedule == "decay" {
		return algos.DecayedLR(s.LR, t)
	}
	return s.LR
}
