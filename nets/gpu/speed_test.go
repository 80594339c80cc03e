//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
)

// The benchmarks time every launch of a net on its own, and the graph that rounds replay, for benchstat
// (docs/tuning.md):
//
//	ROLLCALL_TEST_GPU=1 go test -tags gpu -run '^$' -bench . -benchtime 20x ./nets/gpu
//
// A time is the time between two events on the device. A first replay is queued before them, so that the processor's
// time for a launch does not count.

// workload is a net to time, the size of its batches, and the numbers of clients to train at once.
type workload struct {
	net   string
	batch int
	slots []int // K
}

// timing holds the workloads to time and the sizes of a measurement.
type timing struct {
	workloads         []workload
	replays           int // times that a launch runs between two events
	steps             int // in a graph of training
	evalBatch         int
	training, testing int // samples; 0 for testing means as many as the slots take
}

var (
	hardware = timing{[]workload{
		{"cnn-cifar10", 128, []int{5, 32, 37, 100, 500}},
		{"cnn-svhn", 128, []int{37}},
		{"cnn-cinic10", 128, []int{37}},
		{"lenet5", 128, []int{37}},
		{"resnet20", 64, []int{37}},
		{"resnet18", 64, []int{37}},
	}, 20, 10, defaultEvalBatch, 50_000, 0}
	emulated = timing{[]workload{{"lenet5", 3, []int{1}}}, 1, 2, 4, crowd.TrainSamples, 0}
)

// emulatedVariable set to 1 runs the benchmarks on the emulator, to see that they run. Their numbers then mean nothing.
const emulatedVariable = "ROLLCALL_BENCH_EMULATED"

var toldWhy sync.Once

// wanted returns what to time. If there is nothing to time on, it skips the benchmark and says why in one line.
func wanted(b *testing.B) timing {
	why := ""
	switch {
	case gputest.Real() && gputest.LeftOut != "":
		why = gputest.LeftOut
	case gputest.Real():
		return hardware
	case os.Getenv(emulatedVariable) == "1" && gputest.LeftOut == "":
		return emulated
	default:
		why = "ROLLCALL_TEST_GPU=1 times kernels on the first card; this is no card"
	}
	// go test says nothing of benchmarks that skip
	toldWhy.Do(func() { fmt.Fprintln(os.Stderr, "gpu: benchmarks left out: "+why) })
	b.Skip(why)
	return timing{}
}

// BenchmarkTrain times the launches of a training step, per client.
func BenchmarkTrain(b *testing.B) { wanted(b).each(b, true) }

// BenchmarkEvaluate times the launches of an evaluation, per slot of EvalBatch samples.
func BenchmarkEvaluate(b *testing.B) { wanted(b).each(b, false) }

func (l timing) each(b *testing.B, train bool) {
	for _, w := range l.workloads {
		for _, precision := range []Precision{TF32, FP32, BF16} {
			for _, K := range w.slots {
				if !train && K > maxEvalSlots {
					continue // is never evaluated at once
				}
				b.Run(fmt.Sprintf("net=%s/precision=%s/K=%d", w.net, precision, K), func(b *testing.B) {
					r := l.rig(b, w, precision, K, train)
					for i, launch := range r.launches {
						b.Run("kernel="+trimPrecision(launch.kernel, precision)+"/layer="+launch.layer,
							func(b *testing.B) { r.one(b, i, l.replays) })
					}
					b.Run("kernel=graph/layer=all", r.graph)
				})
			}
		}
	}
}

// rig is a wave with its plan on the device, ready to time its launches.
type rig struct {
	e        *Engine
	w        *wave
	K        int
	unit     string   // of a time per slot
	launches []launch // what fills the weights, and the program
	start    *driver.Event
	end      *driver.Event
}

