package bf16

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rollcall/nets/cpu/kernels/bf16/tiles"
)

// needHardware skips a test unless the processor itself runs the instructions of AMX.
func needHardware(t *testing.T) {
	t.Helper()
	needAMX(t)
	amx{}.Multiply(&Product[float32]{
		A: amx{}.NewOperand(2), B: amx{}.NewOperand(2), C: make([]float32, 1),
		M: 1, N: 1, Segs: 1, Chunks: 1, Size: 2, Runs: 1,
	})
	if tiles.Emulated() > 0 {
		t.Skip("the processor has no AMX: its instructions are emulated")
	}
}

// TestAMXEmulator compares the arithmetic of the emulator with that of plain Go, and with that of the processor if it
// has AMX, on all sorts of bfloat16. Operands of other tests are rounded, and so never subnormal.
func TestAMXEmulator(t *testing.T) {
	needAMX(t)
	if _, why := tiles.Install(); why != "" {
		t.Skip(why)
	}
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 300 {
		m, n, pairs := 1+r.IntN(16), 1+r.IntN(16), 1+r.IntN(16)
		k := amx{}
		p := Product[float32]{
			M: m, N: n, Segs: 1, Chunks: 1, Size: 2 * pairs, Runs: 1, ARow: 2 * pairs, CRow: n, Acc: true,
		}
		p.A, p.B = k.NewOperand(m*2*pairs), k.NewOperand(2*pairs*n)
		for _, x := range [][]uint16{p.A.narrow()[0], p.B.narrow()[0]} {
			for j := range x {
				switch x[j] = uint16(r.Uint32()); i % 3 { // any bfloat16, NaN and subnormal numbers among them
				case 1: // sums near the subnormal numbers
					x[j] = x[j]&0x803f | 0x2000
				case 2: // sums that cancel
					x[j] = x[j]&0x80ff | 0x3f00
				}
			}
		}
		p.C = bits(r, m*n, 20)
		before := slices.Clone(p.C)
		emulated, plain := slices.Clone(p.C), p
		tiles.Multiply(emulated, p.A.narrow()[0], p.B.narrow()[0], m, n, pairs)
		k.Multiply(&p)
		wantBits(t, "C", p.C, emulated)
		// The same operands as float32, with the rows of B one by one.
		plain.A, plain.B = newWide[float32](m*2*pairs, false), newWide[float32](2*pairs*n, false)
		for j := range plain.A.wide()[0] {
			plain.A.wide()[0][j] = widen(p.A.narrow()[0][j])
		}
		for q := range 2 * pairs {
			for j := range n {
				plain.B.wide()[0][q*n+j] = widen(p.B.narrow()[0][q/2*2*n+2*j+q%2])
			}
		}
		plain.C = before
		Generic[float32](false).Multiply(&plain)
		wantBits(t, "C by the emulator", emulated, plain.C)
	}
}

// widen returns a bfloat16 as float32.
func widen(x uint16) float32 { return math.Float32frombits(uint32(x) << 16) }

// TestAMXPreempted multiplies on more goroutines than there are threads, while the garbage collector and signals
// interrupt them all the time: tiles are lost if the operating system does not save them.
func TestAMXPreempted(t *testing.T) {
	needHardware(t)
	const goroutines = 8
	stop := time.Now().Add(3 * time.Second)
	var products atomic.Int64
	var workers, others sync.WaitGroup
	done := make(chan struct{})
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
				// Go's runtime ignores a signal that it did not send.
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGURG)
			}
		}
	})
	for g := range goroutines {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(11, uint64(g)))
			s := randomSample(r, 32, 32, 0, 1)
			split := g%2 == 1
			want := s.by(Generic[float32](split))
			for time.Now().Before(stop) {
				for i, got := range s.by(amx{split}) {
					if math.Float32bits(got) != math.Float32bits(want[i]) {
						t.Errorf("goroutine %d: C[%d]: got %g, want %g, bit for bit", g, i, got, want[i])
						return
					}
				}
				products.Add(1)
			}
		})
	}
	workers.Wait()
	close(done)
	others.Wait()
	t.Logf("%d products", products.Load())
}
