package bf16

import "rollcall/nets/cpu/kernels/asm"

func init() {
	if asm.HasAVX512() {
		otherwise = func(split bool) []Kernels[float32] {
			k := avx512(split)
			k.name, k.halves = "avx512, other halves", !k.halves
			return []Kernels[float32]{k}
		}
	}
}
