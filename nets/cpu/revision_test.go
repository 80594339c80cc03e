package cpu

import (
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16/tiles"
	"rollcall/nets/models"
)

// smallNets are nets of the tests' own, so that a change of a net of the catalogue is none of the engine: every layer
// that nets are built of, with channels that fill vectors and channels that do not.
func smallNets(t *testing.T) (small []*models.Model) {
	photos, digits := plan.Shape{H: 16, W: 16, C: 3, Classes: 10}, plan.Shape{H: 28, W: 28, C: 1, Classes: 10}
	for _, net := range []struct {
		text  string
		shape plan.Shape
	}{
		{"conv: conv 32 3x3 pad 1 pool, conv 24 3x3 pad 1 pool, dropout 0.25, linear 40, dropout 0.5", photos},
		{"wide-window: conv 6 5x5 pad 2 pool, conv 16 5x5 pool, linear 17", digits},
		{"residual", photos},
		{
			"projected: conv 10 3x3 pad 1 norm relu, block 10, block 20 stride 2, block 40 stride 2, average",
			plan.Shape{H: 8, W: 8, C: 3, Classes: 7},
		},
		{ // convolutions by Winograd's algorithm, the last one with large weights
			"winograd: conv 64 3x3 pad 1 norm relu, conv 70 3x3 pad 1 norm relu, " +
				"conv 64 3x3 stride 2 pad 1 norm relu, conv 460 3x3 pad 1 norm relu, average",
			plan.Shape{H: 8, W: 8, C: 3, Classes: 7},
		},
		{"linear: none", digits},
		{"features: none", plan.Shape{H: 1, W: 1, C: 61, Classes: 10}},
		{"odds", plan.Shape{H: 1, W: 1, C: 10, Classes: 2}},
	} {
		m := &models.Model{Name: net.text, Shape: net.shape}
		switch net.text {
		case "residual":
			m.Build = func(b *models.Builder) models.Maps { return b.Residual(16, 2, 2) }
			must.OK(t, m.Describe())
		case "odds":
			m.Build = func(b *models.Builder) models.Maps { return b.Odds(b.Linear(b.Input(0), 1, false)) }
			must.OK(t, m.Describe())
		default:
			m = must.Get(models.Describe(net.text, net.shape))(t)
		}
		small = append(small, m)
	}
	return small
}

var precisions = []kernels.Precision{kernels.FP32, kernels.BF16, kernels.BF16x3}

// recordedClasses are the classes whose digests testdata/revisions has, in its order.
var recordedClasses = []string{
	"cpu-fp32", "cpu-generic-fp32", "cpu-bf16", "cpu-generic-bf16", "cpu-bf16x3", "cpu-generic-bf16x3",
}

// batchNorm ends the name of an entry of nets with batch normalisation, winograd that of nets with convolutions by
// Winograd's algorithm. What an engine does with running statistics, and with these convolutions, has the revision of
// these nets, so that a change leaves the runs of all other nets alone.
const (
	batchNorm = "-batch-norm"
	winograd  = "-winograd"
)

