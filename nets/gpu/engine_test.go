//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

// Evaluation agrees with the CPU engine: of two models, on whole parts, on lists of samples and on empty lists.
func TestEvaluate(t *testing.T) {
	for _, net := range models.Names() {
		if net == "resnet18" && !gputest.Long() || testing.Short() && strings.HasPrefix(net, "resnet") ||
			net == "cnn-cafed" && !gputest.Long() {
			continue // minutes on the emulator, of cnn-cafed seconds
		}
		t.Run(net, func(t *testing.T) {
			g, e, m := both(t, net, 4, Options{Precision: FP32})
			var results [2][]nets.EvalResult
			for i, e := range []nets.Engine{g, e} {
				b := must.Get(e.NewBank(2))(t)
				var jobs []nets.EvalJob
				for r := range 2 {
					row := nets.Row{Bank: b, Index: r}
					must.OK(t, e.Load(row, m.Init(models.Kaiming, uint32(r))))
					jobs = append(jobs, nets.EvalJob{Row: row, Part: nets.Test},
						nets.EvalJob{Row: row, Part: nets.Train, Index: []int32{5, 39, 5, 0, 1, 2, 3, 4, 6, 7}},
						nets.EvalJob{Row: row, Index: []int32{}})
				}
				results[i] = must.Get(e.Evaluate(t.Context(), jobs))(t)
			}
			for i, want := range results[1] {
				got := results[0][i]
				if got.N != want.N || got.Correct != want.Correct || math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss {
					t.Errorf("job %d: got %+v, want %+v, losses to 1e-5", i, got, want)
				}
			}
			if results[1][0].N != crowd.TestSamples || results[1][1].N != 10 || results[1][2].N != 0 {
				t.Errorf("samples %d, %d, %d, want %d, 10, 0",
					results[1][0].N, results[1][1].N, results[1][2].N, crowd.TestSamples)
			}
		})
	}
}

// Combine and Dot see the weights alone, and CombineBuffers the running statistics alone.
func TestCombineBuffers(t *testing.T) {
	g, _, m := both(t, "resnet20", 2, Options{})
	b := must.Get(g.NewBank(2))(t)
	row := func(i int) nets.Row { return nets.Row{Bank: b, Index: i} }
	fill := func(weight, running float32) []float32 {
		w := make([]float32, m.P)
		for _, p := range m.Params {
			for i := range p.Size {
				if w[p.Offset+i] = weight; p.Buffer {
					w[p.Offset+i] = running
				}
			}
		}
		return w
	}
	expect := func(what string, want []float32) {
		t.Helper()
		if !slices.Equal(load(t, g, row(1)), want) {
			t.Errorf("%s changed something else", what)
		}
	}
	must.OK(t, g.Load(row(0), fill(3, 10)))
	must.OK(t, g.Load(row(1), fill(5, 30)))
	must.OK(t, g.Combine(row(1), []float64{2, -1}, []nets.Row{row(0), row(1)}))
	expect("Combine", fill(1, 30))
	must.OK(t, g.CombineBuffers(row(1), []float64{0.25, 0.5}, []nets.Row{row(0), row(1)}))
	expect("CombineBuffers", fill(1, 17.5))
	// exact: sums of threes
	if got, want := must.Get(g.Dot(row(0), row(1)))(t), 3*float64(m.Trained); got != want {
		t.Errorf("dot %g, want %g of %d weights", got, want, m.Trained)
	}
	must.OK(t, g.CombineBuffers(row(1), nil, nil))
	expect("CombineBuffers of no rows", fill(1, 0))
	err := g.CombineBuffers(nets.Row{}, nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "gpu: combine buffers:") {
		t.Errorf("no row: %v, want an error of combine buffers", err)
	}
}

