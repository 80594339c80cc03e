package kernels

import (
	"testing"

	"rollcall/nets/cpu/kernels/asm"
)

// BenchmarkPeak measures the most multiply-adds a core can do.
func BenchmarkPeak(b *testing.B) {
	for _, k := range Variants()[1:] {
		b.Run(k.Name(), func(b *testing.B) {
			peak, lanes := asm.FMAPeakAVX2, 8
			if k.Name() == "avx512" {
				peak, lanes = asm.FMAPeakAVX512, 16
			}
			const rounds = 10000
			for b.Loop() {
				peak(rounds)
			}
			reportFLOP(b, rounds*asm.PeakFMAs*2*lanes)
		})
	}
}
