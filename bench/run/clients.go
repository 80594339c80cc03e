package run

import (
	"context"

	"rollcall/nets"
	"rollcall/results"
	"rollcall/results/files"
)

// writeClients writes what the last model is worth to every client: on the test samples of its own classes.
func (x *Experiment) writeClients(ctx context.Context, l *Session, f *Federation) error {
	model, err := f.Method.Model()
	if err != nil {
		return err
	}
	jobs := make([]nets.EvalJob, len(f.clients.ownClasses))
	for i, own := range f.clients.ownClasses {
		jobs[i] = nets.EvalJob{Row: model, Part: nets.Test, Index: own}
	}
	answers, err := l.Engine.Evaluate(ctx, jobs)
	if err != nil {
		return err
	}
	pi, _ := f.clients.Process.Stationary()
	rows := make([]results.ClientRow, len(answers))
	for i, r := range answers {
		rows[i] = results.ClientRow{
			Round: x.Settings.Rounds, Client: i, Pi: pi[i], N: r.N, Accuracy: r.Accuracy(), Loss: r.Loss,
		}
	}
	return insist(ctx, func() error {
		return x.publish(results.ClientsFile, func(path string) error { return files.WriteCSVFile(path, rows) })
	})
}
