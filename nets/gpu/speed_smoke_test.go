//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

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
