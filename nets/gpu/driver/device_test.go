//go:build gpu && linux && cgo

package driver

import (
	_ "embed"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"gorgonia.org/cu"

	"rollcall/internal/must"
)

//go:embed testdata/fill.ptx
var fillPTX string

// fillArgs is the parameter of the kernel fill: out[i] = value + i for i < n.
type fillArgs struct {
	out      Ptr
	value, n uint32
}

func (a *fillArgs) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a))
}

// memset sets n 32-bit values of device memory.
func memset(d *Device, dst Ptr, value uint32, n int) error {
	return d.CopyToDevice(dst, Bytes(slices.Repeat([]uint32{value}, n)))
}

// fill launches the kernel on one block for each 256 numbers.
func fill(f *Function, s *Stream, a fillArgs) error {
	return f.Launch([2]int{int(a.n+255) / 256, 1}, 256, 0, s, a.bytes())
}

// fillIn adds the same launch to a graph.
func fillIn(f *Function, g *Graph, a fillArgs, after ...int) error {
	return f.AddTo(g, [2]int{int(a.n+255) / 256, 1}, 256, 0, a.bytes(), after)
}

// launchAs launches one block of so many threads.
func launchAs(f *Function, s *Stream, threads int, a *fillArgs) error {
	return f.Launch([2]int{1, 1}, threads, 0, s, a.bytes())
}

func counting(from uint32, n int) []uint32 {
	s := make([]uint32, n)
	for i := range s {
		s[i] = from + uint32(i)
	}
	return s
}

// exercise uses every feature of the binding once. It works on the fake device and on a real one.
func exercise(t *testing.T, d *Device) {
	const n = 1000
	m := must.Get(d.LoadModule("fill", fillPTX))(t)
	f := must.Get(m.Function("fill"))(t)
	if a := f.Attributes(); a.Registers < 1 || a.MaxThreads < 256 || a.Params != 0 && a.Params != 16 {
		t.Errorf("fill: attributes %+v, want some registers, 256 threads or more, 16 bytes of parameters", a)
	}
	p := must.Get(d.Alloc(2 * 4 * n))(t)
	q := p + 4*n // the second half
	s := must.Get(d.NewStream())(t)
	host := must.Get(d.AllocHost(4 * n))(t)
	got := make([]uint32, n)
	compare := func(what string, got, want []uint32) {
		t.Helper()
		if i := slices.IndexFunc(counting(0, n), func(i uint32) bool { return got[i] != want[i] }); i >= 0 {
			t.Errorf("%s: [%d] = %d, want exactly %d", what, i, got[i], want[i])
		}
	}

	must.OK(t, d.CopyToDevice(q, Bytes(counting(7, n))))
	must.OK(t, d.CopyFromDevice(Bytes(got), q))
	compare("copies", got, counting(7, n))

	// In a stream: a copy, a kernel over all but its end, and a number into its front.
	copy(View[uint32](host), counting(100, n))
	start := must.Get(d.NewEvent())(t)
	stop := must.Get(d.NewEvent())(t)
	must.OK(t, start.Record(s))
	must.OK(t, errors.Join(s.CopyToDevice(q, host), fill(f, s, fillArgs{q, 40, n - 2}), s.Memset32(q, 9, 1)))
	must.OK(t, stop.Record(s))
	must.OK(t, s.CopyFromDevice(host, q))
	must.OK(t, s.Synchronize())
	if ms, err := stop.Since(start); err != nil || ms < 0 || ms > 60000 {
		t.Errorf("time between events %g ms, %v, want 0 to a minute", ms, err)
	}
	want := counting(40, n)
	want[0], want[n-2], want[n-1] = 9, 100+n-2, 100+n-1
	compare("stream", View[uint32](host), want)

	// A graph: building it does nothing, each launch does it all. The last kernel waits for the first two.
	x, err := d.NewGraph("test", func(g *Graph) error {
		return errors.Join(fillIn(f, g, fillArgs{q, 50, n - 2}), fillIn(f, g, fillArgs{p, 60, n}),
			fillIn(f, g, fillArgs{q, 9, 1}, 0, 1))
	})
	must.OK(t, err)
	if x.nodes != 3 || x.name != "test" {
		t.Errorf("graph %s has %d nodes, want test with 3", x.name, x.nodes)
	}
	must.OK(t, memset(d, q, 1, n))
	must.OK(t, x.Launch(s))
	must.OK(t, s.Synchronize())
	must.OK(t, d.CopyFromDevice(Bytes(got), q))
	copy(want, counting(50, n))
	want[0], want[n-2], want[n-1] = 9, 1, 1
	compare("graph", got, want)
	must.OK(t, d.CopyFromDevice(Bytes(got), p))
	compare("other branch of the graph", got, counting(60, n))
	must.OK(t, memset(d, q, 1, n))
	must.OK(t, x.Launch(s))
	must.OK(t, d.CopyFromDevice(Bytes(got), q)) // waits for the stream
	compare("graph again", got, want)

	// Another stream, behind this one.
	other := must.Get(d.NewStream())(t)
	must.OK(t, fill(f, s, fillArgs{p, 1, n}))
	must.OK(t, s.Synchronize())
	must.OK(t, other.CopyFromDevice(host, p))
	must.OK(t, other.Synchronize())
	compare("other stream", View[uint32](host), counting(1, n))

	must.OK(t, errors.Join(x.Destroy(), start.Destroy(), stop.Destroy(), s.Destroy(), other.Destroy(), d.FreeHost(host),
		d.Free(p), m.Unload()))
}

