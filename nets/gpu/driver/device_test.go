//go:build gpu && linux && cgo

package driver

import (
	_ "embed"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"
)

//go:embed testdata/fill.ptx
var fillPTX string

// fillArgs is the parameter of the kernel fill: out[i] = value + i for i < n.
type fillArgs struct {
	out      Ptr
	value, n uint32
}

// fill launches the kernel over one block per 256 numbers.
func fill(f *Function, s *Stream, a fillArgs) error {
	return f.Launch([3]int{int(a.n+255) / 256, 1, 1}, [3]int{256, 1, 1}, 0, s, unsafe.Pointer(&a), int(unsafe.Sizeof(a)))
}

// launchAs launches one block of as many threads.
func launchAs(f *Function, s *Stream, threads int, a *fillArgs) error {
	return f.Launch([3]int{1, 1, 1}, [3]int{threads, 1, 1}, 0, s, unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func counting(from uint32, n int) []uint32 {
	s := make([]uint32, n)
	for i := range s {
		s[i] = from + uint32(i)
	}
	return s
}

// exercise goes once through everything that works on a device: the fake one as well as a real one.
func exercise(t *testing.T, d *Device) {
	const n = 1000
	m, err := d.LoadModule("fill", fillPTX)
	must(t, err)
	f, err := m.Function("fill")
	must(t, err)
	if a := f.Attributes(); f.Name() != "fill" || a.Registers < 1 || a.Local != 0 || a.MaxThreads < 256 || a.Params != 0 && a.Params != 16 {
		t.Errorf("%s: attributes %+v, want some registers, no local memory, 256 threads or more, 16 bytes of parameters", f.Name(), a)
	}
	p, err := d.Alloc(2 * 4 * n)
	must(t, err)
	q := p + 4*n // the second half
	s, err := d.NewStream()
	must(t, err)
	host, err := d.AllocHost(4 * n)
	must(t, err)
	got := make([]uint32, n)
	compare := func(what string, got, want []uint32) {
		t.Helper()
		if i := slices.IndexFunc(counting(0, n), func(i uint32) bool { return got[i] != want[i] }); i >= 0 {
			t.Errorf("%s: [%d] = %d, want exactly %d", what, i, got[i], want[i])
		}
	}

	must(t, d.CopyToDevice(p, Bytes(counting(7, n))))
	must(t, d.CopyOnDevice(q, p, 4*n))
	must(t, d.CopyFromDevice(Bytes(got), q))
	compare("copies", got, counting(7, n))
	must(t, d.Memset32(q, 5, n))
	must(t, d.CopyFromDevice(Bytes(got), q))
	compare("memset", got, slices.Repeat([]uint32{5}, n))

	// In a stream: a copy, a kernel over the first half, a copy of it to the second, and a number into its front.
	copy(View[uint32](host), counting(100, n))
	start, err := d.NewEvent()
	must(t, err)
	stop, err := d.NewEvent()
	must(t, err)
	enqueue := func() error {
		return errors.Join(s.CopyToDevice(q, host), fill(f, s, fillArgs{p, 40, n - 1}), s.CopyOnDevice(q, p, 4*(n-2)), s.Memset32(q, 9, 1))
	}
	must(t, start.Record(s))
	must(t, enqueue())
	must(t, stop.Record(s))
	must(t, s.CopyFromDevice(host, q))
	must(t, stop.Synchronize())
	must(t, s.Synchronize())
	if ms, err := stop.Since(start); err != nil || ms < 0 || ms > 60000 {
		t.Errorf("time between events %g ms, %v, want 0 to a minute", ms, err)
	}
	want := counting(40, n)
	want[0], want[n-2], want[n-1] = 9, 100+n-2, 100+n-1
	compare("stream", View[uint32](host), want)

	// The same as a graph, on other numbers: capturing does nothing, each launch does it all.
	x, err := s.Capture("test", enqueue)
	must(t, err)
	if x.Nodes() != 4 || x.Name() != "test" {
		t.Errorf("graph %s has %d nodes, want test with 4", x.Name(), x.Nodes())
	}
	must(t, d.Memset32(q, 1, n))
	copy(View[uint32](host), counting(200, n))
	must(t, x.Launch(s))
	must(t, s.Synchronize())
	must(t, d.CopyFromDevice(Bytes(got), q))
	want[n-2], want[n-1] = 200+n-2, 200+n-1
	compare("graph", got, want)
	must(t, d.Memset32(q, 1, n))
	must(t, x.Launch(s))
	must(t, d.CopyFromDevice(Bytes(got), q)) // waits for the stream
	compare("graph again", got, want)

	// Another stream, joined by events.
	other, err := d.NewStream()
	must(t, err)
	must(t, fill(f, s, fillArgs{p, 1, n}))
	must(t, stop.Record(s))
	must(t, other.Wait(stop))
	must(t, other.CopyFromDevice(host, p))
	must(t, other.Synchronize())
	compare("other stream", View[uint32](host), counting(1, n))

	must(t, errors.Join(x.Destroy(), start.Destroy(), stop.Destroy(), s.Destroy(), other.Destroy(), d.FreeHost(host), d.Free(p), m.Unload()))
}

// TestExercise runs everything on the fake device, and nothing is left on it.
func TestExercise(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		before, total, err := d.MemInfo()
		must(t, err)
		for range 3 {
			exercise(t, d)
		}
		after, _, err := d.MemInfo()
		must(t, err)
		if before != after || total != 1<<20 {
			t.Errorf("free %d of %d bytes before, %d after, want the same: each stream, event, graph, module takes a byte", before, total, after)
		}
		must(t, d.Close())
	})
}

