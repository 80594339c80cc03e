//go:build gpu && linux && cgo

package gpu

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
)

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
		for _, n := range []struct {
			net   string
			batch int
		}{{"lenet5", 3}, {"cnn-cifar10", 1}} {
			launchDigests(t, known, c.name+" "+n.net, n.net, c.precision, n.batch)
		}
	}
	known.write(t)
}

// launchDigests runs the launches of the first step of one client, one after the other, and compares what each writes.
// A buffer is zero before its first launch, since kernels leave gaps.
func launchDigests(t *testing.T, known *digests, name, net string, precision Precision, batch int) {
	t.Helper()
	e, c := scatteredRound(t, net, precision, 1, batch)
	defer e.Close()
	must.Get(e.Train(t.Context(), c.work))(t) // makes the wave, and leaves its plan in memory
	c.scatter(t)
	for _, w := range e.waves {
		done, number := map[*buffer]bool{}, 0
		w.frames[0].step = 0
		must.OK(t, e.do(func() error { return e.clearGradients(w) }))
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
			must.OK(t, e.do(func() error { return e.enqueue(&w.frames[0], l, usage{}) }))
			number++
			at := fmt.Sprintf("%s launch %02d %s %s", name, number, l.kernel, l.layer)
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
