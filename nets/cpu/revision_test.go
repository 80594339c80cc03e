package cpu

import (
	"testing"

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
func smallNets() []*models.Model {
	return []*models.Model{
		{Name: "conv", H: 16, W: 16, C: 3, Classes: 10, Build: func(b *models.Builder) models.Maps {
			h := b.Conv(b.Conv(b.Input(1), 32, 3, 1), 24, 3, 0)
			return b.Linear(b.Dropout(b.Linear(b.Dropout(h, 0.25), 40, true), 0.5), 10, false)
		}},
		{Name: "wide-window", H: 28, W: 28, C: 1, Classes: 10, Build: func(b *models.Builder) models.Maps {
			h := b.Conv(b.Conv(b.Input(2), 6, 5, 0), 16, 5, 0)
			return b.Linear(b.Linear(h, 17, true), 10, false)
		}},
		{Name: "residual", H: 16, W: 16, C: 3, Classes: 10, Build: func(b *models.Builder) models.Maps {
			return b.Residual(16, 2, 2, false)
		}},
		{Name: "projected", H: 8, W: 8, C: 3, Classes: 7, Build: func(b *models.Builder) models.Maps {
			return b.Residual(10, 3, 1, true)
		}},
		{Name: "linear", H: 28, W: 28, C: 1, Classes: 10, Build: func(b *models.Builder) models.Maps {
			return b.Linear(b.Input(0), 10, false)
		}},
		{Name: "features", H: 1, W: 1, C: 61, Classes: 10, Build: func(b *models.Builder) models.Maps {
			return b.Linear(b.Input(0), 10, false)
		}},
		{
			Name: "odds", H: 1, W: 1, C: 10, Classes: 2,
			Build: func(b *models.Builder) models.Maps { return b.Odds(b.Linear(b.Input(0), 1, false)) },
		},
	}
}

// precisions are all that the CPU engine has.
var precisions = []kernels.Precision{kernels.FP32, kernels.BF16, kernels.BF16x3}

// recordedClasses are the classes whose digests testdata/revisions has, in its order.
var recordedClasses = []string{
	"cpu-fp32", "cpu-generic-fp32", "cpu-bf16", "cpu-generic-bf16", "cpu-bf16x3", "cpu-generic-bf16x3",
}

// batchNorm ends the name of an entry of nets with batch normalisation. What an engine does with running statistics has
// the revision of these nets, so that a change leaves the runs of all other nets alone.
const batchNorm = "-batch-norm"

// The CPU engine's revision is of two rounds of every small net, in every class; the variants of a class must agree.
func TestEngineRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	digests := map[string]string{}
	for _, p := range precisions {
		for _, k := range kernels.Choices(p) {
			if k.Name() == "amx" && tiles.Emulating() {
				continue // TestEngineAMX runs some of it
			}
			if k.Name() == "generic" && p == kernels.BF16x3 && !longtest.On() {
				continue // plain Go takes half a minute to round three products for every one
			}
			t.Setenv("ROLLCALL_CPU", k.Name())
			var plain, normed revisiontest.Digest // of nets without and with batch normalisation
			class := ""
			for _, m := range smallNets() {
				must.OK(t, m.Describe())
				d := &plain
				if m.Trained < m.P {
					d = &normed
				}
				class = engineInto(t, d, m, p)
			}
			for name, d := range map[string]string{class: plain.String(), class + batchNorm: normed.String()} {
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
			Name: class + batchNorm, Revision: models.Revision("resnet20"), Where: "nets/models/resnet.go",
			Digest: digests[class+batchNorm],
		})
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
