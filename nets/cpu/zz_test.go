package cpu

import (
	"os"
	"testing"

	"rollcall/nets/cpu/kernels"
)

func BenchmarkZZ(b *testing.B) {
	batch := 128
	if os.Getenv("NET")[:3] == "res" {
		batch = 64
	}
	l := newTimedLoad(b, os.Getenv("NET"), kernels.Precision(os.Getenv("PREC")), 1, batch, 1)
	l.train(b)
	var ts []float64
	for b.Loop() {
		before := processorTime(b)
		l.train(b)
		ts = append(ts, 1e3*(processorTime(b)-before).Seconds())
	}
	b.ReportMetric(median(ts), "ms")
}
