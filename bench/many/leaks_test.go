//go:build linux

package many

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// A sweep of 200 runs, two at a time, leaves no goroutine and no open file behind, and holds at its end what it held
// after a quarter of them.
func TestSweepLeaks(t *testing.T) {
	seeds := 20
	switch {
	case longtest.On():
		seeds = 50
	case testing.Short():
		seeds = 10
	}
	methods := []string{"fedawe", "mifa", "ca-fed", "fedar"}
	runs := seeds * len(methods)
	openFiles := func() int {
		entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
		return len(entries)
	}
	heap := func() int {
		var m runtime.MemStats
		for range 3 { // pools and finalizers take more than one
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	heaps, files := map[int]int{}, map[int]int{}
	measure := func(n int) {
		if n == runs/4 || n == runs {
			files[n], heaps[n] = openFiles(), heap()
		}
	}
	out := t.TempDir()
	table := papers.Sweep("sweep", "", methods, nil)
	for seed := range seeds {
		table.Seeds = append(table.Seeds, uint32(seed))
	}
	var cells []Cell
	for _, method := range methods {
		cells = append(cells, Cell{
			Settings: settingstest.Tiny(t, "method="+method, "rounds=2", "p=1"),
			Column:   papers.Column{Data: "leaf", Availability: "stationary"},
		})
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close the files that nobody has closed
	goroutines, open := runtime.NumGoroutine(), openFiles()
	var begun atomic.Int64
	log := onText{io.Discard, ": round 0/", func() { measure(int(begun.Add(1))) }}
	p := NewPool(log, run.Machine{Device: "cpu", Threads: 2, Out: out, AtOnce: 2, Events: true}, Keep{})
	done, err := p.Table(t.Context(), &table, cells)
	if err != nil || done.Failed+done.Diverged > 0 {
		t.Fatalf("%v, %d failed, %d diverged, want none", err, done.Failed, done.Diverged)
	}
	must.OK(t, p.Close())
	found, err := filepath.Glob(filepath.Join(out, "sweep", "*", "seed-*", results.RunFile))
	if err != nil || len(found) != runs || len(heaps) != 2 {
		t.Fatalf("%v: %d runs, looked at %d times, want %d and 2", err, len(found), len(heaps), runs)
	}
	for range 100 { // a goroutine may be on its last line
		if runtime.NumGoroutine() <= goroutines && openFiles() <= open {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines, want %d as before:\n%s", now, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if now := openFiles(); now > open {
		t.Errorf("%d open files, want %d as before", now, open)
	}
	// A run leaves what the summary is made of, some 10 kB; its data set alone would be 400 kB, and its engine more.
	// What is under way is a few MiB, more or less.
	between := runs - runs/4
	if grown, most := heaps[runs]-heaps[runs/4], 4<<20+between*16<<10; grown > most {
		t.Errorf("%d bytes more after %d more runs, want %d at most", grown, between, most)
	}
	if grown := files[runs] - files[runs/4]; grown > between/2 {
		t.Errorf("%d more open files after %d more runs, want as many", grown, between)
	}
	t.Logf("heap: %d kB at run %d, %d kB at run %d", heaps[runs/4]>>10, runs/4, heaps[runs]>>10, runs)
}
