package conditions

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"rollcall/internal/must"
	"rollcall/nets/cpu/kernels/reference"
)

// Events that Linux counts itself, on every machine.
var (
	pageFaults = Event{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS}
	taskClock  = Event{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK} // ns
)

// openCounters opens counters for a test, and skips it where this is not permitted.
func openCounters(t *testing.T, first, second Event) *Counters {
	t.Helper()
	c, err := OpenCounters(first, second)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		t.Skip("left out:", err)
	}
	must.OK(t, err)
	t.Cleanup(c.Close)
	return c
}

// touch writes to so many new pages, each of which is a fault of the calling thread.
func touch(t *testing.T, pages int) {
	size := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Error(err)
		return
	}
	_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE) // a kernel without huge pages refuses
	for i := range pages {
		memory[i*size] = 1
	}
	if err := unix.Munmap(memory); err != nil {
		t.Error(err)
	}
}

// worker is a thread of its own, which does what it is given until the channel is closed.
type worker struct {
	id   int
	todo chan func()
	done chan struct{}
}

// newWorker returns a thread that is none of others, however many idle threads Go has. It is not the first thread of
// the process, which Go does not end.
func newWorker(others []int) *worker {
	for {
		w := &worker{todo: make(chan func()), done: make(chan struct{})}
		go func() {
			runtime.LockOSThread() // and never unlocks it: the thread ends with the goroutine
			w.id = unix.Gettid()
			w.done <- struct{}{}
			for do := range w.todo {
				do()
				w.done <- struct{}{}
			}
		}()
		<-w.done
		if w.id != os.Getpid() && !slices.Contains(others, w.id) {
			return w
		}
		defer close(w.todo) // it keeps its thread until another one is found
	}
}

func (w *worker) run(do func()) {
	w.todo <- do
	<-w.done
}

// Page faults of two threads that ran before, of one that began later, and of one that began and has ended, are
// counted, each once; and those of a Read are not in the next.
func TestCountersOfThreads(t *testing.T) {
	const pages, slack = 5000, 1500 // slack: what Go itself touches meanwhile, less than one thread's pages
	old := []*worker{newWorker(nil), newWorker(nil)}
	c := openCounters(t, pageFaults, taskClock)
	before := must.Get(listThreads())(t)
	check := func(what string, least float64) {
		t.Helper()
		if got := must.Get(c.Read())(t); got.Instructions < least || got.Instructions > least+slack || got.Cycles <= 0 {
			t.Errorf("%s: got %v page faults, %v ns, want %v … %v and some time", what, got.Instructions, got.Cycles,
				least, least+slack)
		}
	}
	later := newWorker(before)
	must.Get(c.Read())(t)
	touch(t, pages)
	check("this thread", pages)
	for _, w := range old {
		w.run(func() { touch(t, pages) })
	}
	check("two threads that ran before", 2*pages)
	later.run(func() { touch(t, pages) })
	check("a thread that began later", pages)
	ended := newWorker(before)
	ended.run(func() { touch(t, pages) })
	old[0].run(func() { touch(t, pages) })
	for _, w := range []*worker{ended, old[0]} {
		close(w.todo)
		for range 5000 { // until the kernel has ended the thread
			if unix.Tgkill(os.Getpid(), w.id, 0) != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	check("two threads that have ended", 2*pages)
	check("nothing", 0)
	for _, w := range []*worker{old[1], later} {
		close(w.todo)
	}
}

// The clock of the counters and the processor time of the process agree. A hypervisor that takes the processor away
// makes the former longer, on machines with virtual processors.
func TestCountersClock(t *testing.T) {
	c := openCounters(t, taskClock, pageFaults)
	must.Get(c.Read())(t)
	from, begun := ProcessorTime(), time.Now()
	w := newWorker(nil)
	defer close(w.todo)
	w.run(func() {
		for time.Since(begun) < 50*time.Millisecond {
		}
	})
	used := ProcessorTime() - from
	got := time.Duration(must.Get(c.Read())(t).Instructions)
	most := time.Duration(runtime.NumCPU())*time.Since(begun) + time.Millisecond
	if got < used*9/10-time.Millisecond || got > most {
		t.Errorf("got %v, want %v of processor time at least, %v at most", got, used, most)
	}
}

// The reference loop with AVX2 has a known number of instructions: 24 multiply-adds of 8 numbers in a round, and two
// that end it. The compiler decides how many plain Go has.
func TestCountersInstructions(t *testing.T) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		t.Skip("left out: no AVX2")
	}
	c, err := OpenCounters(Instructions, Cycles)
	if err != nil {
		t.Skip("left out:", err)
	}
	defer c.Close()
	for _, threads := range []int{1, 3} {
		loop := reference.New("avx2", threads)
		loop.Run()
		must.Get(c.Read())(t)
		loop.Run()
		got := must.Get(c.Read())(t)
		const parts = 4 // of a call of Run, while FLOP is of one
		want := parts * float64(threads) * loop.FLOP() / (24 * 2 * 8) * (24 + 2)
		// What Go does beside, and events that take turns, are a few percent.
		if got.Instructions < 0.95*want || got.Instructions > 1.1*want || got.Cycles <= 0 {
			t.Errorf("%d threads: got %+v, want %.4g instructions, 5 %% less or 10 %% more, and some cycles", threads,
				got, want)
		}
	}
}

// Where events took turns, their counts are those of the whole time.
func TestReadingSince(t *testing.T) {
	before := reading{1000, 500, 250}
	for _, test := range []struct {
		name string
		now  reading
		want float64
	}{
		{"counted all the time", reading{1600, 600, 350}, 600},
		{"a quarter of the time", reading{1600, 900, 350}, 2400},
		{"never", reading{1000, 900, 250}, 0},
		{"no time has passed", before, 0},
	} {
		if got := test.now.since(before); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// An event that does not exist is refused by the kernel itself, and the error says why in one line.
func TestCountersRefused(t *testing.T) {
	_, err := OpenCounters(pageFaults, Event{unix.PERF_TYPE_SOFTWARE, 1 << 20})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("no such event: got %v, want an error of one line", err)
	}
	for _, test := range []struct {
		err      error
		paranoid string
		want     string
	}{
		{unix.ENOENT, "2\n", "the virtual machine"},
		{unix.EACCES, "3\n", "is 3, want 2 at most"},
		{unix.EACCES, "2\n", "seccomp"},
		{unix.EPERM, "", "seccomp"},
		{unix.ENOSYS, "", "perf_event_open"},
		{unix.EMFILE, "", unix.EMFILE.Error()},
	} {
		got := refusal(test.err, file(t, test.paranoid))
		if !errors.Is(got, test.err) || !strings.Contains(got.Error(), test.want) {
			t.Errorf("%v, %q: got %v, want %q in it", test.err, test.paranoid, got, test.want)
		}
	}
}

// No counters count nothing.
func TestNoCounters(t *testing.T) {
	var c *Counters
	if got, err := c.Read(); got != (Counts{}) || err != nil {
		t.Errorf("got %+v, %v, want nothing", got, err)
	}
	c.Close()
}
