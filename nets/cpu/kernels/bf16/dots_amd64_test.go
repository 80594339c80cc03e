package bf16

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/nets/cpu/kernels/asm"
)

// byLanes returns an instruction that computes every lane with a function.
func byLanes(dot func(sum float32, x, y uint32) float32) func(sum *[16]float32, x, y *[16]uint32) {
	return func(sum *[16]float32, x, y *[16]uint32) {
		for l := range sum {
			sum[l] = dot(sum[l], x[l], y[l])
		}
	}
}

// TestDots holds the processor's instruction to the model, and wants instructions that compute anything else found out.
func TestDots(t *testing.T) {
	number := func(x uint32) float32 { return flush(math.Float32frombits(x & 0xffff0000)) }
	for what, wrong := range map[string]func(sum float32, x, y uint32) float32{
		"nothing":          func(sum float32, _, _ uint32) float32 { return sum },
		"lower half first": func(sum float32, x, y uint32) float32 { return dot(sum, x<<16|x>>16, y<<16|y>>16) },
		"products added first": func(sum float32, x, y uint32) float32 {
			return flush(flush(sum) + multiplyAdd(number(x), number(y), number(x<<16)*number(y<<16)))
		},
		"rounded once": func(sum float32, x, y uint32) float32 {
			exact := float64(number(x))*float64(number(y)) + float64(number(x<<16))*float64(number(y<<16))
			return flush(float32(exact + float64(flush(sum))))
		},
		"subnormal operands": func(sum float32, x, y uint32) float32 {
			plain := func(x uint32) float32 { return math.Float32frombits(x & 0xffff0000) }
			return multiplyAdd(plain(x<<16), plain(y<<16), multiplyAdd(plain(x), plain(y), sum))
		},
		"subnormal results": func(sum float32, x, y uint32) float32 {
			s := float32(float64(number(x))*float64(number(y)) + float64(flush(sum)))
			return float32(float64(number(x<<16))*float64(number(y<<16)) + float64(s))
		},
	} {
		if err := testDots(byLanes(wrong)); err == nil {
			t.Errorf("an instruction with %s: no error", what)
		}
	}
	if err := testDots(byLanes(dot)); err != nil {
		t.Errorf("the model itself: %v", err)
	}
	if !hasDots {
		t.Skip("the processor has no AVX512_BF16: only the model was tested")
	}
	if err := testDots(asm.DotAVX512BF16); err != nil {
		t.Error(err)
	}
}

// TestDotsLost wants a processor whose instruction computes something else to do without it, and to say so.
func TestDotsLost(t *testing.T) {
	if !hasDots {
		t.Skip("the processor has no AVX512_BF16")
	}
	before := canPair
	t.Cleanup(func() { canPair = before })
	canPair = func() (bool, string) { return decidePair(byLanes(func(float32, uint32, uint32) float32 { return 1 })) }
	modes(t, func(t *testing.T, split bool) {
		isPaired := func(k Kernels[float32]) bool { _, ok := k.(paired); return ok }
		if have := Variants(split); slices.ContainsFunc(have, isPaired) || have[2].Name() != "avx512" {
			t.Errorf("variants %v, want avx512 in place of avx512bf16", have)
		}
	})
	if lost := Lost(); !strings.Contains(lost, "AVX512_BF16: VDPBF16PS of ") || strings.Contains(lost, "\n") {
		t.Errorf("lost %q, want one line about VDPBF16PS", lost)
	}
}
