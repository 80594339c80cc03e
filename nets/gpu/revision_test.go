//go:build gpu && linux && cgo

package gpu

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/models"
)

// arithmetics are the precisions and the tensor cores that have bits of their own.
var arithmetics = []struct {
	name       string
	precision  Precision
	capability string // for the emulator
}{
	{"cuda-fp32", FP32, "9.0"},
	{"cuda-sm90-tf32", TF32, "9.0"},
	{"cuda-sm90-bf16", BF16, "9.0"},
	{"cuda-sm80-tf32", TF32, "8.0"},
	{"cuda-sm80-bf16", BF16, "8.0"},
}

// The engine's revision stands for the bits of a round of four clients and an evaluation, in every precision; what the
// engine does with running statistics has the revision of the nets that have them. In fp32 every card computes the same
// bits. In tf32 and bf16 the tensor cores of 8.x and those of 9.0 and later have bits of their own, which the emulator
// computes for both and a real card for its own.
func TestRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	known := readDigests(t)
	var entries []revisiontest.Entry
	for _, c := range arithmetics {
		var plain, normed revisiontest.Digest // of nets without and with batch normalisation
		if c.precision == FP32 || computes(t, c.capability) {
			t.Setenv("ROLLCALL_EMULATOR_CAPABILITY", c.capability)
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
					say := func(what string, values ...any) {
						d.Add(values...)
						known.compare(t, c.name+" "+n.net+" "+what, values...)
					}
					engineInto(t, say, n.net, c.precision, n.clients, n.batch)
				}
			}
			t.Logf("%s: %s, with batch normalisation %s", c.name, plain.String(), normed.String())
		}
		entries = append(entries, revisiontest.Entry{
			Name: c.name, Revision: Revision, Where: "engine.go", Digest: plain.String(),
		}, revisiontest.Entry{
			Name: c.name + "-batch-norm", Revision: models.Revision("resnet20"), Where: "resnet.go",
			Digest: normed.String(),
		})
	}
	known.write(t)
	revisiontest.Check(t, "testdata/revisions", entries)
}

// computes reports whether tensor cores of a capability are at hand: those of the real card, or any on the emulator,
// which takes its time.
func computes(t *testing.T, capability string) bool {
	t.Helper()
	if !gputest.Real() {
		return !testing.Short()
	}
	all := must.Get(driver.Devices())(t)
	return len(all) > 0 && (all[0].Major >= 9) == (capability == "9.0")
}

// engineInto trains the first clients of a round and says the rows, their sum, its norm and its evaluation. It takes
// two steps, or one for a single client, since the emulator is slow.
func engineInto(
	t *testing.T, say func(what string, values ...any), net string, precision Precision, clients, batch int,
) {
	t.Helper()
	e, c := scatteredRound(t, net, precision, clients, batch)
	defer e.Close()
	loss, rows := c.train(t)
	say("training", loss, rows)
	mean := nets.Row{Bank: c.drift}
	var ends []nets.Row
	for _, w := range c.work.Clients {
		ends = append(ends, w.End)
	}
	must.OK(t, e.Combine(mean, []float64{0.4, 0.3, 0.2, 0.1}[:clients], ends))
	must.OK(t, e.CombineBuffers(mean, []float64{0.4, 0.3, 0.2, 0.1}[:clients], ends))
	say("mean", load(t, e, mean), must.Get(nets.Norm(e, mean))(t))
	jobs := []nets.EvalJob{{Row: ends[0], Part: nets.Train, Index: []int32{3}}}
	if clients > 1 {
		jobs = append(jobs, nets.EvalJob{Row: mean, Part: nets.Test})
	}
	var results []any
	for _, r := range must.Get(e.Evaluate(t.Context(), jobs))(t) {
		results = append(results, r.N, r.Correct, r.Loss)
	}
	say("evaluation", results...)
}

// scatteredRound opens an engine and makes a round of the first clients, whose rows are made by arithmetic.
func scatteredRound(t *testing.T, net string, precision Precision, clients, batch int) (*Engine, *round) {
	t.Helper()
	gputest.Need(t, "kernels")
	m := must.Get(models.New(net))(t)
	o := Options{Precision: precision, Batch: batch, EvalBatch: 2}
	e := must.Get(openEngine(m, crowd.Samples(m, crowd.TrainSamples, 1), crowd.Samples(m, 5, 2), o))(t)
	clip := 1.5
	c := newRound(t, e, m, min(clients, 2), batch, &clip)
	c.work.Clients = c.work.Clients[:clients]
	c.scatter(t)
	return e, c
}

