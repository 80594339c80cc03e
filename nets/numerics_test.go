package nets

import "testing"

func TestNumerics(t *testing.T) {
	for _, c := range []struct{ machine, engine, precision, want string }{
		{"amd64", "cpu-avx2", "fp32", "cpu-fp32"},
		{"amd64", "cpu-avx512", "fp32", "cpu-fp32"},
		{"amd64", "cpu-generic", "fp32", "cpu-generic-fp32"},
		{"amd64", "cpu-avx2", "bf16", "cpu-bf16"},
		{"amd64", "cpu-avx512", "bf16", "cpu-bf16"},
		{"amd64", "cpu-amx", "bf16", "cpu-bf16"},
		{"amd64", "cpu-generic", "bf16", "cpu-generic-bf16"},
		{"amd64", "cpu-avx2", "bf16x3", "cpu-bf16x3"},
		{"amd64", "cpu-avx512", "bf16x3", "cpu-bf16x3"},
		{"amd64", "cpu-amx", "bf16x3", "cpu-bf16x3"},
		{"amd64", "cpu-generic", "bf16x3", "cpu-generic-bf16x3"},
		{"amd64v3", "cpu-amx", "bf16", "cpu-bf16-amd64v3"},
		{"arm64", "cpu-generic", "fp32", "cpu-generic-fp32-arm64"},
		{"arm64", "cpu-generic", "bf16", "cpu-generic-bf16-arm64"},
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
		if got := numericsOn(c.machine, c.engine, c.precision); got != c.want {
			t.Errorf("%s, %s on %s: class %q, want %q", c.engine, c.precision, c.machine, got, c.want)
		}
	}
}
