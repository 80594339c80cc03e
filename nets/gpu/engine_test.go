//go:build gpu && linux && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/gpu/gputest"
)

// samplesFor returns n random samples a net can take: pictures, or features where a sample has no height.
func samplesFor(m *nets.Model, n int, seed uint64) *plan.Samples {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &plan.Samples{Name: "random", H: m.H, W: m.W, C: m.C, Classes: m.Classes, Images: make([]uint8, n*m.H*m.W*m.C), Labels: make([]uint8, n)}
	for i := range s.Images {
		s.Images[i] = uint8(r.IntN(256))
	}
	for i := range s.Labels {
		s.Labels[i] = uint8(r.IntN(m.Classes))
	}
	if m.H == 1 {
		s.Images = nil
		for range n * m.W * m.C {
			s.Features = append(s.Features, float32(r.NormFloat64()))
		}
		return s
	}
	for c := range m.C {
		s.Mean, s.Std = append(s.Mean, 0.5-float32(c)/16), append(s.Std, 0.25+float32(c)/32)
	}
	return s
}

const trainSamples, testSamples = 40, 23

// both opens the CUDA engine and the CPU's for the same data.
func both(t *testing.T, net string, batch int, o Options) (*Engine, nets.Engine, *nets.Model) {
	t.Helper()
	gputest.Sources(t, "kernels")
	if gputest.LeftOut != "" {
		t.Skip("left out: " + gputest.LeftOut)
	}
	m := must(nets.NewModel(net))(t)
	train, test := samplesFor(m, trainSamples, 1), samplesFor(m, testSamples, 2)
	o.Batch = batch
	if o.EvalBatch == 0 {
		o.EvalBatch = 8
	}
	g := must(newEngine(m, train, test, o))(t)
	t.Cleanup(func() { ok(t, g.Close()) })
	c := must(nets.NewCPU(m, train, test, nets.CPUOptions{Threads: 2, Batch: batch}))(t)
	t.Cleanup(func() { ok(t, c.Close()) })
	return g, c, m
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// planOf returns a plan of random samples, crops and flips whose batches hold count samples.
func planOf(client, steps, batch, count int) plan.Local {
	r := rand.New(rand.NewPCG(uint64(client), 3))
	l := plan.Local{E: steps, B: batch}
	for range steps {
		for b := range batch {
			i := int32(r.IntN(trainSamples))
			if b >= count {
				i = -1
			}
			l.Index = append(l.Index, i)
			l.Crop = append(l.Crop, uint8(r.IntN(2*plan.Pad+1)), uint8(r.IntN(2*plan.Pad+1)))
			l.Flip = append(l.Flip, uint8(r.IntN(2)))
		}
	}
	return l
}

// crowd is work for four clients: two start rows, with and without momentum and drift, a ragged plan, one shorter than the
// others, an empty one.
type crowd struct {
	engine                      nets.Engine
	model                       *nets.Model
	start, end, momentum, drift nets.Bank
	work                        nets.LocalWork
}

func newCrowd(t *testing.T, e nets.Engine, m *nets.Model, steps, batch int, clip *float64) *crowd {
	t.Helper()
	c := &crowd{engine: e, model: m}
	c.start, c.end = must(e.NewBank(2))(t), must(e.NewBank(4))(t)
	c.momentum, c.drift = must(e.NewBank(2))(t), must(e.NewBank(1))(t)
	for i, b := range []nets.Bank{c.start, c.momentum, c.drift} {
		for r := range b.Rows() {
			w := m.Init(nets.Kaiming, uint32(10*i+r))
			for j := range w {
				w[j] *= []float32{1, 1. / 8, 1. / 8}[i]
			}
			ok(t, e.Load(nets.Row{Bank: b, Index: r}, w))
		}
	}
	c.work = nets.LocalWork{Round: 4, Seed: 8, LR: 0x1p-5, WeightDecay: 0x1p-6, Momentum: 0.75, Clip: clip}
	for i, count := range []int{batch, max(1, batch-2), batch, 0} {
		w := nets.ClientWork{Client: 3 * i, Start: nets.Row{Bank: c.start, Index: i % 2}, End: nets.Row{Bank: c.end, Index: i}, Plan: planOf(i, steps, batch, count)}
		if i < 2 {
			w.Momentum = nets.Row{Bank: c.momentum, Index: i}
		}
		if i == 1 {
			w.Drift = nets.Row{Bank: c.drift}
		}
		if i == 2 && steps > 1 {
			w.Plan = planOf(i, steps-1, batch, count)
		}
		c.work.Clients = append(c.work.Clients, w)
	}
	return c
}

// train is what a crowd's training left: the losses, the updates and the momenta, running statistics apart.
func (c *crowd) train(t *testing.T) (loss []float32, rows [][]float32) {
	t.Helper()
	loss = must(c.engine.Train(t.Context(), c.work))(t)
	for i, w := range c.work.Clients {
		update := load(t, c.engine, w.End)
		for j, v := range load(t, c.engine, w.Start) {
			update[j] -= v
		}
		rows = c.split(rows, update)
		if i < 2 {
			rows = c.split(rows, load(t, c.engine, w.Momentum))
		}
	}
	return loss, rows
}

// split appends the weights of a row and, if the net has any, its running statistics.
func (c *crowd) split(rows [][]float32, row []float32) [][]float32 {
	var parts [2][]float32
	for _, p := range c.model.Params {
		at := &parts[0]
		if p.Buffer {
			at = &parts[1]
		}
		*at = append(*at, row[p.Offset:][:p.Size()]...)
	}
	if parts[1] == nil {
		return append(rows, parts[0])
	}
	return append(rows, parts[:]...)
}

func load(t *testing.T, e nets.Engine, r nets.Row) []float32 {
	t.Helper()
	w := make([]float32, e.Info().Params)
	ok(t, e.Store(r, w))
	return w
}

// apart returns the largest difference of two rows as part of the largest element of want.
func apart(got, want []float32) (share float64) {
	largest, diff := 0.0, 0.0
	for i, v := range want {
		largest = max(largest, math.Abs(float64(v)))
		d := math.Abs(float64(got[i]) - float64(v))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		diff = max(diff, d)
	}
	if largest == 0 {
		return diff
	}
	return diff / largest
}

// The CUDA engine in fp32 against the CPU engine, for every net of the catalogue: 1e-5 of the largest update after one
// step is what correct float32 programs agree to, 1e-3 after ten. In a residual net, batch normalisations in a row multiply
// roundings: 1e-4 for running statistics, 1e-3 after three steps. And of half a million ReLUs one may change sides, which takes
// a pixel's share from the gradients of every layer in front of it: 2e-2 for weights, but not those of every client.
func TestTrainAgainstCPU(t *testing.T) {
	clip := 1.5
	for _, net := range nets.ModelNames() {
		for _, c := range []struct {
			steps, batch int
			clip         *float64
			tolerance    float64
		}{{1, 5, nil, 1e-5}, {1, 1, &clip, 1e-5}, {10, 3, nil, 1e-3}} {
			residual := strings.HasPrefix(net, "resnet")
			if residual {
				c.steps, c.tolerance = min(c.steps, 3), max(c.tolerance, 1e-4)
			}
			if testing.Short() && strings.HasPrefix(net, "resnet") {
				continue
			}
			if c.steps > 1 && (testing.Short() || net == "cnn-cafed" || net == "cnn-cinic10") || net == "resnet18" && c.clip == nil && !gputest.Real() {
				continue // millions of parameters, or of products: minutes on the emulator
			}
			t.Run(fmt.Sprintf("%s_E=%d_B=%d_clip=%t", net, c.steps, c.batch, c.clip != nil), func(t *testing.T) {
				g, e, m := both(t, net, c.batch, Options{Precision: FP32})
				gotLoss, got := newCrowd(t, g, m, c.steps, c.batch, c.clip).train(t)
				wantLoss, want := newCrowd(t, e, m, c.steps, c.batch, c.clip).train(t)
				for i, v := range wantLoss {
					if math.Abs(float64(gotLoss[i]-v)) > 1e-5*math.Abs(float64(v)) {
						t.Errorf("client %d: loss %g, want %g ± 1e-5 of it", i, gotLoss[i], v)
					}
				}
				closest := math.Inf(1)
				for i := range want {
					d, tolerance := apart(got[i], want[i]), c.tolerance
					if residual && i%2 == 0 { // weights; the others are running statistics
						tolerance = 2e-2
						if d > 0 { // not the client without samples
							closest = min(closest, d)
						}
					}
					if d > tolerance {
						t.Errorf("row %d: differs by %.2g of the largest element, tolerance %g", i, d, tolerance)
					}
				}
				if residual && closest > c.tolerance {
					t.Errorf("the closest weights differ by %.2g of the largest update, tolerance %g", closest, c.tolerance)
				}
			})
		}
	}
}

// TF32 keeps 11 significant bits of every factor, bfloat16 8. The kernels' own tests hold every product to that. For a whole
// step there is no bound but the net's own sensitivity, since a ReLU or the maximum of a window may change sides; so it is
// measured: the CPU engine is run from weights off by up to 2⁻¹⁰ (2⁻⁷) of themselves, twice the rounding because images and
// gradients are rounded as well, and the CUDA engine may be three times as far from the truth as the worst of four such
// runs. Without a kink (linear-mnist) this is tight; a wrong kernel is off by the size of the update itself.
func TestReducedPrecision(t *testing.T) {
	const batch = 16
	for _, net := range []string{"cnn-svhn", "lenet5", "linear-mnist", "resnet20"} {
		for precision, off := range map[Precision]float64{TF32: 0x1p-10, BF16: 0x1p-7} {
			if net == "resnet20" && (precision == TF32 && !gputest.Real() || testing.Short()) {
				continue // half a minute on the emulator
			}
			t.Run(fmt.Sprintf("%s_%s", net, precision), func(t *testing.T) {
				g, e, m := both(t, net, batch, Options{Precision: precision})
				_, want := newCrowd(t, e, m, 1, batch, nil).train(t)
				bound := 0.0
				for i := range 4 {
					c := newCrowd(t, e, m, 1, batch, nil)
					r := rand.New(rand.NewPCG(uint64(i), 5))
					for row := range c.start.Rows() {
						w := load(t, e, nets.Row{Bank: c.start, Index: row})
						for j := range w {
							w[j] *= float32(1 + off*(2*r.Float64()-1))
						}
						ok(t, e.Load(nets.Row{Bank: c.start, Index: row}, w))
					}
					_, near := c.train(t)
					bound = max(bound, 3*distance(near, want))
				}
				_, got := newCrowd(t, g, m, 1, batch, nil).train(t)
				d := distance(got, want)
				t.Logf("%.2g of the norm of the updates, tolerance %.2g", d, bound)
				if !(d <= bound) || bound > 0.5 {
					t.Errorf("updates differ by %.2g of their norm, tolerance %.2g (at most 0.5)", d, bound)
				}
				if precision == BF16 && d < 0x1p-12 || d == 0 {
					t.Errorf("updates differ by %g of their norm: is anything rounded?", d)
				}
			})
		}
	}
}

// distance is the norm of the difference of rows as part of the norm of want.
func distance(got, want [][]float32) float64 {
	diff, norm := 0.0, 0.0
	for i := range want {
		for j, v := range want[i] {
			d := float64(got[i][j]) - float64(v)
			diff += d * d
			norm += float64(v) * float64(v)
		}
	}
	return math.Sqrt(diff / norm)
}

// Waves of two clients and of all, again and again: the same bytes.
func TestWaves(t *testing.T) {
	for _, run := range []struct {
		net       string
		precision Precision
	}{{"cnn-svhn", FP32}, {"cnn-svhn", TF32}, {"cnn-svhn", BF16}, {"resnet20", TF32}} {
		t.Run(run.net+"_"+string(run.precision), func(t *testing.T) {
			var loss []float32
			var rows [][]float32
			for _, most := range []int{0, 2, 1, 3} {
				if run.net == "resnet20" && (most > 1 && !gputest.Real() || testing.Short()) {
					continue // a minute on the emulator
				}
				g, _, m := both(t, run.net, 3, Options{Precision: run.precision, MaxClients: most})
				c := newCrowd(t, g, m, 2, 3, nil)
				gotLoss, got := c.train(t)
				if loss == nil {
					loss, rows = gotLoss, got
					continue
				}
				if !slices.Equal(gotLoss, loss) {
					t.Errorf("%d at once: losses %v, want %v", most, gotLoss, loss)
				}
				for i := range rows {
					if !slices.Equal(got[i], rows[i]) {
						t.Errorf("%d at once: row %d differs", most, i)
					}
				}
			}
		})
	}
}

// Evaluation of two rows, of whole parts, lists and nothing, against the CPU engine.
func TestEvaluate(t *testing.T) {
	for _, net := range nets.ModelNames() {
		if net == "resnet18" && !gputest.Real() || testing.Short() && strings.HasPrefix(net, "resnet") {
			continue // minutes on the emulator
		}
		t.Run(net, func(t *testing.T) {
			g, e, m := both(t, net, 4, Options{Precision: FP32})
			var results [2][]nets.EvalResult
			for i, e := range []nets.Engine{g, e} {
				b := must(e.NewBank(2))(t)
				var jobs []nets.EvalJob
				for r := range 2 {
					row := nets.Row{Bank: b, Index: r}
					ok(t, e.Load(row, m.Init(nets.Kaiming, uint32(r))))
					jobs = append(jobs, nets.EvalJob{Row: row, Part: nets.Test}, nets.EvalJob{Row: row, Part: nets.Train, Index: []int32{5, 39, 5, 0, 1, 2, 3, 4, 6, 7}}, nets.EvalJob{Row: row, Index: []int32{}})
				}
				results[i] = must(e.Evaluate(t.Context(), jobs))(t)
			}
			for i, want := range results[1] {
				got := results[0][i]
				if got.N != want.N || got.Correct != want.Correct || math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss {
					t.Errorf("job %d: got %+v, want %+v, losses to 1e-5", i, got, want)
				}
			}
			if results[1][0].N != testSamples || results[1][1].N != 10 || results[1][2].N != 0 {
				t.Errorf("samples %d, %d, %d, want %d, 10, 0", results[1][0].N, results[1][1].N, results[1][2].N, testSamples)
			}
		})
	}
}

// Rows go in and out unchanged, are combined in order and measured.
func TestRows(t *testing.T) {
	g, e, m := both(t, "lenet5", 2, Options{})
	for i, e := range []nets.Engine{g, e} {
		name := e.Info().Engine
		b := must(e.NewBank(4))(t)
		row := func(i int) nets.Row { return nets.Row{Bank: b, Index: i} }
		x, y := m.Init(nets.Kaiming, 1), m.Init(nets.Kaiming, 2)
		ok(t, e.Load(row(0), x))
		ok(t, e.Load(row(1), y))
		ok(t, e.Combine(row(2), []float64{0.5, -2, 1}, []nets.Row{row(0), row(1), row(3)}))
		ok(t, e.Combine(row(1), []float64{1, 0.25}, []nets.Row{row(0), row(1)}))
		sum, squares := 0.0, 0.0
		got, into := load(t, e, row(2)), load(t, e, row(1))
		for j := range x {
			want, wantInto := 0.5*float64(x[j])-2*float64(y[j]), float64(x[j])+0.25*float64(y[j])
			sum = max(sum, math.Abs(float64(got[j])-want), math.Abs(float64(into[j])-wantInto))
			squares += float64(got[j]) * float64(got[j])
		}
		if sum > 1e-6 { // sums of two numbers below 2: a few roundings of 1.2e-7
			t.Errorf("%s: combine differs by %g, tolerance 1e-6", name, sum)
		}
		if norm := must(e.Norm(row(2)))(t); math.Abs(norm-math.Sqrt(squares)) > 1e-12*norm {
			t.Errorf("%s: norm %v, want %v ± 1e-12 of it", name, norm, math.Sqrt(squares))
		}
		if !slices.Equal(load(t, e, row(0)), x) {
			t.Errorf("%s: a row that was loaded is not what comes out", name)
		}
		ok(t, e.Combine(row(0), nil, nil))
		if norm := must(e.Norm(row(0)))(t); norm != 0 {
			t.Errorf("%s: norm %g of no terms, want 0", name, norm)
		}
		if i == 0 {
			for range 3000 { // more than the ring of small transfers holds
				ok(t, e.Combine(row(3), []float64{1, 1}, []nets.Row{row(3), row(2)}))
			}
			if got, want := must(e.Norm(row(3)))(t), 3000*math.Sqrt(squares); math.Abs(got-want) > 1e-3*want {
				t.Errorf("%s: norm of 3000 sums %g, want %g ± 1e-3 of it", name, got, want)
			}
		}
	}
}

// What is wrong is said in one line, by the engine and before the card hears of it.
func TestErrors(t *testing.T) {
	g, e, m := both(t, "linear-mnist", 2, Options{})
	b, foreign := must(g.NewBank(2))(t), must(e.NewBank(1))(t)
	w := make([]float32, m.P)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	job := nets.ClientWork{Start: nets.Row{Bank: b}, End: nets.Row{Bank: b, Index: 1}, Plan: planOf(0, 1, 2, 2)}
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
		"other's row": {g.Load(nets.Row{Bank: foreign}, w), "gpu: load: row of bank *nets.cpuBank, want one of this engine"},
		"terms":       {g.Combine(nets.Row{Bank: b}, []float64{1}, nil), "gpu: combine: 1 coefficients for 0 rows"},
		"batch": {
			train(t.Context(), nets.ClientWork{Start: job.Start, End: job.End, Plan: planOf(0, 1, 3, 3)}),
			"nets: train: client 0: plan of E=1 B=3 with 3 indices, 6 crops, 3 flips, want B=2, E·B, 2·E·B, E·B",
		},
		"cancelled": {train(cancelled, job), "context canceled"},
		"start":     {train(t.Context(), nets.ClientWork{Start: nets.Row{Bank: foreign}, End: job.End, Plan: job.Plan}), "gpu: train: start: row of bank *nets.cpuBank, want one of this engine"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", name, c.err, c.want)
		}
	}
	if _, err := newEngine(m, nil, nil, Options{Batch: 2, Precision: "fp64"}); err == nil || err.Error() != `gpu: precision "fp64", want tf32, fp32 or bf16` {
		t.Errorf("precision: error %v", err)
	}
	for i := range w {
		w[i] = float32(math.NaN())
	}
	ok(t, g.Load(job.Start, w))
	var diverged *nets.DivergedError
	if err := train(t.Context(), job); !errors.As(err, &diverged) || diverged.Step != 0 {
		t.Errorf("weights that are not numbers: error %v, want a loss that is not finite at step 0", err)
	}
}