// scatter fills the rows of a round: a catalogue's initial weights have a revision of their own.
func (c *round) scatter(t *testing.T) {
	t.Helper()
	for i, b := range []nets.Bank{c.start, c.momentum, c.drift} {
		for r := range b.Rows() {
			w := scattered(c.model, 10*i+r, []float64{1, 1. / 8, 1. / 8}[i])
			must.OK(t, c.engine.Load(nets.Row{Bank: b, Index: r}, w))
		}
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

// testdata/digests has what testdata/revisions has in pieces, so that a card whose bits are others says which net
// differs, and which launch of a step is the first one to differ. Its lines are "key: digest".
const digestsFile = "testdata/digests"

const digestsHeader = "# digests of what the emulator computes, piece by piece; rewritten with -update\n"

type digests struct {
	recorded, seen map[string]string
	differ         []string // keys, in the order of the computation
}

func readDigests(t *testing.T) *digests {
	t.Helper()
	d := &digests{map[string]string{}, map[string]string{}, nil}
	b, err := os.ReadFile(digestsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if key, digest, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			d.recorded[key] = digest
		}
	}
	return d
}

// compare logs the digest of values, and whether it is the recorded one.
func (d *digests) compare(t *testing.T, key string, values ...any) {
	t.Helper()
	var sum revisiontest.Digest
	sum.Add(values...)
	d.seen[key] = sum.String()
	switch want := d.recorded[key]; want {
	case sum.String():
		t.Logf("%s: %s, equal", key, want)
	case "":
		t.Logf("%s: %s, not recorded", key, sum.String())
	default:
		d.differ = append(d.differ, key)
		t.Logf("%s: %s, DIFFERENT from the recorded %s", key, sum.String(), want)
	}
}

// write says what differs first, or on the emulator with -update writes what was computed.
func (d *digests) write(t *testing.T) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" && !gputest.Real() {
		maps.Copy(d.recorded, d.seen)
		text := bytes.NewBufferString(digestsHeader)
		for _, key := range slices.Sorted(maps.Keys(d.recorded)) {
			fmt.Fprintf(text, "%s: %s\n", key, d.recorded[key])
		}
		must.OK(t, os.WriteFile(digestsFile, text.Bytes(), 0o644))
		return
	}
	if len(d.differ) > 0 {
		t.Errorf("%s: %d of %d digests differ, first %s; all: %s",
			digestsFile, len(d.differ), len(d.seen), d.differ[0], strings.Join(d.differ, ", "))
	}
}

// Launch by launch, a step of two nets writes the recorded bytes. Where a card's do not, the first launch that differs
// is named.
func TestLaunchDigests(t *testing.T) {
	revisiontest.Recorded(t)
	known := readDigests(t)
	for _, c := range arithmetics {
		if c.precision != FP32 && !computes(t, c.capability) {
			continue
		}
		t.Setenv("ROLLCALL_EMULATOR_CAPABILITY", c.capability)
		arch := 10 * int(c.capability[0]-'0')
		for _, n := range []struct {
			net   string
			batch int
		}{{"lenet5", 3}, {"cnn-cifar10", 1}} {
			launchDigests(t, known, c.name+" "+n.net, n.net, c.precision, n.batch, arch)
		}
	}
	known.write(t)
}

// launchDigests runs the launches of the first step of one client, one after the other, and compares what each writes.
// A buffer is zero before its first launch, since kernels leave gaps. The emulator, whose kernels g++ compiles, must
// write what the interpreter of the committed PTX writes.
func launchDigests(t *testing.T, known *digests, name, net string, precision Precision, batch, arch int) {
	t.Helper()
	e, c := scatteredRound(t, net, precision, 1, batch)
	defer e.Close()
	must.Get(e.Train(t.Context(), c.work))(t) // makes the wave, and leaves its plan in memory
	c.scatter(t)
	for _, w := range e.waves {
		done, number := map[*buffer]bool{}, 0
		w.frames[0].step = 0
		must.OK(t, e.do(func() error { return errors.Join(e.clearGradients(w), e.stream.Synchronize()) }))
		for _, l := range slices.Concat([]launch{w.program.weights}, w.program.launches) {
			var written []*buffer
			for _, b := range l.access.writes {
				if _, ok := w.frames[0].buffers[b]; !ok {
					continue
				}
				written = append(written, b)
				if !done[b] {
					done[b] = true
					zero(t, e, w.frames[0].buffers[b], b.n*b.size)
				}
			}
			var interpreted ptx.Memory
			if !gputest.Real() {
				interpreted = interpret(t, e, &w.frames[0], l, arch)
			}
			must.OK(t, e.do(func() error {
				return errors.Join(e.enqueue(&w.frames[0], l, usage{}), e.stream.Synchronize())
			}))
			number++
			at := fmt.Sprintf("%s launch %02d %s %s", name, number, l.kernel, l.layer)
			if interpreted != nil { // a card's memory is not this process's
				for i, piece := range memoryOf(e) {
					if !bytes.Equal(piece.Bytes, interpreted[i].Bytes) {
						t.Errorf("%s: the interpreter of the PTX writes other bytes", at)
					}
				}
			}
			for _, b := range written {
				known.compare(t, at+" → "+b.name, bytesAt(t, e, w.frames[0].buffers[b], b.n*b.size))
			}
			if len(written) < len(l.access.writes) { // the rows of the client
				row := c.work.Clients[0]
				known.compare(t, at+" → rows", load(t, e, row.End), load(t, e, row.Momentum),
					bytesAt(t, e, w.frames[0].grad, 4*w.program.gradients.size()))
			}
		}
	}
}

// interpret runs a launch on a copy of the engine's memory, by the interpreter of the PTX, and returns the copy.
func interpret(t *testing.T, e *Engine, f *frame, l launch, arch int) ptx.Memory {
	t.Helper()
	memory := memoryOf(e)
	for i := range memory {
		memory[i].Bytes = bytes.Clone(memory[i].Bytes)
	}
	module, _ := kernels.Find(l.kernel)
	g := l.geometry(f.capacity)
	must.Get(must.Get(ptx.Parse(module.PTX))(t).Kernel(l.kernel).Run(ptx.Launch{
		Grid: [2]int{g.X, f.capacity}, Threads: g.Threads, Shared: g.Shared, Args: l.args(f), Arch: arch,
	}, memory))(t)
	return memory
}

// zero clears memory of the device.
func zero(t *testing.T, e *Engine, at uint64, bytes int) {
	t.Helper()
	must.OK(t, e.do(func() error { return e.device.CopyToDevice(driver.Ptr(at), make([]byte, bytes)) }))
}

// bytesAt returns a copy of memory of the device.
func bytesAt(t *testing.T, e *Engine, at uint64, bytes int) []byte {
	t.Helper()
	all := make([]byte, bytes)
	must.OK(t, e.do(func() error { return e.device.CopyFromDevice(all, driver.Ptr(at)) }))
	return all
}