// TestComplete reads behind the binding's back: what the device's own copies wrote is there when they return.
func TestComplete(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		p, err := d.Alloc(8)
		must(t, err)
		read := func(what string, at Ptr, want uint32) {
			t.Helper()
			got := make([]uint32, 1)
			must(t, cu.MemcpyDtoH(unsafe.Pointer(&got[0]), cu.DevicePtr(at), 4))
			if got[0] != want {
				t.Errorf("%s: read %d, want %d", what, got[0], want)
			}
		}
		must(t, d.Memset32(p, 5, 1))
		read("memset", p, 5)
		must(t, d.CopyToDevice(p, Bytes([]uint32{6})))
		read("copy to device", p, 6)
		must(t, d.CopyOnDevice(p+4, p, 4))
		read("copy on device", p+4, 6)
	})
}

// TestWithoutParamInfo is a driver older than CUDA 12.4, which does not tell the size of a kernel's parameters.
func TestWithoutParamInfo(t *testing.T) {
	if !inChild(t, map[string]string{Variable: fake(t, "-DcuFuncGetParamInfo=other"), "FAKE_version": "12000"}) {
		return
	}
	onThread(t, func(d *Device) { exercise(t, d) })
}

// TestOutOfMemory is device memory, then pinned memory, running out.
func TestOutOfMemory(t *testing.T) {
	if !withFake(t, "cuMemHostAlloc=2") {
		return
	}
	onThread(t, func(d *Device) {
		_, err := d.Alloc(3 << 20)
		if want := "gpu: alloc 3 MB (1024 KB of 1 MB are free): out of memory"; !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrDeviceLost) || err.Error() != want {
			t.Errorf("Alloc(3 MB): %v, want ErrOutOfMemory: %s", err, want)
		}
		_, err = d.AllocHost(1 << 30)
		if want := "gpu: alloc 1 GB of pinned memory: out of memory"; !errors.Is(err, ErrOutOfMemory) || err.Error() != want {
			t.Errorf("AllocHost(1 GB): %v, want ErrOutOfMemory: %s", err, want)
		}
		if _, err := d.Alloc(0); err == nil || err.Error() != "gpu: alloc: 0 bytes, want 1 or more" {
			t.Errorf("Alloc(0): %v", err)
		}
	})
}

// TestJIT is PTX that does not compile: one line, with the log to be had.
func TestJIT(t *testing.T) {
	const log = "ptxas application ptx input, line 12; error   : Unknown symbol 'q'\nptxas fatal   : Ptx assembly aborted due to errors\n"
	if !withFake(t, "log="+log) {
		return
	}
	onThread(t, func(d *Device) {
		_, err := d.LoadModule("conv2d", ".version 7.8 nonsense")
		var jit *JITError
		want := "gpu: module conv2d: a PTX JIT compilation failed: ptxas application ptx input, line 12; error   : Unknown symbol 'q'"
		if !errors.As(err, &jit) || jit.Log != log || err.Error() != want {
			t.Errorf("LoadModule: %v, log %q\nwant %s", err, jit.Log, want)
		}
		if e := (*Error)(nil); !errors.As(err, &e) || e.Name != "CUDA_ERROR_INVALID_PTX" {
			t.Errorf("LoadModule: %#v, want CUDA_ERROR_INVALID_PTX", e)
		}
		m, err := d.LoadModule("fill", fillPTX)
		must(t, err)
		if _, err := m.Function("file"); err == nil || err.Error() != "gpu: module fill: kernel file: named symbol not found" {
			t.Errorf("Function(file): %v", err)
		}
	})
}

