package reference

import (
	"fmt"
	"testing"
)

// The loop runs with every variant, on any number of threads, whatever the processor has.
func TestRun(t *testing.T) {
	for _, variant := range []string{"generic", "avx2", "avx512", "avx512bf16", "amx", "unknown"} {
		for _, threads := range []int{-1, 0, 1, 3} {
			l := New(variant, threads)
			took := l.Run()
			// No processor has done 10 TFLOP/s on one core, and one of 10 MFLOP/s would be older than AVX.
			if rate := l.FLOP() / took.Seconds(); rate < 1e7 || rate > 1e13 {
				t.Errorf("%s, %d threads: %v for %g FLOP, %g FLOP/s, want 1e7 … 1e13", variant, threads, took,
					l.FLOP(), rate)
			}
		}
	}
}

// BenchmarkLoop says what a call takes, and the arithmetic of one thread.
func BenchmarkLoop(b *testing.B) {
	for _, variant := range []string{"generic", "avx2", "avx512"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", variant, threads), func(b *testing.B) {
				l := New(variant, threads)
				var sum float64
				n := 0
				for b.Loop() {
					sum += l.FLOP() / l.Run().Seconds()
					n++
				}
				b.ReportMetric(sum/float64(n)/1e9, "GFLOP/s")
			})
		}
	}
}
