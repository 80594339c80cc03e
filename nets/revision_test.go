package nets

import (
	"fmt"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"

	"rollcall/internal/longtest"
	"rollcall/internal/revisiontest"
	"rollcall/nets/cpu"
	"rollcall/nets/cpu/bf16/tiles"
)

// A net's revision is of its parameters, its initial weights, its dropout masks, and of the layers of its graph up to
// the logits and to the loss. How kernels and gradients compute these has the engine's revision.
func TestNetRevisions(t *testing.T) {
	longtest.Numbers(t)
	revisiontest.Recorded(t)
	var entries []revisiontest.Entry
	for _, name := range ModelNames() {
		m := must(NewModel(name))(t)
		var d revisiontest.Digest
		d.Add(m.H, m.W, m.C, m.Classes, m.P)
		for _, p := range m.Params {
			d.Add(p.Name, p.Shape, p.Size, p.Offset, p.FanIn, p.Last, p.Buffer)
		}
		for _, seed := range []uint32{1, 7} {
			if m.P < 2e6 || seed == 1 { // millions of normal numbers take seconds
				d.Add(m.Init(Kaiming, seed), m.Init(Torch, seed))
			}
		}
		for layer := range m.Drops {
			d.Add(m.Drops[layer].Rate, m.DropoutMask(layer, cpu.Draw{Seed: 1, Round: 2, Client: 3, Step: 4}, 3))
		}
		train, eval := must(m.Graph(3, true))(t), must(m.Graph(3, false))(t)
		d.Add(layers(train.Loss, map[*G.Node]string{}), layers(eval.Logits, map[*G.Node]string{}))
		entries = append(entries, revisiontest.Entry{
			Name: name, Revision: Revision(name), Where: "the net's own file", Digest: d.String(),
		})
	}
	if got := Revision("vgg"); got != 0 {
		t.Errorf("revision of an unknown net: %d, want 0", got)
	}
	revisiontest.Check(t, "testdata/net-revisions", entries)
}

// layers returns a digest of a node and of all it reads: ops with their sizes, inputs by name.
func layers(n *G.Node, known map[*G.Node]string) string {
	if known[n] != "" {
		return known[n]
	}
	var d revisiontest.Digest
	d.Add(fmt.Sprint(n.Shape()))
	if n.Op() == nil {
		d.Add(n.Name())
	} else {
		d.Add(n.Op().String())
		for it := n.Graph().From(n.ID()); it.Next(); {
			d.Add(layers(it.Node().(*G.Node), known))
		}
	}
	known[n] = d.String()
	return known[n]
}

// smallNets are nets of the tests' own, so that a change of a net of the catalogue is none of the engine: every layer
// that nets are built of, with channels that fill vectors and channels that do not.
func smallNets() []*Model {
	return []*Model{
		{Name: "conv", H: 16, W: 16, C: 3, Classes: 10, build: func(b *builder) maps {
			h := b.conv(b.conv(b.input(1), 32, 3, 1), 24, 3, 0)
			return b.linear(b.dropout(b.linear(b.dropout(h, 0.25), 40, true), 0.5), 10, false)
		}},
		{Name: "wide-window", H: 28, W: 28, C: 1, Classes: 10, build: func(b *builder) maps {
			h := b.conv(b.conv(b.input(2), 6, 5, 0), 16, 5, 0)
			return b.linear(b.linear(h, 17, true), 10, false)
		}},
		{Name: "residual", H: 16, W: 16, C: 3, Classes: 10, build: func(b *builder) maps {
			return b.residual(16, 2, 2, false)
		}},
		{Name: "projected", H: 8, W: 8, C: 3, Classes: 7, build: func(b *builder) maps {
			return b.residual(10, 3, 1, true)
		}},
		{Name: "linear", H: 28, W: 28, C: 1, Classes: 10, build: func(b *builder) maps {
			return b.linear(b.input(0), 10, false)
		}},
		{Name: "features", H: 1, W: 1, C: 61, Classes: 10, build: func(b *builder) maps {
			return b.linear(b.input(0), 10, false)
		}},
		{
			Name: "odds", H: 1, W: 1, C: 10, Classes: 2,
			build: func(b *builder) maps { return b.odds(b.linear(b.input(0), 1, false)) },
		},
	}
}

