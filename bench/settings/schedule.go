package settings

import (
	"rollcall/algos"
	"rollcall/results"
)

// Evaluates reports whether the model is evaluated after so many rounds.
func (s *Settings) Evaluates(round int) bool {
	if round == s.Rounds || round%s.EvalEvery == 0 {
		return true
	}
	return s.EvalLast.Value != nil && round > s.Rounds-results.ProtocolRounds && round%int(*s.EvalLast.Value) == 0
}

// Rate returns the local learning rate of round t, from 0.
func (s *Settings) Rate(t int) float64 {
	if s.LRSchedule == "decay" {
		return algos.DecayedLR(s.LR, t)
	}
	return s.LR
}
