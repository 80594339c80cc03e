//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"rollcall/internal/must"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
	"rollcall/nets/gpu/ptx"
)

func TestMain(m *testing.M) { gputest.Main(m, ".", true) }

var sharedCard = sync.OnceValues(openCard)

// card is the device that all tests share. The first test that asks for it opens it.
type card struct {
	thread     *driver.Thread
	device     *driver.Device
	stream     *driver.Stream
	modules    map[string]*driver.Module
	functions  map[string]*driver.Function
	comparison comparison
	arch       int // compute capability, 90 for 9.0
}

func openCard() (*card, error) {
	c := &card{
		thread: driver.NewThread(), modules: map[string]*driver.Module{}, functions: map[string]*driver.Function{},
		comparison: newComparison(),
	}
	return c, c.thread.Do(func() (err error) {
		if c.device, err = driver.Open(0); err != nil {
			return err
		}
		c.arch = c.device.Info().Arch()
		c.stream, err = c.device.NewStream()
		return err
	})
}

// function returns a kernel, and loads its module when first asked. Call it on the thread of the device.
func (c *card) function(name string) (*driver.Function, error) {
	if f := c.functions[name]; f != nil {
		return f, nil
	}
	m, ok := Find(name)
	if !ok {
		return nil, fmt.Errorf("kernels: %s: in no module", name)
	}
	if c.modules[m.Name] == nil {
		loaded, err := c.device.LoadModule(m.Name, m.PTX)
		if err != nil {
			return nil, err
		}
		c.modules[m.Name] = loaded
	}
	f, err := c.modules[m.Name].Function(name)
	if err == nil {
		c.functions[name] = f
	}
	return f, err
}

// rig is one test's memory on the device.
type rig struct {
	t    *testing.T
	card *card
}

// newRig opens the device, or skips the test with the reason why there is none. What the rig allocates lives until the
// test ends.
func newRig(t *testing.T) *rig {
	t.Helper()
	gputest.Need(t, ".")
	c := must.Get(sharedCard())(t)
	return &rig{t, c}
}

func (r *rig) do(f func() error) {
	r.t.Helper()
	if err := r.card.thread.Do(f); err != nil {
		r.t.Fatal(err)
	}
}

// unset is the value of every byte that nothing was written to: a NaN as float and as bfloat16, −1 as an integer.
const unset = 0xff

// alloc returns bytes of device memory, all unset.
func (r *rig) alloc(bytes int) (at uint64) {
	r.t.Helper()
	r.do(func() error {
		p, err := r.card.device.Alloc(int64(max(bytes, 1)))
		if err != nil {
			return err
		}
		at = uint64(p)
		poison := make([]byte, bytes)
		for i := range poison {
			poison[i] = unset
		}
		return r.card.device.CopyToDevice(p, poison)
	})
	r.card.comparison.allocated[at] = bytes
	r.t.Cleanup(func() {
		delete(r.card.comparison.allocated, at)
		if err := r.card.thread.Do(func() error { return r.card.device.Free(driver.Ptr(at)) }); err != nil {
			r.t.Error(err)
		}
	})
	return at
}

// upload returns the address of a copy of x; 0 for nil.
func upload[T driver.Scalar](r *rig, x []T) (at uint64) {
	r.t.Helper()
	if x == nil {
		return 0
	}
	b := driver.Bytes(x)
	at = r.alloc(len(b))
	r.do(func() error { return r.card.device.CopyToDevice(driver.Ptr(at), b) })
	return at
}

// uploadStruct is upload for structures without padding, such as the mirrors.
func uploadStruct[T any](r *rig, x ...T) uint64 {
	r.t.Helper()
	return upload(r, unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0]))))
}

// blank returns room for n elements, unset.
func blank[T driver.Scalar](r *rig, n int) uint64 {
	r.t.Helper()
	var one T
	return r.alloc(n * int(unsafe.Sizeof(one)))
}

// download returns the n elements at an address.
func download[T driver.Scalar](r *rig, at uint64, n int) []T {
	r.t.Helper()
	x := make([]T, n)
	r.do(func() error { return r.card.device.CopyFromDevice(driver.Bytes(x), driver.Ptr(at)) })
	return x
}

// launch runs a kernel on a grid of g.X × room blocks and waits for it. On the emulator it compares the PTX, too. args
// points to its arguments.
func launch[A any](r *rig, kernel string, g Launch, room int, args *A) {
	r.t.Helper()
	r.do(func() error {
		f, err := r.card.function(kernel)
		if err != nil {
			return err
		}
		if err := f.SetMaxDynamicShared(g.Shared); err != nil {
			return err
		}
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(args)), unsafe.Sizeof(*args))
		l := ptx.Launch{Grid: [2]int{g.X, room}, Threads: g.Threads, Shared: g.Shared, Args: bytes, Arch: r.card.arch}
		return r.card.comparison.launch(kernel, l, func() error {
			if err := f.Launch(l.Grid, l.Threads, l.Shared, r.card.stream, bytes); err != nil {
				return err
			}
			return r.card.device.Synchronize()
		})
	})
}

