package gpu

import (
	"slices"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/sass"
)

// Every kernel has its registers and instructions for every architecture of the table, and those of the nearest lower
// one for another. A profile gives a kernel the name that it has in its module.
func TestMachineCode(t *testing.T) {
	table := must.Get(sass.ReadTable([]byte(limits)))(t)
	names := 0
	for _, m := range kernels.Modules() {
		for _, kernel := range m.Kernels {
			names++
			for engine, target := range map[string]string{
				"cuda-sm80": "sm_80", "cuda-sm90": "sm_90", "cuda-sm120": "sm_120",
				"cuda-sm86": "sm_80", "cuda-sm89": "sm_80", "cuda-sm100": "sm_90", "cuda-sm121": "sm_120",
			} {
				want := table[sass.Key{Kernel: kernel, Target: target}]
				registers, instructions, ok := MachineCode(engine, kernel)
				if !ok || registers == 0 || instructions == 0 || registers != want["registers"] ||
					instructions != want["instructions"] {
					t.Errorf("%s, %s: got %d, %d, %v, want %v", kernel, engine, registers, instructions, ok, want)
				}
			}
		}
	}
	if names < 50 {
		t.Errorf("%d kernels, want all", names)
	}
	for engine, kernels := range map[string][]string{
		"cuda-sm90": {"upload", "memset", "download", "kernel", ""}, "cuda-sm75": {"sgd"}, "cpu-avx2": {"sgd"}, "": {"sgd"},
	} {
		if i := slices.IndexFunc(kernels, func(k string) bool { _, _, ok := MachineCode(engine, k); return ok }); i >= 0 {
			t.Errorf("%q, %q: got numbers, want none", engine, kernels[i])
		}
	}
}
