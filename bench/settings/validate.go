package settings

import (
	"math"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/nets"
)

// Bounds beyond which nobody means it: a slip of the finger should not cost all memory.
const (
	maxClients      = 1_000_000
	maxBatch        = 8192      // activations of so many samples are held per thread
	maxLocalSamples = 1 << 22   // E·B, the length of a client's plan of a round
	maxGenerated    = 1_000_000 // pictures of the synthetic data, 3 KB each
	minAlpha        = 1e-300    // below, logarithms of the shares overflow
)

// Validate reports the first impossible setting, by the name of its flag.
func (s *Settings) Validate() error {
	for _, c := range []struct {
		flag, value string
		known       []string
	}{
		{"net", s.Net, nets.ModelNames()},
		{"availability", s.Availability, availability.Names()},
		{"weights", s.Weights, Weightings},
		{"augment", s.Augment, Augments},
		{"draws", s.Draws, drawings},
		{"lr-schedule", s.LRSchedule, schedules},
		{"init", s.Init, inits},
		{"fedawe-model", s.FedAWEModel, []string{string(algos.MeanOfAll), string(algos.LastServer)}},
	} {
		if err := OneOf(c.flag, c.value, c.known); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		flag        string
		value, most int
	}{
		{"clients", s.Clients, maxClients},
		{"period", s.Period, math.MaxInt32},
		{"rounds", s.Rounds, math.MaxInt32},
		{"local-steps", s.LocalSteps, maxLocalSamples},
		{"batch", s.Batch, maxBatch},
		{"fedau-cutoff", s.FedAUCutoff, math.MaxInt32},
		{"eval-every", s.EvalEvery, math.MaxInt32},
		{"train-size", s.TrainSize, maxGenerated},
		{"test-size", s.TestSize, maxGenerated},
	} {
		if c.value < 1 || c.value > c.most {
			return Usagef("--%s %d: want 1 … %d", c.flag, c.value, c.most)
		}
	}
	if s.Alpha > 0 && s.Alpha < minAlpha {
		return Usagef("--alpha %g: want %g or more", s.Alpha, minAlpha)
	}
	for _, c := range []struct {
		flag  string
		value float64
	}{{"alpha", s.Alpha}, {"lr", s.LR}, {"server-lr", s.ServerLR}, {"f3ast-beta", s.F3ASTBeta}, {"clip", s.Clip.Or(1)}, {"fedawe-clip", s.FedAWEClip.Or(1)}, {"f3ast-limit", s.F3ASTLimit.Or(1)}, {"eval-last", s.EvalLast.Or(1)}, {"local-epochs", s.LocalEpochs.Or(1)}} {
		if !(c.value > 0) || math.IsInf(c.value, 0) {
			return Usagef("--%s %g: want a positive number", c.flag, c.value)
		}
	}
	for _, c := range []struct {
		flag  string
		value float64
	}{{"gamma", s.Gamma}, {"cutoff", s.Cutoff}, {"low", s.Low}, {"momentum", s.Momentum}, {"f3ast-beta", s.F3ASTBeta}, {"p", s.P.Or(1)}} {
		if !(c.value >= 0 && c.value <= 1) {
			return Usagef("--%s %g: want 0 … 1", c.flag, c.value)
		}
	}
	if s.Momentum == 1 {
		return Usagef("--momentum 1: want less than 1")
	}
	if !(s.Decay >= 0) || math.IsInf(s.Decay, 0) {
		return Usagef("--weight-decay %g: want 0 or more", s.Decay)
	}
	for _, c := range []struct {
		flag  string
		value Optional
	}{{"f3ast-limit", s.F3ASTLimit}, {"eval-last", s.EvalLast}, {"local-epochs", s.LocalEpochs}} {
		if v := c.value.Or(1); v != math.Trunc(v) || v > math.MaxInt32 {
			return Usagef("--%s %g: want a whole number or none", c.flag, v)
		}
	}
	if s.LocalSteps > maxLocalSamples/s.Batch {
		return Usagef("--local-steps %d --batch %d: want a product of at most %d", s.LocalSteps, s.Batch, maxLocalSamples)
	}
	if err := s.validateData(); err != nil {
		return err
	}
	if err := s.validateFedAR(); err != nil {
		return err
	}
	return s.validateCorrelated()
}
