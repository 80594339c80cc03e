package cli

import (
	"errors"
	"strings"
	"testing"

	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16"
)

// fakeProducts are products under another name.
type fakeProducts struct {
	bf16.Kernels[float32]
	name string
}

func (f fakeProducts) Name() string { return f.name }

func TestKernelsOf(t *testing.T) {
	var names []string
	for _, k := range kernels.Variants() {
		names = append(names, k.Name())
	}
	generic, of := kernels.Variants()[0], "(of "+strings.Join(names, ", ")+")"
	forced := errors.New("cpu: ROLLCALL_CPU=amx: not in fp32")
	amx := kernels.Choice{Kernels: generic, Products: fakeProducts{name: "amx"}}
	avx512 := kernels.Choice{Kernels: generic, Products: fakeProducts{name: "avx512"}}
	lost := avx512
	lost.Lost = "AMX: arch_prctl: operation not permitted"
	fp32 := kernels.Choice{Kernels: generic}
	type answer struct {
		kernels.Choice
		error
	}
	for _, c := range []struct {
		name               string
		fp32, bf16, bf16x3 answer
		want               string
	}{
		{
			"amx",
			answer{fp32, nil},
			answer{amx, nil},
			answer{amx, nil},
			"kernels generic " + of + "; bf16 and bf16x3: amx",
		},
		{
			"amx that the system forbids",
			answer{fp32, nil},
			answer{lost, nil},
			answer{lost, nil},
			"kernels generic " + of + "; bf16 and bf16x3: avx512 (AMX: arch_prctl: operation not permitted)",
		},
		{
			"two variants",
			answer{fp32, nil},
			answer{amx, nil},
			answer{avx512, nil},
			"kernels generic " + of + "; bf16: amx; bf16x3: avx512",
		},
		{
			"amx alone",
			answer{error: forced},
			answer{amx, nil},
			answer{amx, nil},
			"kernels none (cpu: ROLLCALL_CPU=amx: not in fp32) " + of + "; bf16 and bf16x3: amx",
		},
		{"none", answer{error: errors.New("one")}, answer{error: errors.New("two")}, answer{error: forced}, ""},
	} {
		got, err := kernelsOf(func(p kernels.Precision) (kernels.Choice, error) {
			a := map[kernels.Precision]answer{kernels.FP32: c.fp32, kernels.BF16: c.bf16, kernels.BF16x3: c.bf16x3}[p]
			return a.Choice, a.error
		})
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}
