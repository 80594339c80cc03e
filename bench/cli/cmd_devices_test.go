package cli

import (
	"errors"
	"strings"
	"testing"

	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/bf16"
)

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
	const forced, lost = "cpu: ROLLCALL_CPU=amx: not in fp32", "AMX: arch_prctl: operation not permitted"
	for _, c := range []struct {
		name               string
		fp32, bf16, bf16x3 string // the variant of each precision, and what is lost with it, or an error behind "!"
		want               string // empty: an error
	}{
		{"amx", "generic", "amx", "amx", "kernels generic " + of + "; bf16 and bf16x3: amx"},
		{
			"amx that the system forbids", "generic", "avx512 " + lost, "avx512 " + lost,
			"kernels generic " + of + "; bf16 and bf16x3: avx512 (" + lost + ")",
		},
		{"two variants", "generic", "amx", "avx512", "kernels generic " + of + "; bf16: amx; bf16x3: avx512"},
		{"amx alone", "!" + forced, "amx", "amx", "kernels none (" + forced + ") " + of + "; bf16 and bf16x3: amx"},
		{"none", "!one", "!two", "!" + forced, ""},
	} {
		got, err := kernelsOf(func(p kernels.Precision) (kernels.Choice, error) {
			of := map[kernels.Precision]string{kernels.FP32: c.fp32, kernels.BF16: c.bf16, kernels.BF16x3: c.bf16x3}
			if text, failed := strings.CutPrefix(of[p], "!"); failed {
				return kernels.Choice{}, errors.New(text)
			}
			choice := kernels.Choice{Kernels: generic}
			if name, lost, _ := strings.Cut(of[p], " "); name != "generic" {
				choice.Products, choice.Lost = fakeProducts{name: name}, lost
			}
			return choice, nil
		})
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}
