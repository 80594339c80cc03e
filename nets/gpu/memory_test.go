//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/models"
)

// estimate returns the bytes that an engine will take by [Engine.estimate], plus so many rows of parameters. It needs
// no card.
func estimate(t *testing.T, m *models.Model, train, test *plan.Samples, o Options, clients, steps, rows int) int64 {
	t.Helper()
	o.Precision = must.Get(ParsePrecision(string(o.Precision)))(t)
	e := &Engine{
		model: m, layout: newLayout(m), options: o,
		samples: [2]*plan.Samples{train, test}, programs: map[programKey]*program{},
	}
	samples, waves, err := e.estimate(clients, steps)
	must.OK(t, err)
	return samples + waves + int64(rows)*e.rowBytes()
}

// paged is the environment variable of the emulator that sets the size of its pages.
const paged = "ROLLCALL_EMULATOR_PAGE"

// The estimate made before a run is within 10 % of the memory that the run takes, or within what a card's pages and the
// driver's own needs add.
func TestEstimate(t *testing.T) {
	g, _, m := both(t, "lenet5", 4, Options{EvalBatch: 4, Precision: FP32})
	before := used(t, g)
	newRound(t, g, m, 2, 4, nil).train(t)
	var units []nets.EvalJob
	b := must.Get(g.NewBank(1))(t)
	for range maxEvalSlots {
		units = append(units, nets.EvalJob{Row: nets.Row{Bank: b}, Part: nets.Test})
	}
	must.Get(g.Evaluate(t.Context(), units))(t)
	got := used(t, g) - before
	_, waves, err := g.estimate(4, 2)
	must.OK(t, err)
	want := waves + 10*g.rowBytes()
	tolerance := want / 10
	if gputest.Real() || os.Getenv(paged) != "" {
		tolerance = max(tolerance, 32<<20) // a dozen of pages, and as much again
	}
	if diff := got - want; max(diff, -diff) > tolerance {
		t.Errorf("a run took %s, the estimate is %s, want it within %s",
			driver.Size(got), driver.Size(want), driver.Size(tolerance))
	}
}

// The tests that measure memory pass on a card that hands it out in pages of 2 MiB and takes such a page for every
// graph and module.
func TestPages(t *testing.T) {
	longtest.Only(t, "tests of memory once more, with pages of 2 MiB")
	if os.Getenv(paged) != "" {
		t.Skip("left out: this is the process with pages")
	}
	out, err := gputest.Child(t, "kernels", false, "^(TestEstimate|TestMemoryStaysFlat)$",
		fmt.Sprintf("%s=%d", paged, 2<<20)).CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: Test") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The engine takes as much memory on the card after many rounds as after one.
func TestMemoryStaysFlat(t *testing.T) {
	g, _, m := both(t, "linear-mnist", 2, Options{EvalBatch: 4})
	b := must.Get(g.NewBank(4))(t)
	row := func(i int) nets.Row { return nets.Row{Bank: b, Index: i} }
	must.OK(t, g.Load(row(0), m.Init(models.Kaiming, 1)))
	round := func(i int) {
		extra := must.Get(g.NewBank(1 + i%3))(t)
		defer extra.Free()
		work := nets.LocalWork{LR: 0x1p-6, Round: i}
		for c := range 1 + i%3 {
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: c, Start: row(0), End: row(1 + c), Plan: crowd.Plan(c, 1+i%2, 2, 2),
			})
		}
		must.Get(g.Train(t.Context(), work))(t)
		must.OK(t, g.Combine(row(0), []float64{0.5, 0.5}, []nets.Row{row(0), row(1)}))
		if i%50 == 0 {
			must.Get(g.Evaluate(t.Context(), []nets.EvalJob{{Row: row(0), Part: nets.Test}}))(t)
		}
	}
	rounds := 300
	if gputest.Real() {
		rounds = 10_000
	}
	for i := range 60 {
		round(i)
	}
	before := used(t, g)
	for i := range rounds {
		round(i)
	}
	// A card also counts what other processes take and free meanwhile, and the driver's own needs.
	slack := int64(0)
	if gputest.Real() {
		slack = 16 << 20
	}
	if after := used(t, g); after-before > slack {
		t.Errorf("%d rounds took the memory in use from %d to %d bytes, want at most %d more",
			rounds, before, after, slack)
	}
}

