package bf16

import (
	"slices"
	"strings"

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