// Load and Store keep every bit of a row, Combine adds rows in order, and Dot agrees with a sum in float64.
func TestRows(t *testing.T) {
	g, _, m := both(t, "lenet5", 2, Options{})
	b := must.Get(g.NewBank(4))(t)
	row := func(i int) nets.Row { return nets.Row{Bank: b, Index: i} }
	x, y := m.Init(models.Kaiming, 1), m.Init(models.Kaiming, 2)
	must.OK(t, g.Load(row(0), x))
	must.OK(t, g.Load(row(1), y))
	must.OK(t, g.Combine(row(2), []float64{0.5, -2, 1}, []nets.Row{row(0), row(1), row(3)}))
	must.OK(t, g.Combine(row(1), []float64{1, 0.25}, []nets.Row{row(0), row(1)}))
	sum, squares, dot, scale := 0.0, 0.0, 0.0, 0.0
	got, into := load(t, g, row(2)), load(t, g, row(1))
	for j := range x {
		want, wantInto := 0.5*float64(x[j])-2*float64(y[j]), float64(x[j])+0.25*float64(y[j])
		sum = max(sum, math.Abs(float64(got[j])-want), math.Abs(float64(into[j])-wantInto))
		squares += float64(got[j]) * float64(got[j])
		dot += float64(got[j]) * float64(x[j])
		scale += math.Abs(float64(got[j]) * float64(x[j]))
	}
	if sum > 1e-6 { // sums of two numbers below 2: a few roundings of 1.2e-7
		t.Errorf("combine differs by %g, tolerance 1e-6", sum)
	}
	if norm := must.Get(nets.Norm(g, row(2)))(t); math.Abs(norm-math.Sqrt(squares)) > 1e-12*norm {
		t.Errorf("norm %v, want %v ± 1e-12 of it", norm, math.Sqrt(squares))
	}
	d, turned := must.Get(g.Dot(row(2), row(0)))(t), must.Get(g.Dot(row(0), row(2)))(t)
	if !(math.Abs(d-dot) <= 1e-12*scale) || d != turned {
		t.Errorf("dot %v, the other way round %v, want %v ± 1e-12 of Σ|a·b|", d, turned, dot)
	}
	if !slices.Equal(load(t, g, row(0)), x) {
		t.Error("a row that was loaded is not what comes out")
	}
	must.OK(t, g.Combine(row(0), nil, nil))
	if norm := must.Get(nets.Norm(g, row(0)))(t); norm != 0 {
		t.Errorf("norm %g of no terms, want 0", norm)
	}
	for range 3000 { // more than the ring of small transfers holds
		must.OK(t, g.Combine(row(3), []float64{1, 1}, []nets.Row{row(3), row(2)}))
	}
	if got, want := must.Get(nets.Norm(g, row(3)))(t), 3000*math.Sqrt(squares); math.Abs(got-want) > 1e-3*want {
		t.Errorf("norm of 3000 sums %g, want %g ± 1e-3 of it", got, want)
	}
}

// A wrong argument is an error of one line. The engine finds it before it calls the driver.
func TestErrors(t *testing.T) {
	g, e, m := both(t, "linear-mnist", 2, Options{})
	b, foreign := must.Get(g.NewBank(2))(t), must.Get(e.NewBank(1))(t)
	freed := must.Get(g.NewBank(1))(t)
	freed.Free()
	second := func(_ any, err error) error { return err }
	w := make([]float32, m.P)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	job := nets.ClientWork{Start: nets.Row{Bank: b}, End: nets.Row{Bank: b, Index: 1}, Plan: crowd.Plan(0, 1, 2, 2)}
	train := func(ctx context.Context, c nets.ClientWork) error {
		_, err := g.Train(ctx, nets.LocalWork{LR: 1, Clients: []nets.ClientWork{c}})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"short row":   {g.Load(nets.Row{Bank: b}, w[1:]), "gpu: load: 7849 parameters, want 7850"},
		"no such row": {g.Store(nets.Row{Bank: b, Index: 2}, w), "gpu: store: row 2, want 0 … 1"},
		"other's row": {
			g.Load(nets.Row{Bank: foreign}, w),
			"gpu: load: row of bank *cpu.cpuBank, want one of this engine",
		},
		"freed": {second(g.Dot(nets.Row{Bank: b}, nets.Row{Bank: freed})), "gpu: dot: row 0, want 0 … -1"},
		"terms": {g.Combine(nets.Row{Bank: b}, []float64{1}, nil), "gpu: combine: 1 coefficients for 0 rows"},
		"batch": {
			train(t.Context(), nets.ClientWork{Start: job.Start, End: job.End, Plan: crowd.Plan(0, 1, 3, 3)}),
			"nets: train: client 0: plan of E=1 B=3 with 3 indices, 6 crops, 3 flips, want B=2, E·B, 2·E·B, E·B",
		},
		"cancelled": {train(cancelled, job), "context canceled"},
		"start": {train(t.Context(), nets.ClientWork{
			Start: nets.Row{Bank: foreign}, End: job.End, Plan: job.Plan,
		}), "gpu: train: start: row of bank *cpu.cpuBank, want one of this engine"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", name, c.err, c.want)
		}
	}
	if _, err := openEngine(m, nil, nil, Options{Batch: 2, Precision: "fp64"}); err == nil ||
		err.Error() != `gpu: precision "fp64", want tf32, fp32 or bf16` {
		t.Errorf("precision: error %v", err)
	}
	for i := range w {
		w[i] = float32(math.NaN())
	}
	must.OK(t, g.Load(job.Start, w))
	var diverged *nets.DivergedError
	if err := train(t.Context(), job); !errors.As(err, &diverged) || diverged.Step != 0 {
		t.Errorf("weights that are not numbers: error %v, want a loss that is not finite at step 0", err)
	}
}