// TestLaunchErrors is launches that the binding or the driver refuses.
func TestLaunchErrors(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		m, err := d.LoadModule("fill", fillPTX)
		must(t, err)
		f, err := m.Function("fill")
		must(t, err)
		s, err := d.NewStream()
		must(t, err)
		var a [5000]byte
		for _, c := range []struct {
			name        string
			grid, block [3]int
			shared      int
			bytes       int
			want        string
		}{
			{"driver", [3]int{256, 37, 1}, [3]int{128, 1, 1}, 41<<10 - 512, 16, "fill (grid 256×37, block 128, shared 41 KB): launch: invalid argument"},
			{"empty grid", [3]int{0, 37, 1}, [3]int{128, 1, 1}, 0, 16, "fill (grid 0×37, block 128, shared 512 bytes): launch: want sizes of 1 or more"},
			{"flat grid", [3]int{5, 0, 1}, [3]int{128, 1, 1}, 0, 16, "fill (grid 5×0, block 128, shared 512 bytes): launch: want sizes of 1 or more"},
			{"negative", [3]int{1, 1, 1}, [3]int{8, 8, -8}, 0, 16, "fill (grid 1, block 8×8×-8, shared 512 bytes): launch: want sizes of 1 or more"},
			{"no parameters", [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, 0, "fill (grid 1, block 1, shared 512 bytes): launch: 0 bytes of parameters, want 1 to 4096"},
			{"many parameters", [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, 5000, "fill (grid 1, block 1, shared 512 bytes): launch: 5000 bytes of parameters, want 1 to 4096"},
			{"other parameters", [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, 24, "fill (grid 1, block 1, shared 512 bytes): launch: 24 bytes of parameters, want the kernel's 16"},
		} {
			if err := f.Launch(c.grid, c.block, c.shared, s, unsafe.Pointer(&a), c.bytes); err == nil || err.Error() != "gpu: "+c.want {
				t.Errorf("%s: %v\nwant gpu: %s", c.name, err, c.want)
			}
		}
		must(t, f.SetMaxDynamicShared(200<<10))
		err = f.SetMaxDynamicShared(227 << 10)
		if want := "gpu: fill: 227 KB of dynamic shared memory, static 512 bytes: invalid argument"; err == nil || err.Error() != want {
			t.Errorf("SetMaxDynamicShared(227 KB): %v, want %s", err, want)
		}
	})
}

// TestDeviceLost is a kernel that faults: the error comes out while waiting, and names what was launched last.
func TestDeviceLost(t *testing.T) {
	if !withFake(t, "cuStreamSynchronize=700", "cuGraphLaunch=700") {
		return
	}
	onThread(t, func(d *Device) {
		m, err := d.LoadModule("fill", fillPTX)
		must(t, err)
		f, err := m.Function("fill")
		must(t, err)
		s, err := d.NewStream()
		must(t, err)
		p, err := d.Alloc(4000)
		must(t, err)
		must(t, fill(f, s, fillArgs{p, 1, 1000}))
		err = s.Synchronize()
		want := "gpu: synchronize after fill (grid 4, block 256, shared 512 bytes): an illegal memory access was encountered"
		if !errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrOutOfMemory) || err.Error() != want {
			t.Errorf("Synchronize: %v, want ErrDeviceLost: %s", err, want)
		}
		x, err := s.Capture("round", func() error { return fill(f, s, fillArgs{p, 1, 10}) })
		must(t, err)
		err = x.Launch(s)
		if want := "gpu: graph round (1 nodes): launch: an illegal memory access was encountered"; !errors.Is(err, ErrDeviceLost) || err.Error() != want {
			t.Errorf("Launch: %v, want ErrDeviceLost: %s", err, want)
		}
	})
}

