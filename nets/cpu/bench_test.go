//go:build unix

package cpu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

// BenchmarkClientStep times the local steps of as many clients as there are threads, B = 128, residual nets 32 and 64.
func BenchmarkClientStep(b *testing.B) {
	for _, name := range models.Names() {
		for _, threads := range []int{1, 2} {
			batches := []int{128}
			if strings.HasPrefix(name, "resnet") {
				batches = []int{32, 64}
			}
			for _, batch := range batches {
				b.Run(fmt.Sprintf("net=%s/B=%d/threads=%d", name, batch, threads),
					func(b *testing.B) { clientStep(b, name, batch, threads) })
			}
		}
	}
}

func clientStep(b *testing.B, name string, B, threads int) {
	const E = 4
	l := newTimedLoad(b, name, "", E, B, threads)
	l.train(b) // builds the graphs
	steps, before := 0, processorTime(b)
	for b.Loop() {
		l.train(b)
		steps += E * threads
	}
	sec, busy := b.Elapsed().Seconds(), (processorTime(b) - before).Seconds()
	b.ReportMetric(1e3*sec/float64(steps), "ms/client-step")
	b.ReportMetric(1e3*busy/float64(steps), "processor-ms/client-step")
	b.ReportMetric(float64(steps*B)*l.engine.model.Train/sec/1e9, "GFLOP/s")
}

// processorTime returns the time that all threads of this process have run.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	must.OK(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timedLoad is an engine with work: E local steps of as many clients as there are threads.
type timedLoad struct {
	engine *Engine
	work   nets.LocalWork
}

func newTimedLoad(b *testing.B, name string, p kernels.Precision, E, B, threads int) *timedLoad {
	model := must.Get(models.New(name))(b)
	train := hashedSamples(model, 1024, testMean, testStd)
	e := must.Get(Open(model, train, nil, Options{Threads: threads, Batch: B, Precision: p}))(b)
	b.Cleanup(func() { must.OK(b, e.Close()) })
	bank := must.Get(e.NewBank(1 + threads))(b)
	start := rowOf(bank, 0)
	must.OK(b, e.Load(start, model.Init(models.Kaiming, 3)))
	own := make([]int32, train.Len())
	for i := range own {
		own[i] = int32(i)
	}
	planner := plan.Planner{Seed: 3, E: E, B: B, Augment: plan.AugmentPerSample, Flip: true}
	l := &timedLoad{engine: e, work: nets.LocalWork{LR: 0.01}}
	for k := range threads {
		planner.Parts = append(planner.Parts, own)
		l.work.Clients = append(l.work.Clients, nets.ClientWork{
			Client: k, Start: start, End: rowOf(bank, 1+k), Plan: planner.Client(0, k, 0),
		})
	}
	return l
}

func (l *timedLoad) train(b *testing.B) { must.Get(l.engine.Train(b.Context(), l.work))(b) }

// BenchmarkSmallRound times the local work of a round of CA-Fed on tabular data: 50 clients, ten steps of 32 samples
// each.
func BenchmarkSmallRound(b *testing.B) {
	for _, name := range []string{"linear-synthetic", "linear-binary"} {
		b.Run("net="+name, func(b *testing.B) {
			const K, E, B = 50, 10, 32
			model := must.Get(models.New(name))(b)
			e := must.Get(Open(model, hashedSamples(model, 1024, testMean, testStd), nil, Options{Batch: B}))(b)
			defer e.Close()
			bank := must.Get(e.NewBank(1 + K))(b)
			planner := plan.Planner{Seed: 3, E: E, B: B}
			for k := range K {
				own := make([]int32, 100)
				for i := range own {
					own[i] = int32((k*19 + i) % 1024)
				}
				planner.Parts = append(planner.Parts, own)
			}
			work, before := nets.LocalWork{LR: 0.01, WeightDecay: 0.01}, processorTime(b)
			for round := 0; b.Loop(); round++ {
				work.Clients = work.Clients[:0]
				for k := range K {
					work.Clients = append(work.Clients, nets.ClientWork{
						Client: k, Start: rowOf(bank, 0), End: rowOf(bank, 1+k),
						Plan: planner.Client(round, k, round*E),
					})
				}
				must.Get(e.Train(b.Context(), work))(b)
			}
			steps := float64(b.N * K * E)
			b.ReportMetric(1e6*b.Elapsed().Seconds()/steps, "µs/client-step")
			b.ReportMetric(1e6*(processorTime(b)-before).Seconds()/steps, "processor-µs/client-step")
		})
	}
}

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