// TestExercise uses every feature on the fake device, after which no memory is left in use.
func TestExercise(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		before, total := must.Get2(d.FreeMemory())(t)
		for range 3 {
			exercise(t, d)
		}
		after, _ := must.Get2(d.FreeMemory())(t)
		if before != after || total != 1<<20 {
			t.Errorf("free %d of %d bytes before, %d after, want the same: each stream, event, graph, "+
				"module takes a byte", before, total, after)
		}
		must.OK(t, d.Close())
	})
}

// TestBlockingWaits checks that waits sleep.
func TestBlockingWaits(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) { waitsSleep(t, d) })
}

// waitsSleep checks the flags of the context of a device, the fake one or a real one.
func waitsSleep(t *testing.T, d *Device) {
	t.Helper()
	flags, active := must.Get2(d.dev.PrimaryCtxState())(t)
	if active != 1 || flags&cu.SchedMask != cu.SchedBlockingSync {
		t.Errorf("context: flags %d, active %d, want an active one with flag %d", flags, active, cu.SchedBlockingSync)
	}
}

// TestActiveContext opens a device whose context other code of the process holds already.
func TestActiveContext(t *testing.T) {
	if !withFake(t, "cuDevicePrimaryCtxSetFlags_v2=708") {
		return
	}
	onThread(t, func(d *Device) { exercise(t, d) })
}

// TestComplete checks that copies of a Device are complete when they return: it reads memory without the binding, which
// would wait.
func TestComplete(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		p := must.Get(d.Alloc(8))(t)
		must.OK(t, d.CopyToDevice(p, Bytes([]uint32{6})))
		if got := **(**uint32)(unsafe.Pointer(&p)); got != 6 { // the fake's memory is memory of this process
			t.Errorf("after a copy to the device: read %d, want 6", got)
		}
	})
}

// TestWithoutParamInfo uses a driver older than CUDA 12.4, which cannot tell the size of a kernel's parameters.
func TestWithoutParamInfo(t *testing.T) {
	if !withFlags(t, []string{"-DcuFuncGetParamInfo=other"}, "version=12000") {
		return
	}
	onThread(t, func(d *Device) { exercise(t, d) })
}

// TestClose checks that Close releases the context and returns the error of work that failed.
func TestClose(t *testing.T) {
	if !withFake(t, "cuStreamSynchronize=700") {
		return
	}
	onThread(t, func(d *Device) {
		before, _ := must.Get2(d.FreeMemory())(t)
		if err := d.Close(); !errors.Is(err, ErrDeviceLost) {
			t.Errorf("Close: %v, want ErrDeviceLost", err)
		}
		if after, _, err := d.FreeMemory(); err != nil || after != before+2 {
			t.Errorf("%d bytes free after Close, %v, want %d: a context and the stream of its copies take one each",
				after, err, before+2)
		}
	})
}

// fillOn returns the kernel of [fill] and a stream to launch it on.
func fillOn(t *testing.T, d *Device) (*Function, *Stream) {
	t.Helper()
	m := must.Get(d.LoadModule("fill", fillPTX))(t)
	f := must.Get(m.Function("fill"))(t)
	s := must.Get(d.NewStream())(t)
	return f, s
}

// TestThread lets many goroutines share one OS thread.
func TestThread(t *testing.T) {
	thread := NewThread()
	running, threads := 0, map[int]bool{} // touched on the thread alone
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := thread.Do(func() error {
					running++
					threads[unix.Gettid()] = true
					runtime.Gosched()
					running--
					if running != 0 {
						return errors.New("two functions at a time")
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(threads) != 1 {
		t.Errorf("ran on OS threads %v, want one", threads)
	}
	want := errors.New("from the function")
	if err := thread.Do(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("Do: %v, want %v", err, want)
	}
	thread.Close()
	thread.Close()
	if err := thread.Do(func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after Close: %v, want ErrClosed", err)
	}
}

// TestThreadEnds runs a function that ends its goroutine, as t.FailNow does. Do returns all the same.
func TestThreadEnds(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	if err := thread.Do(func() error {
		runtime.Goexit()
		return nil
	}); !errors.Is(err, ErrClosed) {
		t.Errorf("Do: %v, want ErrClosed", err)
	}
}

// TestErrorClasses checks which results mean that the device is lost. The numbers are those of CUDA's documentation.
func TestErrorClasses(t *testing.T) {
	for _, code := range []int{46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999} {
		if err := error(&Error{Code: code}); !errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrOutOfMemory) {
			t.Errorf("result %d: not a lost device, or memory", code)
		}
	}
	for _, code := range []int{1, 2, 218, 221, 500, 701, 708, 801, 900, 901} {
		if errors.Is(&Error{Code: code}, ErrDeviceLost) {
			t.Errorf("result %d: a lost device", code)
		}
	}
}