// TestCapture is captures that fail: the cause is told, and no graph is left on the device.
func TestCapture(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		enqueue    error
		want       string
	}{
		{"enqueue fails", "", errors.New("gpu: cause"), "gpu: cause"},
		{"enqueue fails and the capture with it", "cuStreamEndCapture=901", errors.New("gpu: cause"), "gpu: cause"},
		{"end", "cuStreamEndCapture=901", nil, "gpu: capture graph round: operation failed due to a previous error during capture"},
		{"begin", "cuStreamBeginCapture_v2=1", nil, "gpu: capture graph round: invalid argument"},
		{"instantiate", "cuGraphInstantiateWithFlags=2", nil, "gpu: graph round (0 nodes): instantiate: out of memory"},
		{"nodes", "cuGraphGetNodes=1", nil, "gpu: graph round: nodes: invalid argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !withFake(t, c.plan) {
				return
			}
			onThread(t, func(d *Device) {
				s, err := d.NewStream()
				must(t, err)
				before, _, err := d.MemInfo()
				must(t, err)
				x, err := s.Capture("round", func() error { return c.enqueue })
				if x != nil || err == nil || err.Error() != c.want {
					t.Errorf("Capture() = %v, %v, want %s", x, err, c.want)
				}
				if after, _, err := d.MemInfo(); err != nil || after != before {
					t.Errorf("%d bytes free after, %v, want %d: a graph takes one", after, err, before)
				}
			})
		})
	}
}

// TestPinned is what a stream's copies take: memory of AllocHost, all of it or a part.
func TestPinned(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		s, err := d.NewStream()
		must(t, err)
		p, err := d.Alloc(64)
		must(t, err)
		host, err := d.AllocHost(64)
		must(t, err)
		must(t, s.CopyToDevice(p, host[8:16]))
		must(t, s.CopyFromDevice(host[56:], p))
		beyond := unsafe.Slice(&host[1], 64)
		for _, err := range []error{
			s.CopyToDevice(p, make([]byte, 64)), s.CopyFromDevice(make([]byte, 64), p), s.CopyToDevice(p, beyond), s.CopyFromDevice(beyond, p),
		} {
			if err == nil || !strings.HasSuffix(err.Error(), " device of 64 bytes: in a stream, want memory of AllocHost") {
				t.Errorf("copy of memory that is not pinned, or not all of it, in a stream: %v", err)
			}
		}
		must(t, d.FreeHost(host))
		if err := d.FreeHost(host); err == nil || err.Error() != "gpu: free pinned: not memory of AllocHost" {
			t.Errorf("FreeHost twice: %v", err)
		}
		must(t, errors.Join(s.CopyToDevice(p, nil), s.CopyFromDevice(nil, p), s.CopyOnDevice(p, p, 0), s.Memset32(p, 1, 0), d.Free(0), d.FreeHost(nil)))
	})
}

// TestAllocations holds what the engine does hundreds of times a round to no garbage at all.
func TestAllocations(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		m, err := d.LoadModule("fill", fillPTX)
		must(t, err)
		f, err := m.Function("fill")
		must(t, err)
		s, err := d.NewStream()
		must(t, err)
		p, err := d.Alloc(4000)
		must(t, err)
		x, err := s.Capture("round", func() error { return fill(f, s, fillArgs{p, 1, 1000}) })
		must(t, err)
		for name, f := range map[string]func() error{
			"Launch":       func() error { return fill(f, s, fillArgs{p, 1, 1000}) },
			"graph Launch": func() error { return x.Launch(s) },
			"Synchronize":  s.Synchronize,
		} {
			if n := testing.AllocsPerRun(100, func() { must(t, f()) }); n != 0 {
				t.Errorf("%s: %g allocations, want 0", name, n)
			}
		}
	})
}

// TestClose gives the context back, and says what failed before.
func TestClose(t *testing.T) {
	if !withFake(t, "cuStreamSynchronize=700") {
		return
	}
	onThread(t, func(d *Device) {
		before, _, err := d.MemInfo()
		must(t, err)
		if err := d.Close(); !errors.Is(err, ErrDeviceLost) {
			t.Errorf("Close: %v, want ErrDeviceLost", err)
		}
		if after, _, err := d.MemInfo(); err != nil || after != before+2 {
			t.Errorf("%d bytes free after Close, %v, want %d: a context and the stream of its copies take one each", after, err, before+2)
		}
	})
}