// rig opens an engine and trains, or evaluates, once, which leaves a wave with its plan and its graph.
func (l timing) rig(b testing.TB, w workload, precision Precision, K int, train bool) *rig {
	m := must.Get(models.New(w.net))(b)
	trainSet, testSet := heldSamples(m, l.training, 1), heldSamples(m, K*l.evalBatch, 2)
	e := must.Get(openEngine(m, trainSet, testSet, Options{
		Precision: precision, Batch: w.batch, EvalBatch: l.evalBatch,
	}))(b)
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	bank := must.Get(e.NewBank(K + 1))(b)
	start := nets.Row{Bank: bank}
	must.OK(b, e.Load(start, m.Init(models.Kaiming, 1)))
	r := &rig{e: e, K: K, unit: "µs/client-step"}
	if train {
		work := nets.LocalWork{LR: 1e-3}
		for k := range K {
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: k, Start: start,
				End: nets.Row{Bank: bank, Index: 1 + k}, Plan: planAmong(trainSet.Len(), k, l.steps, w.batch),
			})
		}
		must.Get(e.Train(b.Context(), work))(b)
	} else {
		r.unit = "µs/slot"
		must.Get(e.Evaluate(b.Context(), []nets.EvalJob{{Row: start, Part: nets.Test}}))(b)
	}
	for _, w := range e.waves {
		if w.key.capacity < K {
			b.Skipf("left out: there is memory for %d clients at once, want %d", w.key.capacity, K)
		}
		r.w = w
	}
	for g := range r.w.frames {
		r.w.frames[g].step = 0
	}
	r.launches = append([]launch{r.w.program.weights}, r.w.program.launches...)
	for _, event := range []**driver.Event{&r.start, &r.end} {
		r.do(b, func() (err error) {
			*event, err = e.device.NewEvent()
			return err
		})
	}
	return r
}

func (r *rig) do(b testing.TB, f func() error) {
	b.Helper()
	must.OK(b, r.e.do(f))
}

// one times launch i. It first runs the launches before it, whose results it reads; the launches after it would
// overwrite buffers that share memory.
func (r *rig) one(b *testing.B, i, replays int) {
	var exec *driver.Exec
	launch := r.launches[i]
	r.do(b, func() (err error) {
		for _, l := range r.launches[:i] {
			for g := range r.w.frames {
				if err := r.e.enqueue(&r.w.frames[g], l, usage{}); err != nil {
					return err
				}
			}
		}
		if err := r.e.stream.Synchronize(); err != nil {
			return err
		}
		exec, err = r.e.device.NewGraph(r.launches[i].kernel, func(g *driver.Graph) error {
			var after []int
			for n := range replays {
				groups := after[:0:0]
				for i := range r.w.frames {
					if err := r.e.add(g, &r.w.frames[i], launch, after); err != nil {
						return err
					}
					groups = append(groups, n*len(r.w.frames)+i)
				}
				after = groups
			}
			return nil
		})
		return err
	})
	defer r.do(b, func() error { return exec.Destroy() })
	each := r.time(b, exec) / float64(replays)
	slots, unit := r.K, r.unit
	switch {
	case i == 0 && r.w.key.train:
		unit = "µs/client" // once a round
	case i == 0:
		slots, unit = 1, "µs/row" // which all slots evaluate
	}
	flop, bytes := r.launches[i].cost(&r.w.frames[0]).Of(slots, 0, 0)
	report(b, each, slots, unit, flop, bytes)
}

// graph times the replay of a whole round or evaluation, and reports the time of one step.
func (r *rig) graph(b *testing.B) {
	steps := float64(r.w.key.steps)
	step := r.time(b, r.w.exec) / steps
	var all kernels.Cost
	for _, l := range r.w.program.launches { // filling the weights is in the time, but is no work of a step
		all = plus(all, l.cost(&r.w.frames[0]))
	}
	flop, bytes := all.Of(r.K, 0, 0)
	report(b, step, r.K, r.unit, flop, bytes)
}

// time returns the seconds that a graph takes on the device directly after another replay of it.
func (r *rig) time(b *testing.B, exec *driver.Exec) float64 {
	total, n := 0.0, 0
	for b.Loop() {
		r.do(b, func() error {
			if err := inTurn(
				// the device is busy with it while the processor queues the rest
				func() error { return exec.Launch(r.e.stream) },
				func() error { return r.start.Record(r.e.stream) },
				func() error { return exec.Launch(r.e.stream) },
				func() error { return r.end.Record(r.e.stream) },
				r.e.stream.Synchronize,
			); err != nil {
				return err
			}
			ms, err := r.end.Since(r.start)
			total += ms / 1e3
			return err
		})
		n++
	}
	return total / float64(n)
}

// report reports the time per slot, of a time that all slots took together, and the rates of the work.
func report(b *testing.B, seconds float64, slots int, unit string, flop, bytes float64) {
	b.ReportMetric(0, "ns/op") // which would count the processor's part
	b.ReportMetric(1e6*seconds/float64(slots), unit)
	if flop > 0 {
		b.ReportMetric(flop/1e12/seconds, "TFLOP/s")
	}
	b.ReportMetric(bytes/1e9/seconds, "GB/s")
}