// wave has the contents of a Work. Slots are the slots in use. Behind them there is room for one more, which names no
// memory and which no kernel may touch: launch with room(), and check the memory behind the last client with untouched.
type wave struct {
	Slots                     []Slot
	E, B                      int
	Index                     []int32 // [K,E,B]; nil: 0, 1, 2 …
	Crop, Flip                []uint8 // [K,E,B,2], [K,E,B] or nil
	Count                     []int32 // [K,E]; nil: what Index says
	Seed, Round               uint32
	LR, WeightDecay, Momentum float32
	Clip                      float32
}

func (w *wave) clients() int { return len(w.Slots) }
func (w *wave) room() int    { return len(w.Slots) + 1 }

// work uploads a wave and returns its address.
func (r *rig) work(w wave) uint64 {
	r.t.Helper()
	if w.Index == nil {
		for i := range w.clients() * w.E * w.B {
			w.Index = append(w.Index, int32(i))
		}
	}
	if w.Count == nil {
		w.Count = counts(w.Index, w.B)
	}
	return uploadStruct(r, Work{
		Slots: uploadStruct(r, append(append([]Slot{}, w.Slots...), Slot{})...),
		Index: upload(r, w.Index), Crop: upload(r, w.Crop), Flip: upload(r, w.Flip), Count: upload(r, w.Count),
		Clients: uint32(w.clients()), Seed: w.Seed, Round: w.Round,
		LR: w.LR, WeightDecay: w.WeightDecay, Momentum: w.Momentum, Clip: w.Clip,
	})
}

// counts returns how many samples of every batch count.
func counts(index []int32, B int) []int32 {
	n := make([]int32, len(index)/B)
	for i, s := range index {
		if s >= 0 {
			n[i/B]++
		}
	}
	return n
}

// slots uploads rows [P], and with bf16 their copies, and returns a slot for each.
// The clients have the numbers 7, 8, 9 …
func (r *rig) slots(p precision, rows ...[]float32) []Slot {
	r.t.Helper()
	s := make([]Slot, len(rows))
	for k, row := range rows {
		s[k] = Slot{Row: upload(r, row), Client: uint32(7 + k)}
		s[k].Weights = s[k].Row
		if p.kind() == BF16 {
			s[k].Weights = p.upload(r, row)
		}
	}
	return s
}

// untouched fails unless the bytes from an address on are still unset.
func (r *rig) untouched(what string, at uint64, bytes int) {
	r.t.Helper()
	for i, b := range download[uint8](r, at, bytes) {
		if b != unset {
			r.t.Fatalf("%s: byte %d was written, want it untouched", what, i)
		}
	}
}

// same fails unless got and want are the same bits. One NaN is as good as another.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if g := got[i]; math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
			t.Fatalf("%s[%d]: got %g (%#x), want %g (%#x), exactly",
				what, i, g, math.Float32bits(g), w, math.Float32bits(w))
		}
	}
}

// eachBatch runs a test for every precision, number of clients and size, each with a rig and random numbers of its own.
func eachBatch[S any](t *testing.T, sizes []S, test func(r *rig, rnd *rand.Rand, p precision, K int, s S)) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for i, s := range sizes {
				t.Run(fmt.Sprintf("%s/K=%d_%+v", p.name, K, s), func(t *testing.T) {
					test(newRig(t), rand.New(rand.NewPCG(uint64(i), uint64(K))), p, K, s)
				})
			}
		}
	}
}

// plain is a wave of K clients for kernels that read nothing else of it.
func plain(K int) wave { return wave{Slots: make([]Slot, K), E: 1, B: 1} }

// exactly is a tolerance of [near].
func exactly(int) float64 { return 0 }

// near fails unless |got − want| ≤ tol(i) everywhere, and got is NaN or infinite where want is. why is the reason for
// the tolerance.
func near[F float32 | float64](
	t *testing.T, what string, got []F, want []float64, tol func(i int) float64, why string,
) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := float64(got[i])
		if math.IsNaN(w) && math.IsNaN(g) || g == w {
			continue
		}
		if diff := math.Abs(g - w); !(diff <= tol(i)) || math.IsInf(g, 0) || math.IsInf(w, 0) {
			t.Fatalf("%s[%d]: got %g, want %g ± %g (%s)", what, i, g, w, tol(i), why)
		}
	}
}
