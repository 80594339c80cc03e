package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

type foreignBank struct{}

func (foreignBank) Rows() int { return 9 }
func (foreignBank) Free()     {}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error, want %q", want)
	case !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n"):
		t.Errorf("error %q, want one line with %q", err, want)
	}
}

type client = nets.ClientWork

// Each bad request is an error that says what was found and what is wanted, and changes no row.
func TestTrainErrors(t *testing.T) {
	const batch = 2
	e := newTest(t, "cnn-svhn", 2, batch)
	other := newTest(t, "cnn-svhn", 1, batch)
	w := hashedWeights(e.model)
	b := rows(t, e, 5, w)
	freed := must.Get(e.NewBank(1))(t)
	freed.Free()
	foreign := must.Get(other.NewBank(3))(t)
	r := func(i int) nets.Row { return rowOf(b, i) }
	for _, c := range []struct {
		name   string
		change func(a, b *client)
		want   string
	}{
		{"no start", func(a, b *client) { a.Start = nets.Row{} }, "nets: train: start: row of bank"},
		{"no end", func(a, b *client) { a.End = nets.Row{} }, "nets: train: end: row of bank"},
		{
			"another engine's start", func(a, b *client) { b.Start = rowOf(foreign, 0) },
			"nets: train: start: row of bank",
		},
		{
			"another engine's momentum", func(a, b *client) { b.Momentum = rowOf(foreign, 0) },
			"nets: train: momentum: row of bank",
		},
		{
			"another kind of bank", func(a, b *client) { b.Drift = rowOf(foreignBank{}, 0) },
			"nets: train: drift: row of bank cpu.foreignBank",
		},
		{"start beyond", func(a, b *client) { b.Start = r(5) }, "nets: train: start: row 5, want 0 … 4"},
		{"negative end", func(a, b *client) { b.End = r(-1) }, "nets: train: end: row -1, want 0 … 4"},
		{"momentum beyond", func(a, b *client) { b.Momentum = r(9) }, "nets: train: momentum: row 9"},
		{"drift beyond", func(a, b *client) { b.Drift = r(9) }, "nets: train: drift: row 9"},
		{"freed bank", func(a, b *client) { b.Start = rowOf(freed, 0) }, "nets: train: start: row 0"},
		{"one end", func(a, b *client) { b.End = a.End }, "nets: clients 20 and 21 write the same row 1"},
		{
			"end is another's momentum", func(a, b *client) { b.Momentum = a.End },
			"nets: clients 20 and 21 write the same row 1",
		},
		{"end is the own momentum", func(a, b *client) { a.Momentum = a.End }, "write the same row 1"},
		{
			"one momentum", func(a, b *client) { a.Momentum, b.Momentum = r(3), r(3) },
			"nets: clients 20 and 21 write the same row 3",
		},
		{
			"start another writes", func(a, b *client) { a.Start = b.End },
			"nets: client 20 reads row 2, which client 21 writes",
		},
		{
			"drift another writes", func(a, b *client) { b.Drift = a.End },
			"nets: client 21 reads row 1, which client 20 writes",
		},
		{
			"drift is another's momentum", func(a, b *client) { a.Drift, b.Momentum = r(3), r(3) },
			"nets: client 20 reads row 3, which client 21 writes",
		},
		{
			"another batch", func(a, b *client) { b.Plan = hashedPlan(0, 2, batch+1, batch, 40) },
			"client 21: plan of E=2 B=3",
		},
		{"indices missing", func(a, b *client) { b.Plan.Index = b.Plan.Index[1:] }, "with 3 indices, 8 crops, 4 flips"},
		{"crops missing", func(a, b *client) { b.Plan.Crop = b.Plan.Crop[1:] }, "with 4 indices, 7 crops, 4 flips"},
		{"flips missing", func(a, b *client) { b.Plan.Flip = nil }, "with 4 indices, 8 crops, 0 flips"},
		{"E too large", func(a, b *client) { b.Plan.E = 3 }, "client 21: plan of E=3 B=2"},
		{"negative E", func(a, b *client) { b.Plan.E = -2 }, "client 21: plan of E=-2 B=2"},
		{"sample beyond", func(a, b *client) { b.Plan.Index[3] = 40 }, "client 21 step 1: sample 40, want −1 … 39"},
		{"sample below", func(a, b *client) { b.Plan.Index[1] = -2 }, "client 21 step 0: sample -2, want −1 … 39"},
		{"crop beyond", func(a, b *client) { b.Plan.Crop[6] = 9 }, "client 21 step 1: crop at 9, want 0 … 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			two := []client{
				{Client: 20, Start: r(0), End: r(1), Plan: hashedPlan(0, 2, batch, batch, 40)},
				{Client: 21, Start: r(0), End: r(2), Plan: hashedPlan(1, 2, batch, batch, 40)},
			}
			c.change(&two[0], &two[1])
			_, err := e.Train(t.Context(), nets.LocalWork{LR: 1, Clients: two})
			wantError(t, err, c.want)
		})
	}
	after := rows(t, e, 5, w)
	for i := range 5 {
		same(t, "rows after the errors", load(t, e, r(i)), load(t, e, rowOf(after, i)))
	}
}

