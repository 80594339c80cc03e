package bf16

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"

	"rollcall/nets/cpu/kernels/asm"
	"rollcall/nets/cpu/kernels/bf16/permit"
)

// Variants returns every variant this processor can run, the slowest first; split asks for bf16x3 in place of bf16.
func Variants(split bool) []Kernels[float32] {
	have := []Kernels[float32]{Generic[float32](split)}
	if asm.HasAVX2() {
		have = append(have, avx2(split))
	}
	if asm.HasAVX512() {
		have = append(have, avx512(split))
		if pairs, _ := canPair(); pairs {
			have = append(have, paired{split, dots{}})
			if !asm.DotsAreFast() {
				slices.Reverse(have[len(have)-2:])
			}
		}
		if ok, _ := permit.AMX(); ok {
			have = append(have, amx{split})
		}
	}
	return have
}

// Lost returns why the fastest instructions of this processor are not used, in one line. It is empty if all is well.
func Lost() string {
	_, tiles := permit.AMX()
	_, pairs := canPair()
	return strings.Join(slices.DeleteFunc([]string{tiles, pairs}, func(s string) bool { return s == "" }), "; ")
}

// hasDots is whether the processor has AVX512_BF16, whatever a test makes of package cpu later.
var hasDots = asm.HasAVX512() && cpu.X86.HasAVX512BF16

// canPair returns whether the processor has AVX512_BF16, and computes with it what the model of it does. If it does
// not, lost says so in one line.
var canPair = sync.OnceValues(func() (ok bool, lost string) { return decidePair(asm.DotAVX512BF16) })

// decidePair is [canPair] with an instruction in place of the processor's.
func decidePair(instruction func(sum *[16]float32, x, y *[16]uint32)) (ok bool, lost string) {
	if !hasDots {
		return false, ""
	}
	if err := testDots(instruction); err != nil {
		return false, "AVX512_BF16: " + err.Error()
	}
	return true, ""
}

// testDots compares an instruction with [dot], on random numbers of all kinds: sums that are ties, cancel or become
// subnormal, and operands that are subnormal, infinite or NaN.
func testDots(instruction func(sum *[16]float32, x, y *[16]uint32)) error {
	r := rand.New(rand.NewPCG(1, 2))
	var x, y [16]uint32
	var sum, got [16]float32
	for i := range 400 {
		for l := range sum {
			x[l], y[l], sum[l] = r.Uint32(), r.Uint32(), math.Float32frombits(r.Uint32())
			switch i % 4 {
			case 1: // the exponents near that of 1, and few digits: ties, and sums that cancel
				x[l], y[l] = x[l]&0x80708070|0x3f003f00, y[l]&0x80708070|0x3f003f00
				sum[l] = math.Float32frombits(math.Float32bits(sum[l])&0x83800003 | 0x3c000000)
			case 2: // products near the subnormal numbers
				x[l], y[l] = x[l]&0x807f807f|0x20002000, y[l]&0x807f807f|0x20002000
				sum[l] = math.Float32frombits(math.Float32bits(sum[l]) & 0x81ffffff)
			case 3: // operands that are subnormal, or large
				x[l], y[l] = x[l]&0x80ff80ff, y[l]|0x40004000
			}
		}
		got = sum
		instruction(&got, &x, &y)
		for l, g := range got {
			want := dot(sum[l], x[l], y[l])
			if math.Float32bits(g) != math.Float32bits(want) && (g == g || want == want) {
				return fmt.Errorf("VDPBF16PS of %#x, %#x and %#x is %#x on this processor, want %#x", x[l], y[l],
					math.Float32bits(sum[l]), math.Float32bits(g), math.Float32bits(want))
			}
		}
	}
	return nil
}
