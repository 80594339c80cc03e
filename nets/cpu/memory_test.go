package cpu

import (
	"fmt"
	"runtime"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/models"
)

// What an engine is said to hold is what the heap grows by when it trains and evaluates, whatever the net, the threads
// and the precision. 3 % are for statistics of channels and Gorgonia's nodes, 200 kB a thread for what it computes
// with. Where operands are rounded, a thread computes with 112,000 of their elements as well: it holds one panel of
// each operand and the transposed image of a convolution at a time, of the largest layer.
func TestCPUBytes(t *testing.T) {
	longtest.Only(t, "the heap after every net")
	longtest.Numbers(t)
	for _, net := range models.Names() {
		if net == "resnet18" && !longtest.On() {
			continue // the same ops as resnet20's, eleven times as long
		}
		for _, c := range []struct {
			threads, batch, clients, samples int
			precision                        kernels.Precision
		}{
			{1, 32, 1, 40, kernels.FP32},
			{3, 17, 2, 600, kernels.FP32},
			{3, 17, 2, 600, kernels.BF16},
			{1, 32, 1, 40, kernels.BF16x3},
		} {
			name := fmt.Sprintf("%s/threads=%d_B=%d_K=%d_%s", net, c.threads, c.batch, c.clients, c.precision)
			t.Run(name, func(t *testing.T) {
				m := must.Get(models.New(net))(t)
				train, test := hashedSamples(m, 40, testMean, testStd), hashedSamples(m, c.samples, testMean, testStd)
				o := Options{Threads: c.threads, Batch: c.batch, Precision: c.precision}
				w := hashedWeights(m)
				before := heap()
				e := must.Get(Open(m, train, test, o))(t)
				defer func() { must.OK(t, e.Close()) }()
				bank := rows(t, e, c.clients, w)
				work := nets.LocalWork{LR: 0x1p-6}
				for k := range c.clients {
					work.Clients = append(work.Clients, nets.ClientWork{
						Client: k, Start: rowOf(bank, k), End: rowOf(bank, k),
						Plan: hashedPlan(k, 1, c.batch, c.batch, 40),
					})
				}
				// In every slot that may have one of the clients or one of the units, whichever thread is quicker.
				e.pool.Enter()
				trained, evaluated := Load{c.clients, 1, c.samples}.slots(c.threads)
				for i := range trained {
					must.OK(t, must.Get(e.slots[i].machine(true))(t).run())
				}
				for i := range evaluated {
					must.OK(t, must.Get(e.slots[i].machine(false))(t).run())
				}
				e.pool.Leave()
				must.Get(e.Train(t.Context(), work))(t)
				must.Get(e.Evaluate(t.Context(), []nets.EvalJob{{Row: rowOf(bank, 0), Part: nets.Test}}))(t)
				got := heap() - before
				if size := 4 * m.P * c.clients; !MapsRows || size < mappedBytes { // or the bank is not in the heap
					got -= int64(size)
				}
				runtime.KeepAlive(bank)
				runtime.KeepAlive(w) // which is in both counts
				want := must.Get(Bytes(m, o, Load{c.clients, 1, c.samples}))(t)
				t.Logf("%d bytes held, estimate %d (%+.1f %%)", got, want, 100*(float64(want)/float64(got)-1))
				slack := int64(c.threads) * (200e3 + 112e3*int64(e.choice.OperandBytes()))
				if d := got - want; max(d, -d) > want/33+slack {
					t.Errorf("%d bytes held, want %d ± 3 %% and %d", got, want, slack)
				}
			})
		}
	}
}

// heap returns the bytes in use. Gorgonia's machines have finalizers, which a goroutine runs some time after a garbage
// collection: only the next collection frees them. So it waits for a finalizer of its own, which comes after theirs.
func heap() int64 {
	for range 3 {
		done := make(chan struct{})
		last := new([64]byte)
		runtime.SetFinalizer(last, func(*[64]byte) { close(done) })
		runtime.GC()
		<-done
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// A slot for every client and every unit of 512 samples, as long as there are threads.
func TestCPULoadSlots(t *testing.T) {
	for _, c := range []struct {
		load                     Load
		threads, train, evaluate int
	}{
		{Load{}, 4, 0, 0},
		{Load{Clients: 3, Jobs: 1, Samples: 1}, 4, 3, 1},
		{Load{Clients: 9, Jobs: 1, Samples: 512}, 4, 4, 1},
		{Load{Clients: 9, Jobs: 1, Samples: 513}, 4, 4, 2},
		{Load{Jobs: 2, Samples: 514}, 4, 0, 3}, // 513 and 1, perhaps
		{Load{Jobs: 1, Samples: 10_000}, 4, 0, 4},
	} {
		if train, evaluate := c.load.slots(c.threads); train != c.train || evaluate != c.evaluate {
			t.Errorf("%+v on %d threads: %d slots train and %d evaluate, want %d and %d",
				c.load, c.threads, train, evaluate, c.train, c.evaluate)
		}
	}
}