// What a run will take is known before, within 10 %.
func TestEstimate(t *testing.T) {
	g, _, m := both(t, "lenet5", 4, Options{EvalBatch: 4})
	before := used(t, g)
	newCrowd(t, g, m, 2, 4, nil).train(t)
	var units []nets.EvalJob
	b := must(g.NewBank(1))(t)
	for range evalRoom {
		units = append(units, nets.EvalJob{Row: nets.Row{Bank: b}, Part: nets.Test})
	}
	must(g.Evaluate(t.Context(), units))(t)
	got := used(t, g) - before
	m2 := must(Estimate(m, g.samples[0], g.samples[1], g.options, 4, 2, 10))(t)
	if want := m2.Waves + m2.Banks; math.Abs(float64(got-want)) > 0.1*float64(want) {
		t.Errorf("a run took %s, the estimate is %s, want it within 10 %%", size(got), size(want))
	}
}

func used(t *testing.T, g *Engine) (bytes int64) {
	t.Helper()
	ok(t, g.do(func() error {
		free, total, err := g.device.MemInfo()
		bytes = total - free
		return err
	}))
	return bytes
}

// Kernels are timed one by one, in all they do, and training gives the same bytes as without.
func TestProfile(t *testing.T) {
	const steps = 2
	g, _, m := both(t, "lenet5", 4, Options{})
	_, want := newCrowd(t, g, m, steps, 4, nil).train(t)
	ok(t, g.Profile(true))
	for range 2 {
		_, got := newCrowd(t, g, m, steps, 4, nil).train(t)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("row %d differs from that of a graph", i)
			}
		}
	}
	launches := map[string]int{}
	for _, k := range g.Kernels() {
		launches[k.Kernel] = k.Launches
		if k.Time < 0 {
			t.Errorf("%s: %v", k.Kernel, k.Time)
		}
	}
	for kernel, n := range map[string]int{"begin_tf32": 2, "gather_tf32": 2 * steps, "conv_forward_tf32": 2 * 2 * steps, "linear_backward_filter_tf32": 2 * 3 * steps, "sgd_tf32": 2 * steps} {
		if launches[kernel] != n {
			t.Errorf("%s: %d launches, want %d", kernel, launches[kernel], n)
		}
	}
	ok(t, g.Profile(false))
	if left := g.Kernels(); left != nil {
		t.Errorf("%d kernels after the profile has ended", len(left))
	}
	newCrowd(t, g, m, steps, 4, nil).train(t)
}
