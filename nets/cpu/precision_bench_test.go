//go:build unix

package cpu

import (
	"fmt"
	"slices"
	"testing"

	"rollcall/nets/cpu/kernels"
)

// BenchmarkPrecision compares the precisions on this processor: one local step in each, in turn, so that what else the
// machine does slows all of them down. It reports medians: the processor time of a client-step in each precision, in
// ms, and how many times as fast as fp32 the others are in the same turn. Take -benchtime 30x or more.
func BenchmarkPrecision(b *testing.B) {
	for _, net := range []string{"cnn-cifar10", "cnn-svhn", "cnn-cinic10", "lenet5", "resnet20"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("net=%s/threads=%d", net, threads), func(b *testing.B) {
				precisions := []kernels.Precision{kernels.FP32, kernels.BF16, kernels.BF16x3}
				times, ratios := make([][]float64, len(precisions)), make([][]float64, len(precisions))
				var loads []*timedLoad
				for _, p := range precisions {
					loads = append(loads, newTimedLoad(b, net, p, 1, 128, threads))
					loads[len(loads)-1].train(b) // builds the graphs
				}
				for b.Loop() {
					for i, l := range loads {
						before := processorTime(b)
						l.train(b)
						ms := 1e3 * (processorTime(b) - before).Seconds() / float64(threads)
						times[i] = append(times[i], ms)
						ratios[i] = append(ratios[i], times[0][len(times[0])-1]/ms)
					}
				}
				for i, p := range precisions {
					b.ReportMetric(median(times[i]), string(p)+"-ms")
					if i > 0 {
						b.ReportMetric(median(ratios[i]), string(p)+"-times-fp32")
					}
				}
			})
		}
	}
}

// median returns the element in the middle of x, which it sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
