package nets

import (
	"runtime"
	"testing"
)

func TestNumerics(t *testing.T) {
	for _, c := range []struct{ host, engine, precision, want string }{
		{"amd64", "cpu-avx2", "fp32", "cpu-fp32"},
		{"amd64", "cpu-avx512", "fp32", "cpu-fp32"},
		{"amd64", "cpu-generic", "fp32", "cpu-generic-fp32"},
		{"arm64", "cpu-generic", "fp32", "cpu-generic-fp32-arm64"},
		{"amd64v3", "cpu-avx2", "fp32", "cpu-fp32-amd64v3"},
		{"amd64nofma", "cpu-generic", "fp32", "cpu-generic-fp32-amd64nofma"},
		{"amd64", "cuda-sm80", "fp32", "cuda-fp32"},
		{"amd64", "cuda-sm90", "fp32", "cuda-fp32"},
		{"arm64", "cuda-sm90", "fp32", "cuda-fp32-arm64"},
		{"amd64", "cuda-sm90", "tf32", "cuda-sm90-tf32"},
		{"amd64", "cuda-sm90", "bf16", "cuda-sm90-bf16"},
		{"amd64", "cuda-sm120", "tf32", "cuda-sm120-tf32"},
		{"arm64", "cuda-sm90", "tf32", "cuda-sm90-tf32-arm64"},
	} {
		if got := numericsOn(c.host, c.engine, c.precision); got != c.want {
			t.Errorf("%s, %s on %s: class %q, want %q", c.engine, c.precision, c.host, got, c.want)
		}
	}
}

// The numbers of fuses must tell the two apart: with one rounding their sum is −2⁻¹⁰⁴.
func TestHost(t *testing.T) {
	x, y := 1+0x1p-52, 1-0x1p-52
	if got := float64(x * y); got != 1 {
		t.Errorf("%g · %g is rounded to %g, want 1", x, y, got)
	}
	if runtime.GOARCH == "arm64" && !fuses(x, y, -1) {
		t.Error("arm64 does not fuse multiply and add, want it to: arm64 could be of the class of amd64")
	}
	if got := host(); runtime.GOARCH == "arm64" && got != "arm64" || runtime.GOARCH == "amd64" && got[:5] != "amd64" {
		t.Errorf("host %q on %s", got, runtime.GOARCH)
	}
}
