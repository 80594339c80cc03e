package cpu

import (
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

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
