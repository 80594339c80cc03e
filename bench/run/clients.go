package run

import (
	"context"
	"path/filepath"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

// testAlike returns the test samples that are of each client's two classes.
func testAlike(data *datasets.Set, s *settings.Settings, seed uint32) ([][]int32, error) {
	_, pairs, err := datasets.TwoClass(data.Train.Labels, data.Train.Classes, s.Clients, seed)
	if err != nil {
		return nil, err
	}
	return datasets.TwoClassTest(data.Test.Labels, data.Test.Classes, pairs, seed)
}

// writeClients writes what the last model is worth to every client: on the test samples of its own classes.
func (x *Experiment) writeClients(ctx context.Context, l *Session, f *Federation) error {
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	jobs := make([]nets.EvalJob, len(f.alike))
	for i, own := range f.alike {
		jobs[i] = nets.EvalJob{Row: model, Part: nets.Test, Index: own}
	}
	answers, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return err
	}
	pi, _ := f.process.Stationary()
	rows := make([]results.ClientRow, len(answers))
	for i, r := range answers {
		rows[i] = results.ClientRow{Round: x.Settings.Rounds, Client: i, Pi: pi[i], N: r.N, Accuracy: r.Accuracy(), Loss: r.Loss}
	}
	return files.WriteCSVFile(filepath.Join(x.Dir, results.ClientsFile), rows)
}
