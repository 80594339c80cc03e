//go:build gpu && linux && cgo

package gpu

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets"
	"rollcall/nets/gpu/crowd"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/models"
)

// If memory is short, fewer clients are trained at once, with the same bytes as a result. The user is told once. Memory
// may be short for the arena, or later for what the driver needs besides: when it makes a graph, or launches one.
func TestShortOfMemory(t *testing.T) {
	longtest.Only(t, "three processes on the emulator")
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
			t.Run(short, func(t *testing.T) { child(t, "TestShortOfMemory", "memory", short, "ROLLCALL_GPU_ARENA=") })
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
