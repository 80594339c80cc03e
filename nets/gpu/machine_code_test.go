package gpu

import (
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
	for _, none := range []struct{ engine, kernel string }{
		{"cuda-sm90", "upload"}, {"cuda-sm90", "memset"}, {"cuda-sm90", "download"}, // copies
		{"cuda-sm90", "kernel"}, {"cuda-sm90", ""}, // the header is no kernel
		{"cuda-sm75", "sgd"}, {"cpu-avx2", "sgd"}, {"", "sgd"},
	} {
		if registers, instructions, ok := MachineCode(none.engine, none.kernel); ok {
			t.Errorf("%+v: got %d, %d, want none", none, registers, instructions)
		}
	}
}
