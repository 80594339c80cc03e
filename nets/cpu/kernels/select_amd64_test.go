package kernels

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/cpu"

	"rollcall/nets/cpu/kernels/bf16/permit"
	"rollcall/nets/cpu/kernels/bf16/tiles"
)

// TestSelectLost selects a variant on a processor with AMX whose operating system refuses it.
func TestSelectLost(t *testing.T) {
	x := &cpu.X86
	if !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL {
		t.Skip("this processor has no AVX-512")
	}
	before := *x
	x.HasAMXTile, x.HasAMXBF16, x.HasAVX512BF16 = true, true, true
	undo := permit.Pretend(func() uint64 { return permit.TileState }, func() error { return syscall.EPERM })
	t.Cleanup(func() {
		*x = before
		undo()
	})
	const lost = "AMX: operation not permitted"
	for _, p := range []Precision{BF16, BF16x3} {
		t.Setenv("ROLLCALL_CPU", "")
		got, err := Select(p)
		if err != nil || !strings.HasPrefix(got.Name(), "avx512") || got.Lost != lost {
			t.Errorf("%s: got %s, lost %q (%v), want one of AVX-512, lost %q", p, got.Name(), got.Lost, err, lost)
		}
		t.Setenv("ROLLCALL_CPU", "avx2")
		if got, err := Select(p); err != nil || got.Name() != "avx2" || got.Lost != "" {
			t.Errorf("%s: ROLLCALL_CPU=avx2: got %s, lost %q (%v), want avx2, nothing lost",
				p, got.Name(), got.Lost, err)
		}
		t.Setenv("ROLLCALL_CPU", "amx")
		want := "cpu: ROLLCALL_CPU=amx: " + lost + ", want generic or avx2 or avx512"
		if _, err := Select(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: ROLLCALL_CPU=amx: got error %v, want %q …", p, err, want)
		}
	}
	t.Setenv("ROLLCALL_CPU", "")
	if got, err := Select(FP32); err != nil || got.Lost != "" {
		t.Errorf("fp32: lost %q (%v), want nothing", got.Lost, err)
	}
}

// TestSelectAMX selects AMX, which has no kernels but its products: the others are those for AVX-512.
func TestSelectAMX(t *testing.T) {
	if ok, why := tiles.Install(); !ok {
		t.Skip(why)
	}
	t.Cleanup(tiles.Remove)
	for _, p := range []Precision{BF16, BF16x3} {
		for _, forced := range []string{"", "amx"} {
			t.Setenv("ROLLCALL_CPU", forced)
			got, err := Select(p)
			if err != nil || got.Name() != "amx" || got.Kernels.Name() != "avx512" || got.Lost != "" {
				t.Errorf("%s: ROLLCALL_CPU=%s: got %s, kernels %s, lost %q (%v), want amx, avx512, nothing lost",
					p, forced, got.Name(), got.Kernels.Name(), got.Lost, err)
			}
		}
	}
}