// The CPU engine's revision is of two rounds of every small net, in every class; the variants of a class must agree.
func TestEngineRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	digests := map[string]string{}
	normedRevision, tiledRevision := 0, 0
	for _, p := range precisions {
		for _, k := range kernels.Choices(p) {
			if k.Name() == "amx" && tiles.Emulating() {
				continue // TestEngineAMX runs some of it
			}
			if k.Name() == "generic" && p == kernels.BF16x3 && !longtest.On() {
				continue // plain Go takes half a minute to round three products for every one
			}
			t.Setenv("ROLLCALL_CPU", k.Name())
			var plain, normed, tiled revisiontest.Digest
			class := ""
			for _, m := range smallNets(t) {
				d := &plain
				switch {
				case m.Name == "winograd" && p != kernels.FP32:
					continue
				case m.Name == "winograd":
					d, tiledRevision = &tiled, m.Revision()
				case m.Trained < m.P:
					d, normedRevision = &normed, m.Revision()
				}
				class = engineInto(t, d, m, p)
			}
			for name, d := range map[string]string{
				class: plain.String(), class + batchNorm: normed.String(), class + winograd: tiled.String(),
			} {
				if digests[name] != "" && digests[name] != d {
					t.Errorf("%s: digest %s, another variant of %s has %s", k.Name(), d, name, digests[name])
				}
				digests[name] = d
			}
		}
	}
	var entries []revisiontest.Entry
	for _, class := range recordedClasses {
		if digests[class] == "" {
			t.Logf("%s: not on this processor", class)
		}
		entries = append(entries, revisiontest.Entry{
			Name: class, Revision: Revision, Where: "engine.go", Digest: digests[class],
		}, revisiontest.Entry{
			Name: class + batchNorm, Revision: normedRevision, Where: "nets/models/catalogue.go",
			Digest: digests[class+batchNorm],
		})
		if strings.HasSuffix(class, string(kernels.FP32)) {
			entries = append(entries, revisiontest.Entry{
				Name: class + winograd, Revision: tiledRevision, Where: "nets/models/catalogue.go",
				Digest: digests[class+winograd],
			})
		}
	}
	revisiontest.Check(t, "testdata/revisions", entries)
}

// engineInto enters what an engine makes of two rounds of three steps: of a client with momentum, a ragged one with
// momentum and drift, one of fewer steps, one without samples; clipped in the second round alone. It returns the class.
func engineInto(t *testing.T, d *revisiontest.Digest, m *models.Model, p kernels.Precision) string {
	t.Helper()
	const batch, clients = 5, 4
	samples := hashedSamples(m, 117, testMean, testStd)
	e := must.Get(Open(m, samples, rest(samples, 40), Options{Threads: 2, Batch: batch, Precision: p}))(t)
	defer e.Close()
	b := must.Get(e.NewBank(1 + 2*clients + 1))(t)
	global, drift := rowOf(b, 0), rowOf(b, 2*clients+1)
	must.OK(t, e.Load(global, hashedWeights(m)))
	small := hashedWeights(m)
	for j := range small {
		small[j] /= 64
	}
	must.OK(t, e.Load(drift, small))
	for round := range 2 {
		work := nets.LocalWork{Round: round, Seed: 9, LR: 0.03, WeightDecay: 0.01, Momentum: 0.7}
		if round == 1 {
			clip := 0.9
			work.Clip = &clip
		}
		var ends []nets.Row
		for i := range clients {
			steps, count := 3, batch
			switch i {
			case 1:
				count = batch - 2
			case 2:
				steps = 2
			case 3:
				count = 0
			}
			c := nets.ClientWork{
				Client: 3 * i, Start: global, End: rowOf(b, 1+i), Plan: hashedPlan(10*round+i, steps, batch, count, 40),
			}
			if i < 2 {
				c.Momentum = rowOf(b, 1+clients+i)
			}
			if i == 1 {
				c.Drift = drift
			}
			work.Clients, ends = append(work.Clients, c), append(ends, c.End)
		}
		d.Add(must.Get(e.Train(t.Context(), work))(t))
		for i := range 2 * clients {
			d.Add(load(t, e, rowOf(b, 1+i)))
		}
		mean := []float64{0.4, 0.3, 0.2, 0.1}
		must.OK(t, e.Combine(global, mean, ends))
		must.OK(t, e.CombineBuffers(global, mean, ends))
		d.Add(load(t, e, global), must.Get(nets.Norm(e, global))(t))
		for _, r := range must.Get(e.Evaluate(t.Context(), []nets.EvalJob{
			{Row: global, Part: nets.Test},
			{Row: ends[1], Part: nets.Train, Index: []int32{3, 1, 30}},
		}))(t) {
			d.Add(r.N, r.Correct, r.Loss)
		}
	}
	return e.Info().Numerics
}