var heldSets = map[string]*plan.Samples{}

// heldSamples returns the samples of samplesFor, and makes equal samples only once.
func heldSamples(m *models.Model, n int, seed uint64) *plan.Samples {
	name := fmt.Sprint(m.H, m.W, m.C, m.Classes, n, seed)
	if heldSets[name] == nil {
		heldSets[name] = crowd.Samples(m, n, seed)
	}
	return heldSets[name]
}

// planAmong returns a plan of full batches, drawn from n samples.
func planAmong(n, client, steps, batch int) plan.Local {
	r := rand.New(rand.NewPCG(uint64(client), 4))
	l := plan.Local{E: steps, B: batch}
	for range steps * batch {
		l.Index = append(l.Index, int32(r.IntN(n)))
		l.Crop = append(l.Crop, uint8(r.IntN(2*plan.Pad+1)), uint8(r.IntN(2*plan.Pad+1)))
		l.Flip = append(l.Flip, uint8(r.IntN(2)))
	}
	return l
}

// The benchmarks run on the emulator, each once and on a small workload. They time every launch of both programs under
// a name of its own, and their times and rates multiply to the operations and bytes of the programs.
func TestBenchmarks(t *testing.T) {
	c := gputest.Child(t, "kernels", false, "^$", emulatedVariable+"=1")
	c.Args = append(c.Args, "-test.bench=.", "-test.benchtime=1x")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := benchLines(t, string(out))
	w := emulated.workloads[0]
	m := must.Get(models.New(w.net))(t)
	timed := 0
	for _, precision := range []Precision{TF32, FP32, BF16} {
		for name, train := range map[string]bool{"BenchmarkTrain": true, "BenchmarkEvaluate": false} {
			batch, unit := w.batch, "µs/client-step"
			if !train {
				batch, unit = emulated.evalBatch, "µs/slot"
			}
			p := must.Get(lower(m, newLayout(m), precision, batch, train, false))(t)
			prefix := fmt.Sprintf("%s/net=%s/precision=%s/K=1/", name, w.net, precision)
			f := addressed(p)
			var got, tolerance, want float64
			for _, l := range p.launches {
				line := lines[prefix+"kernel="+trimPrecision(l.kernel, precision)+"/layer="+l.layer]
				if !(line[unit] > 0) || !(line["GB/s"] >= 0) {
					t.Errorf("%s%s of %s: %v, want its time and its GB/s", prefix, l.kernel, l.layer, line)
					continue
				}
				timed++
				got += line[unit] * line["TFLOP/s"]
				// Seven digits behind the point are printed of a rate, or four in front: what that may leave out.
				tolerance += line[unit] * (0.5e-7 + 1e-3*line["TFLOP/s"])
				want += float64(l.cost(f).FLOP) / 1e6
			}
			if !(math.Abs(got-want) <= tolerance) {
				t.Errorf("%s: times × rates are %g million operations, want %g ± %g: the digits printed",
					prefix, got, want, tolerance)
			}
			if g := lines[prefix+"kernel=graph/layer=all"]; !(g[unit] > 0) ||
				!(math.Abs(g[unit]*g["TFLOP/s"]-want) <= g[unit]*0.5e-7+2e-3*want) {
				t.Errorf("%s: the graph's time × rate is %v, want %g million operations ± 0.2 %%: the digits printed",
					prefix, g, want)
			}
		}
	}
	if want := timed + 3*2*2; len(lines) != want { // the graphs, and what fills the weights
		t.Errorf("%d benchmarks, want %d: those of the launches, of begin and round_weights, and of the graphs\n%s",
			len(lines), want, out)
	}
}

// benchLines parses the output of benchmarks: for each name, without the number of processors, the value of each unit.
func benchLines(t *testing.T, out string) map[string]map[string]float64 {
	t.Helper()
	lines := map[string]map[string]float64{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := fields[0]
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			if _, err := strconv.Atoi(name[at+1:]); err == nil {
				name = name[:at]
			}
		}
		if lines[name] != nil {
			t.Errorf("%s: twice", name)
		}
		lines[name] = map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			lines[name][fields[i+1]] = v
		}
	}
	return lines
}