func TestRowErrors(t *testing.T) {
	e := newTest(t, "cnn-svhn", 1, 1)
	foreign := rowOf(must.Get(newTest(t, "cnn-svhn", 1, 1).NewBank(1))(t), 0)
	b := must.Get(e.NewBank(2))(t)
	good, beyond := rowOf(b, 0), rowOf(b, 2)
	freed := rowOf(must.Get(e.NewBank(1))(t), 0)
	freed.Bank.Free()
	w := make([]float32, e.model.P)
	evaluate := func(job nets.EvalJob) error {
		_, err := e.Evaluate(t.Context(), []nets.EvalJob{{Row: good, Part: nets.Test, Index: []int32{0}}, job})
		return err
	}
	second := func(_ any, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"bank":                   {second(e.NewBank(-1)), "nets: bank of -1 rows"},
		"huge bank":              {second(e.NewBank(1 << 60)), "nets: bank of 1152921504606846976 rows"},
		"load beyond":            {e.Load(beyond, w), "nets: load: row 2, want 0 … 1"},
		"load short":             {e.Load(good, w[1:]), "nets: load: 273705 parameters, want 273706"},
		"store foreign":          {e.Store(foreign, w), "nets: store: row of bank"},
		"store long":             {e.Store(good, append(w, 0)), "nets: store: 273707 parameters, want 273706"},
		"norm of none":           {second(nets.Norm(e, nets.Row{})), "nets: dot: row of bank <nil>"},
		"dot with foreign":       {second(e.Dot(good, foreign)), "nets: dot: row of bank"},
		"dot with freed":         {second(e.Dot(good, freed)), "nets: dot: row 0, want 0 … -1"},
		"combine counts":         {e.Combine(good, []float64{1}, nil), "nets: combine: 1 coefficients for 0 rows"},
		"combine into foreign":   {e.Combine(foreign, nil, nil), "nets: combine: row of bank"},
		"combine of beyond":      {e.Combine(good, []float64{1}, []nets.Row{beyond}), "nets: combine: row 2"},
		"evaluate beyond":        {evaluate(nets.EvalJob{Row: beyond, Part: nets.Test}), "nets: evaluate: row 2"},
		"evaluate foreign":       {evaluate(nets.EvalJob{Row: foreign, Part: 1}), "nets: evaluate: row of bank"},
		"evaluate part":          {evaluate(nets.EvalJob{Row: good, Part: 2}), "nets: evaluate: job 1: part 2"},
		"evaluate negative part": {evaluate(nets.EvalJob{Row: good, Part: -1}), "nets: evaluate: job 1: part -1"},
		"evaluate sample beyond": {
			evaluate(nets.EvalJob{Row: good, Part: nets.Test, Index: []int32{3, 70}}),
			"job 1: sample 70, want 0 … 69",
		},
		"evaluate padding sample": {
			evaluate(nets.EvalJob{Row: good, Part: nets.Train, Index: []int32{-1}}),
			"job 1: sample -1, want 0 … 39",
		},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, c.err, c.want) })
	}
}

