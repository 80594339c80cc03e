package run

import (
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
)

// Work returns what a run costs, beside other runs, as far as that is known before its data are open: as if all clients
// were there in every round. kind names runs that cost the same.
func Work(kind string, s *settings.Settings) progress.Work {
	w := progress.Work{Kind: kind, Rounds: s.Rounds, Evaluates: s.Evaluates}
	model, err := nets.NewModel(s.Net)
	if err != nil {
		return w // the run itself says so
	}
	samples := float64(samples(s, model))
	trained := float64(s.Clients * s.LocalSteps * s.Batch)
	if s.LocalEpochs.Value != nil {
		trained = samples * *s.LocalEpochs.Value
	}
	if !s.EvalTrain {
		samples /= 6 // as many of CIFAR-10's and MNIST's are tested on
	}
	w.Round, w.Evaluation = trained*model.Train, samples*model.Forward
	return w
}

// samples returns how many samples a data set has in both parts, at least and as far as that is known without reading it.
func samples(s *settings.Settings, model *nets.Model) int {
	l := Session{}
	bytes := datasets.LeastBytes(s.Data, l.dataOptions(s, 0))
	size := model.H * model.W * model.C
	if model.H == 1 {
		size *= 4 // features
	}
	return int(bytes / int64(size+1))
}
