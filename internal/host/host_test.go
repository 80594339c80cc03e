package host

import (
	"runtime"
	"strings"
	"testing"
)

// The two roundings must tell apart: x·y is 1 when it is rounded by itself, and below 1 by 2⁻¹⁰⁴ when it is not.
func TestName(t *testing.T) {
	x, y := 1+0x1p-52, 1-0x1p-52
	if got := float64(x * y); got != 1 {
		t.Errorf("%.17g · %.17g is rounded to %.17g, want 1", x, y, got)
	}
	got := Name()
	if !strings.HasPrefix(got, runtime.GOARCH) {
		t.Errorf("%q, want %s first", got, runtime.GOARCH)
	}
	if runtime.GOARCH == "arm64" && !fuses(x, y, -1) {
		t.Error("arm64 rounds products by themselves, want them fused, or its numbers could be of the class of amd64")
	}
}