func TestNewCPUErrors(t *testing.T) {
	m := must.Get(models.New("cnn-svhn"))(t)
	good := func() *plan.Samples { return hashedSamples(m, 3, testMean, testStd) }
	changed := func(f func(*plan.Samples)) *plan.Samples { s := good(); f(s); return s }
	for _, c := range []struct {
		name        string
		train, test *plan.Samples
		o           Options
		want        string
	}{
		{"batch", good(), nil, Options{}, "nets: batch of 0 samples, want at least 1"},
		{"threads", good(), nil, Options{Batch: 1, Threads: -1}, "nets: -1 threads, want at least 1"},
		{
			"precision", good(), nil,
			Options{Batch: 1, Precision: "tf32"},
			`nets: cpu: precision "tf32", want fp32, bf16 or bf16x3`,
		},
		{
			"truncated", changed(func(s *plan.Samples) { s.Images = s.Images[1:] }), nil,
			Options{Batch: 1},
			"hashed: 9215 image bytes, want 9216",
		},
		{
			"label", good(), changed(func(s *plan.Samples) { s.Labels[2] = 10 }),
			Options{Batch: 1},
			"sample 2: label 10, want 0 … 9",
		},
		{
			"grey", good(), changed(func(s *plan.Samples) { s.H, s.C, s.Mean, s.Std = 96, 1, s.Mean[:1], s.Std[:1] }),
			Options{Batch: 1},
			"cnn-svhn takes 32×32×3 images",
		},
		{
			"classes", changed(func(s *plan.Samples) { s.Classes = 100 }), nil,
			Options{Batch: 1},
			"hashed has 32×32×3 and 100",
		},
		{
			"features", hashedSamples(must.Get(models.New("linear-binary"))(t), 3, nil, nil), nil,
			Options{Batch: 1},
			"hashed has 1×1×10 and 2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(m, c.train, c.test, c.o)
			wantError(t, err, c.want)
		})
	}

	// An engine without test, or without training, samples works but for those.
	e := must.Get(Open(m, good(), nil, Options{Batch: 1}))(t)
	defer e.Close()
	b := must.Get(e.NewBank(1))(t)
	_, err := e.Evaluate(t.Context(), []nets.EvalJob{{Row: rowOf(b, 0), Part: nets.Test}})
	wantError(t, err, "nets: evaluate: job 0: part 1, which the engine was not given")
	e2 := must.Get(Open(m, nil, good(), Options{Batch: 1}))(t)
	defer e2.Close()
	b2 := must.Get(e2.NewBank(1))(t)
	_, err = e2.Train(t.Context(), nets.LocalWork{Clients: []nets.ClientWork{{
		Start: rowOf(b2, 0), End: rowOf(b2, 0), Plan: hashedPlan(0, 1, 1, 1, 3),
	}}})
	wantError(t, err, "nets: train: the engine was opened without training samples")
	jobs := []nets.EvalJob{{Row: rowOf(b2, 0), Part: nets.Test}}
	if got := must.Get(e2.Evaluate(t.Context(), jobs))(t); got[0].N != 3 ||
		!slices.Equal(must.Get(e2.Train(t.Context(), nets.LocalWork{}))(t), nil) {
		t.Errorf("evaluation without training samples: %+v, want 3 samples", got[0])
	}
}