// The variant for AMX computes what the others of its class do. Where the processor has no AMX, its instructions are
// emulated, which takes a while: so not all nets.
func TestEngineAMX(t *testing.T) {
	if ok, why := tiles.Install(); !ok {
		t.Skip(why)
	}
	t.Cleanup(tiles.Remove)
	// In two layers of 32 channels the gradient is unpooled into both kinds of operands.
	twice := must.Get(models.Describe("twice: conv 32 3x3 pad 1 pool, conv 32 3x3 pad 1 pool",
		plan.Shape{H: 8, W: 8, C: 3, Classes: 10}))(t)
	for _, m := range append(smallNets(t), twice) {
		if m.Name == "winograd" {
			continue // none where operands are rounded
		}
		for _, p := range precisions[1:] {
			// residual is as projected, but larger; the windows of wide-window are as fast in bf16.
			slow := m.Name == "residual" || m.Name == "wide-window" && p == kernels.BF16x3
			if slow && tiles.Emulating() && !longtest.On() {
				continue
			}
			t.Run(m.Name+"/"+string(p), func(t *testing.T) {
				digests := map[string]string{}
				for _, name := range []string{"avx2", "amx"} {
					t.Setenv("ROLLCALL_CPU", name)
					var d revisiontest.Digest
					engineInto(t, &d, m, p)
					digests[name] = d.String()
				}
				if digests["amx"] != digests["avx2"] {
					t.Errorf("%s, %s: amx computes other numbers than avx2", m.Name, p)
				}
			})
		}
	}
}

// An engine says which variant multiplies and in which precision, and no two precisions share a class of numbers.
func TestEnginePrecisions(t *testing.T) {
	m := must.Get(models.New("lenet5"))(t)
	samples := hashedSamples(m, 4, testMean, testStd)
	of := map[string]kernels.Precision{} // by class
	for _, p := range append(precisions, "") {
		want := p
		if p == "" {
			want = kernels.FP32
		}
		for _, c := range kernels.Choices(p) {
			t.Setenv("ROLLCALL_CPU", c.Name())
			e := must.Get(Open(m, samples, nil, Options{Threads: 1, Batch: 2, Precision: p}))(t)
			info := e.Info()
			must.OK(t, e.Close())
			if info.Engine != "cpu-"+c.Name() || info.Precision != string(want) ||
				info.Numerics != nets.Numerics(info.Engine, info.Precision) || info.Revision != Revision {
				t.Errorf("%s, precision %q: %+v, want both and their class", c.Name(), p, info)
			}
			if was, ok := of[info.Numerics]; ok && was != want {
				t.Errorf("%s: the class of %s and of %s", info.Numerics, was, want)
			}
			of[info.Numerics] = want
			if generic := strings.HasPrefix(info.Numerics, "cpu-generic-"); generic != (c.Name() == "generic") {
				t.Errorf("%s: class %s", info.Engine, info.Numerics)
			}
			for _, s := range append(e.slots, &slot{exec: e.exec}) {
				if multiplies := s.exec.Products != nil; multiplies != (want != kernels.FP32) {
					t.Errorf("%s, precision %q: products in bfloat16 %t", c.Name(), p, multiplies)
				}
			}
		}
	}
}

// The variant with AMX multiplies in bfloat16 alone; an engine that is asked for it in float32 is not opened.
func TestEngineOfAnotherPrecision(t *testing.T) {
	t.Setenv("ROLLCALL_CPU", "amx")
	m := must.Get(models.New("lenet5"))(t)
	for _, p := range []kernels.Precision{"", kernels.FP32} {
		_, err := Open(m, nil, nil, Options{Batch: 1, Precision: p})
		const want = "nets: cpu: ROLLCALL_CPU=amx: multiplies with --precision bf16 or bf16x3 alone"
		if err == nil || err.Error() != want {
			t.Errorf("precision %q: got error %v, want %s", p, err, want)
		}
	}
}