func used(t *testing.T, g *Engine) (bytes int64) {
	t.Helper()
	must.OK(t, g.do(func() error {
		free, total, err := g.device.FreeMemory()
		bytes = total - free
		return err
	}))
	return bytes
}

// If memory is short, fewer clients are trained at once, with the same bytes as a result. The user is told once. Memory
// may be short for the arena, or later for what the driver needs besides: when it makes a graph, or launches one.
func TestShortOfMemory(t *testing.T) {
	const batch, clients, steps = 256, 24, 1
	fault := os.Getenv(faulty)
	m := must.Get(models.New("linear-mnist"))(t)
	train := crowd.Samples(m, crowd.TrainSamples, 1)
	o := Options{Batch: batch, EvalBatch: 2}
	if fault == "" {
		roomy := estimate(t, m, train, nil, o, clients, steps, 2*clients)
		tight := estimate(t, m, train, nil, o, 8, steps, 2*clients)
		if tight > roomy*3/4 {
			t.Fatalf("room for 8 clients takes %s, for %d %s: the test needs more between them",
				driver.Size(tight), clients, driver.Size(roomy))
		}
		between := (tight+roomy)/2 + ringBytes
		for _, short := range []string{
			fmt.Sprintf("ROLLCALL_EMULATOR_MEMORY=%d", between*16/15), // of which a sixteenth is headroom
			fmt.Sprintf("ROLLCALL_EMULATOR_SHORT_IN=cuGraphInstantiate:%d", between),
			fmt.Sprintf("ROLLCALL_EMULATOR_SHORT_IN=cuGraphLaunch:%d", between),
		} {
			t.Run(short, func(t *testing.T) {
				if strings.Contains(short, "SHORT_IN") {
					longtest.Only(t, "a process on the emulator")
				}
				child(t, "TestShortOfMemory", "memory", short, "ROLLCALL_GPU_ARENA=")
			})
		}
		return
	}
	var notices []string
	o.Notice = func(_, s string) {
		if !strings.Contains(s, "compiling") { // a busy machine may take its time
			notices = append(notices, s)
		}
	}
	result := func(o Options) (rows [][]float32) {
		e := must.Get(openEngine(m, train, nil, o))(t)
		defer func() { must.OK(t, e.Close()) }()
		b := must.Get(e.NewBank(2 * clients))(t)
		work := nets.LocalWork{LR: 0x1p-4}
		for i := range clients {
			start := nets.Row{Bank: b, Index: i}
			must.OK(t, e.Load(start, m.Init(models.Kaiming, uint32(i))))
			work.Clients = append(work.Clients, nets.ClientWork{
				Client: i, Start: start,
				End: nets.Row{Bank: b, Index: clients + i}, Plan: crowd.Plan(i, steps, batch, batch),
			})
		}
		for range 3 {
			must.Get(e.Train(t.Context(), work))(t)
		}
		for i := range clients {
			rows = append(rows, load(t, e, work.Clients[i].End))
		}
		return rows
	}
	got := result(o)
	if len(notices) != 1 || !strings.Contains(notices[0], "out of memory") ||
		!strings.Contains(notices[0], "at most 12 clients at once") {
		t.Errorf("notices %q, want one that says out of memory and at most 12 clients at once", notices)
	}
	o.MaxClients, o.Notice = 5, nil
	for i, want := range result(o) {
		if !slices.Equal(got[i], want) {
			t.Errorf("client %d: short of memory and in waves of 5 differ", i)
		}
	}
}

// An arena leaves some of the card free: 2 %, at least 256 MiB, and less on cards that are smaller than any real one.
func TestHeadroom(t *testing.T) {
	for memory, want := range map[int64]int64{
		16 << 20: 1 << 20, 4 << 30: 256 << 20, 8 << 30: 256 << 20, 100 << 30: 2 << 30,
	} {
		if got := headroom(memory); got != want {
			t.Errorf("headroom of %s: %s, want %s", driver.Size(memory), driver.Size(got), driver.Size(want))
		}
	}
}