// The first client whose loss is not finite is named, whatever the threads, though a later one fails in less time. What
// was not finite leaves no trace: the same engine trains on as a new one does.
func TestDiverged(t *testing.T) {
	const batch = 2
	fine := func(t *testing.T, e *Engine) []float32 {
		b := rows(t, e, 2, hashedWeights(e.model))
		must.Get(e.Train(t.Context(), nets.LocalWork{LR: 0.1, Clients: []nets.ClientWork{{
			Start: rowOf(b, 0), End: rowOf(b, 1), Plan: hashedPlan(0, 2, batch, 2, 40),
		}}}))(t)
		return load(t, e, rowOf(b, 1))
	}
	want := fine(t, newTest(t, "cnn-svhn", 1, batch))
	for _, threads := range []int{1, 2, 7} {
		e := newTest(t, "cnn-svhn", threads, batch)
		b := rows(t, e, 6, hashedWeights(e.model))
		nan := slices.Repeat([]float32{float32(math.NaN())}, e.model.P)
		must.OK(t, e.Load(rowOf(b, 1), nan))
		work := nets.LocalWork{Round: 9, LR: 1e30, Clients: []nets.ClientWork{
			{Client: 11, Start: rowOf(b, 0), End: rowOf(b, 2), Plan: hashedPlan(0, 3, batch, 0, 40)},
			{Client: 12, Start: rowOf(b, 0), End: rowOf(b, 3), Plan: hashedPlan(1, 4, batch, batch, 40)},
			{Client: 13, Start: rowOf(b, 1), End: rowOf(b, 4), Plan: hashedPlan(2, 4, batch, batch, 40)},
			{Client: 14, Start: rowOf(b, 1), End: rowOf(b, 5), Plan: hashedPlan(3, 4, batch, batch, 40)},
		}}
		for i := range batch { // step 1 of client 12 is padding, so the blow-up of step 0 shows in step 2
			work.Clients[1].Plan.Index[batch+i] = -1
		}
		_, err := e.Train(t.Context(), work)
		var diverged *nets.DivergedError
		if !errors.As(err, &diverged) {
			t.Fatalf("%d threads: error %v, want a *DivergedError", threads, err)
		}
		if d := diverged; d.Round != 9 || d.Client != 12 || d.Step != 2 ||
			!(math.IsNaN(d.Loss) || math.IsInf(d.Loss, 0)) {
			t.Errorf("%d threads: %+v, want round 9 client 12 step 2", threads, *d)
		}
		if want := "nets: round 9 client 12 step 2: loss "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d threads: %q, want %q…", threads, err, want)
		}
		same(t, fmt.Sprintf("%d threads: afterwards", threads), fine(t, e), want)
	}
}

// A cancelled context ends training and evaluation after the step at hand (milliseconds here), and the end row is not
// written. The whole work would take minutes.
func TestCancel(t *testing.T) {
	const batch = 4
	e := newTest(t, "cnn-svhn", 2, batch)
	b := rows(t, e, 4, hashedWeights(e.model))
	before := load(t, e, rowOf(b, 2))
	work := nets.LocalWork{LR: 1e-6}
	for i := range 2 {
		work.Clients = append(work.Clients, nets.ClientWork{
			Client: i, Start: rowOf(b, 0), End: rowOf(b, 2+i), Plan: hashedPlan(i, 20000, batch, batch, 40),
		})
	}
	jobs := slices.Repeat([]nets.EvalJob{{Row: rowOf(b, 0), Part: nets.Test}}, 2000)
	for name, run := range map[string]func(context.Context) error{
		"train":    func(ctx context.Context) error { _, err := e.Train(ctx, work); return err },
		"evaluate": func(ctx context.Context) error { _, err := e.Evaluate(ctx, jobs); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		start := time.Now()
		err := run(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want the context's", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v, want a step or two more than 50 ms", name, took)
		}
		if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, cancelled before: error %v, want the context's", name, err)
		}
	}
	same(t, "end row", load(t, e, rowOf(b, 2)), before)
}