// precisions are all that the CPU engine has.
var precisions = []cpu.Precision{cpu.FP32, cpu.BF16, cpu.BF16x3}

// recordedClasses are the classes whose digests testdata/engine-revisions has, in its order.
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
		for _, k := range cpu.Choices(p) {
			if k.Name() == "amx" && tiles.Emulating() {
				continue // TestEngineAMX runs some of it
			}
			if k.Name() == "generic" && p == cpu.BF16x3 && !longtest.On() {
				continue // plain Go takes half a minute to round three products for every one
			}
			t.Setenv("ROLLCALL_CPU", k.Name())
			var plain, normed revisiontest.Digest // of nets without and with batch normalisation
			class := ""
			for _, m := range smallNets() {
				ok(t, m.describe())
				d := &plain
				if slices.ContainsFunc(m.Params, func(p Param) bool { return p.Buffer }) {
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
			Name: class, Revision: CPURevision, Where: "cpu_engine.go", Digest: digests[class],
		}, revisiontest.Entry{
			Name: class + batchNorm, Revision: Revision("resnet20"), Where: "build_residual.go",
			Digest: digests[class+batchNorm],
		})
	}
	revisiontest.Check(t, "testdata/engine-revisions", entries)
}

// engineInto enters what an engine makes of two rounds of three steps: of a client with momentum, a ragged one with
// momentum and drift, one of fewer steps, one without samples; clipped in the second round alone. It returns the class.
func engineInto(t *testing.T, d *revisiontest.Digest, m *Model, p cpu.Precision) string {
	t.Helper()
	const batch, clients = 5, 4
	samples := hashedSamples(m, 117, testMean, testStd)
	e := must(NewCPU(m, samples, rest(samples, 40), CPUOptions{Threads: 2, Batch: batch, Precision: p}))(t)
	defer e.Close()
	b := must(e.NewBank(1 + 2*clients + 1))(t)
	global, drift := Row{b, 0}, Row{b, 2*clients + 1}
	ok(t, e.Load(global, hashedWeights(m)))
	small := hashedWeights(m)
	for j := range small {
		small[j] /= 64
	}
	ok(t, e.Load(drift, small))
	for round := range 2 {
		work := LocalWork{Round: round, Seed: 9, LR: 0.03, WeightDecay: 0.01, Momentum: 0.7}
		if round == 1 {
			clip := 0.9
			work.Clip = &clip
		}
		var ends []Row
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
			c := ClientWork{
				Client: 3 * i, Start: global, End: Row{b, 1 + i}, Plan: hashedPlan(10*round+i, steps, batch, count, 40),
			}
			if i < 2 {
				c.Momentum = Row{b, 1 + clients + i}
			}
			if i == 1 {
				c.Drift = drift
			}
			work.Clients, ends = append(work.Clients, c), append(ends, c.End)
		}
		d.Add(must(e.Train(t.Context(), work))(t))
		for i := range 2 * clients {
			d.Add(load(t, e, Row{b, 1 + i}))
		}
		mean := []float64{0.4, 0.3, 0.2, 0.1}
		ok(t, e.Combine(global, mean, ends))
		ok(t, e.CombineBuffers(global, mean, ends))
		d.Add(load(t, e, global), must(e.Norm(global))(t))
		for _, r := range must(e.Evaluate(t.Context(), []EvalJob{
			{Row: global, Part: Test},
			{Row: ends[1], Part: Train, Index: []int32{3, 1, 30}},
		}))(t) {
			d.Add(r.N, r.Correct, r.Loss)
		}
	}
	return e.Info().Numerics
}
