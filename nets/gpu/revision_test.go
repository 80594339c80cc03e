//go:build gpu && linux && cgo

package gpu

import (
	"math"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

// The engine's revision stands for the bits of a round of four clients and an evaluation, in every precision; what the
// engine does with running statistics has the revision of the nets that have them. In fp32 a
// real card must give the bits of the emulator. In other precisions it need not, since tensor cores round their sums in
// a way that the emulator does not know.
func TestRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	var entries []revisiontest.Entry
	for _, c := range []struct {
		name      string
		precision Precision
	}{{"cuda-fp32", FP32}, {"emulated-tf32", TF32}, {"emulated-bf16", BF16}} {
		var plain, normed revisiontest.Digest // of nets without and with batch normalisation
		if c.precision == FP32 || !gputest.Real() && !testing.Short() {
			for _, n := range []struct {
				net            string
				clients, batch int
			}{
				{"linear-binary", 4, 3},
				{"linear-mnist", 4, 3},
				{"lenet5", 4, 3},
				{"cnn-cifar10", 1, 1},
				{"cnn-cinic10", 1, 1},
				{"resnet20", 1, 2},
			} {
				d := &plain
				if n.net == "resnet20" {
					d = &normed
				}
				if c.precision == FP32 || n.net != "cnn-cinic10" { // whose dropout is the same in all
					engineInto(t, d, n.net, c.precision, n.clients, n.batch)
				}
			}
		}
		entries = append(entries, revisiontest.Entry{
			Name: c.name, Revision: Revision, Where: "engine.go", Digest: plain.String(),
		}, revisiontest.Entry{
			Name: c.name + "-batch-norm", Revision: models.Revision("resnet20"), Where: "build_residual.go",
			Digest: normed.String(),
		})
	}
	revisiontest.Check(t, "testdata/revisions", entries)
}

// engineInto trains the first clients of a round and enters the rows, their sum, its norm and its evaluation in a
// digest. It takes two steps, or one for a single client, since the emulator is slow.
func engineInto(t *testing.T, d *revisiontest.Digest, net string, precision Precision, clients, batch int) {
	t.Helper()
	gputest.Sources(t, "kernels")
	if gputest.LeftOut != "" {
		t.Skip("left out: " + gputest.LeftOut)
	}
	m := must.Get(models.New(net))(t)
	o := Options{Precision: precision, Batch: batch, EvalBatch: 2}
	e := must.Get(openEngine(m, crowd.Samples(m, crowd.TrainSamples, 1), crowd.Samples(m, 5, 2), o))(t)
	defer e.Close()
	clip := 1.5
	c := newRound(t, e, m, min(clients, 2), batch, &clip)
	c.work.Clients = c.work.Clients[:clients]
	// a catalogue's initial weights have a revision of their own
	for i, b := range []nets.Bank{c.start, c.momentum, c.drift} {
		for r := range b.Rows() {
			must.OK(t, e.Load(nets.Row{Bank: b, Index: r}, scattered(m, 10*i+r, []float64{1, 1. / 8, 1. / 8}[i])))
		}
	}
	loss, rows := c.train(t)
	d.Add(loss, rows)
	mean := nets.Row{Bank: c.drift}
	var ends []nets.Row
	for _, w := range c.work.Clients {
		ends = append(ends, w.End)
	}
	must.OK(t, e.Combine(mean, []float64{0.4, 0.3, 0.2, 0.1}[:clients], ends))
	must.OK(t, e.CombineBuffers(mean, []float64{0.4, 0.3, 0.2, 0.1}[:clients], ends))
	d.Add(load(t, e, mean), must.Get(nets.Norm(e, mean))(t))
	jobs := []nets.EvalJob{{Row: ends[0], Part: nets.Train, Index: []int32{3}}}
	if clients > 1 {
		jobs = append(jobs, nets.EvalJob{Row: mean, Part: nets.Test})
	}
	for _, r := range must.Get(e.Evaluate(t.Context(), jobs))(t) {
		d.Add(r.N, r.Correct, r.Loss)
	}
}

// scattered returns weights of a usual size, made by arithmetic so that no random generator is part of the revision.
// Scales of normalisations and running variances are near 1.
func scattered(m *models.Model, number int, size float64) []float32 {
	w := make([]float32, m.P)
	for _, p := range m.Params {
		bound, centre := 0.125, 0.0
		if len(p.Shape) > 1 {
			bound = math.Sqrt(6 / float64(p.FanIn))
		} else if strings.HasSuffix(p.Name, "running_var") || strings.HasSuffix(p.Name, ".weight") {
			centre = 1
		}
		for j := range p.Size {
			at := uint32(p.Offset+j)*0x9E3779B1 + uint32(number)*0x85EBCA6B
			at ^= at >> 15
			w[p.Offset+j] = float32((centre + bound*(float64(at*0x2C1B3C6D)*0x1p-31-1)) * size)
		}
	}
	return w
}