// TestInfiniteWeight plants an infinite weight whose input is 0 with black images and positive with white ones.
// Products with every number end the training at a known step, and so must products that leave zeros out: where the
// input is 0, the same loss is NaN, since 0·∞ is; where the ReLU makes 0 of −∞, the SGD step makes NaN of the weight,
// and the next loss is.
func TestInfiniteWeight(t *testing.T) {
	const batch, black, white = 3, 0, 1
	m := must.Get(models.Describe("two: conv 3 5x5 pool, conv 64 3x3 pool, linear 256",
		plan.Shape{H: 24, W: 24, C: 1, Classes: 3}))(t)
	samples := &plan.Samples{
		Name: "plain", H: 24, W: 24, C: 1, Classes: 3, Labels: []uint8{black: 0, white: 1},
		Images: make([]uint8, 2*24*24), Mean: []float32{0.5}, Std: []float32{0.5},
	}
	for i := range 24 * 24 {
		samples.Images[24*24*white+i] = 255
	}
	param := func(w []float32, name string) []float32 {
		for _, p := range m.Params {
			if p.Name == name {
				return w[p.Offset:][:p.Size]
			}
		}
		t.Fatalf("no parameter %s", name)
		return nil
	}
	for _, c := range []struct {
		layer  string
		sign   int
		images [2]int // of either step
		want   int    // the step whose loss is no number
	}{
		{"conv2.weight", 1, [2]int{black, white}, 0},
		{"conv2.weight", 1, [2]int{white, white}, 0},
		{"conv2.weight", -1, [2]int{black, white}, 0},
		{"conv2.weight", -1, [2]int{white, black}, 1},
		{"conv2.weight", -1, [2]int{white, white}, 1},
		{"fc1.weight", 1, [2]int{black, white}, 0},
		{"fc1.weight", 1, [2]int{white, white}, 0},
		{"fc1.weight", -1, [2]int{black, white}, 0},
		{"fc1.weight", -1, [2]int{white, black}, 1},
		{"fc1.weight", -1, [2]int{white, white}, 1},
	} {
		for _, k := range kernels.Choices(kernels.FP32) {
			t.Run(fmt.Sprintf("%s/%s=%d∞/images=%v", k.Name(), c.layer, c.sign, c.images), func(t *testing.T) {
				t.Setenv("ROLLCALL_CPU", k.Name())
				e := must.Get(Open(m, samples, nil, Options{Threads: 1, Batch: batch}))(t)
				defer e.Close()
				w := hashedWeights(m)
				// The first output of both convolutions is positive with white images, else 0.
				for i := range 25 {
					param(w, "conv1.weight")[i] = 0.1
				}
				clear(param(w, "conv2.weight")[:3*9])
				for i := range 9 {
					param(w, "conv2.weight")[i] = 0.1
				}
				param(w, "conv1.bias")[0], param(w, "conv2.bias")[0] = 0, 0
				at := 0 // of input 0: fc1's first output
				if c.layer == "conv2.weight" {
					at = 2 * 3 * 9 // the third output, which no other case looks at
				}
				param(w, c.layer)[at] = float32(math.Inf(c.sign))
				b := must.Get(e.NewBank(2))(t)
				must.OK(t, e.Load(rowOf(b, 0), w))
				local := plan.Local{E: 2, B: batch, Crop: make([]uint8, 4*batch), Flip: make([]uint8, 2*batch)}
				for i := range 2 * batch {
					local.Index = append(local.Index, int32(c.images[i/batch]))
					local.Crop[2*i], local.Crop[2*i+1] = plan.Pad, plan.Pad
				}
				_, err := e.Train(t.Context(), nets.LocalWork{Round: 4, LR: 0.01, Clients: []nets.ClientWork{
					{Client: 7, Start: rowOf(b, 0), End: rowOf(b, 1), Plan: local},
				}})
				d, ok := errors.AsType[*nets.DivergedError](err)
				if !ok || d.Round != 4 || d.Client != 7 || d.Step != c.want {
					t.Errorf("got %v, want round 4 client 7 step %d", err, c.want)
				}
			})
		}
	}
}
