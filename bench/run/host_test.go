package run

import (
	"context"
	"io"
	"math"
	"testing"
	"time"

	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/models"
	"rollcall/results"
)

// asleep is an engine that trains no one and takes as long over it as a card is predicted to (docs/performance.md): 20
// µs per client-step, 7 µs per 128 samples evaluated. What a round takes beyond that is the host's, in nobody's shadow.
type asleep struct {
	params int
	slept  time.Duration
}

type noBank int

func (b noBank) Rows() int { return int(b) }

func (b noBank) Free() {}

func (e *asleep) Info() nets.Info { return nets.Info{Engine: "asleep", Params: e.params} }

func (e *asleep) NewBank(rows int) (nets.Bank, error) { return noBank(rows), nil }

func (e *asleep) Combine(nets.Row, []float64, []nets.Row) error { return nil }

func (e *asleep) CombineBuffers(nets.Row, []float64, []nets.Row) error { return nil }

func (e *asleep) Dot(_, _ nets.Row) (float64, error) { return 1, nil }

func (e *asleep) Load(nets.Row, []float32) error { return nil }

func (e *asleep) Store(nets.Row, []float32) error { return nil }

func (e *asleep) Close() error { return nil }

func (e *asleep) sleep(d time.Duration) {
	started := time.Now()
	time.Sleep(d)
	e.slept += time.Since(started)
}

func (e *asleep) Train(_ context.Context, work nets.LocalWork) ([]float32, error) {
	steps := 0
	for _, c := range work.Clients {
		steps += c.Plan.E
	}
	e.sleep(time.Duration(steps) * 20 * time.Microsecond)
	return make([]float32, len(work.Clients)), nil
}

func (e *asleep) Evaluate(_ context.Context, jobs []nets.EvalJob) ([]nets.EvalResult, error) {
	answers := make([]nets.EvalResult, len(jobs))
	for i := range jobs {
		answers[i].N = 1
		samples := len(jobs[i].Index)
		if jobs[i].Index == nil {
			samples = 10_000
		}
		e.sleep(time.Duration(samples/128) * 7 * time.Microsecond)
	}
	return answers, nil
}

// stopwatch starts with the first round: splits and initial weights are made before.
type stopwatch struct {
	progress.Run
	at time.Time
}

func (s *stopwatch) Start(int) { s.at = time.Now() }

// BenchmarkHost measures what the host does in a round and no card hides: choosing clients, the method's own
// arithmetic, plans that are late, rows of the CSV. CIFAR-10's sizes, N = 100, E = 10, B = 128, evaluation every ten
// rounds.
func BenchmarkHost(b *testing.B) {
	for _, method := range []string{"fedavg-active", "fedawe", "mifa", "ca-fed", "scaffold"} {
		b.Run(method, func(b *testing.B) {
			model := must.Get(models.New("cnn-cifar10"))(b)
			data := must.Get(datasets.Open(b.Context(), "synthetic", datasets.Options{Seed: 3}))(b)
			s := must.Get(settings.Defaults(method, "code", "cifar10"))(b)
			s.Rounds, s.EvalEvery, s.EvalLast = 200, 10, files.Optional{}
			engine := &asleep{params: model.P}
			ses := SessionOn(data, model, engine)
			var all time.Duration
			rounds := 0
			for b.Loop() {
				x := &Experiment{Table: "run", Settings: s, Seed: 3, Dir: b.TempDir()}
				begun := &stopwatch{Run: progress.New(io.Discard).Run("", progress.Work{})}
				rows, err := do(b.Context(), x, ses, begun)
				if err != nil || len(rows) != 21 || math.IsNaN(rows[20].TestLoss.Value) {
					b.Fatalf("%d rows of %s, %v", len(rows), results.CurveFile, err)
				}
				all += time.Since(begun.at)
				rounds += s.Rounds
			}
			host := all - engine.slept
			b.ReportMetric(1e3*host.Seconds()/float64(rounds), "host-ms/round")
			b.ReportMetric(100*host.Seconds()/engine.slept.Seconds(), "host-%")
		})
	}
}
