package gpu

import (
	"fmt"
	"math"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/ptx"
	"rollcall/nets/models"
)

// The limits of the smallest cards that the engine accepts: compute capability 8.6 and 8.9.
const (
	leastShared  = 99 << 10 // bytes that a block may have, static and dynamic
	leastThreads = 1536     // of a multiprocessor
	mostX        = math.MaxInt32
)

// compiledKernels holds the kernels of the modules that were read so far.
type compiledKernels map[string]*ptx.Kernel

// of returns a kernel as its PTX says. The first call for a module reads it.
func (all compiledKernels) of(t *testing.T, kernel string) *ptx.Kernel {
	t.Helper()
	if all[kernel] == nil {
		m, ok := kernels.Find(kernel)
		if !ok {
			t.Fatalf("%s: in none of the modules", kernel)
		}
		for _, k := range must.Get(ptx.Parse(m.PTX))(t).Kernels {
			if k.Threads == 0 {
				t.Errorf("%s: not compiled for a number of threads", k.Name)
			}
			all[k.Name] = k
		}
	}
	return all[kernel]
}

// Every launch of every net, in every precision and with every size of batch, fits the smallest card: the card has the
// shared memory, and the registers too, since the launch has as many threads as its kernel was compiled for.
func TestEveryCard(t *testing.T) {
	compiled := compiledKernels{}
	// two instances, of which one runs
	if k := compiled.of(t, "norm_moments_tf32"); k.Shared != 8192+8192 || k.Threads != 256 {
		t.Fatalf("norm_moments_tf32: %d bytes of shared memory and %d threads, want 16,384 and 256: "+
			"is the PTX read rightly?", k.Shared, k.Threads)
	}
	if k := compiled.of(t, "conv_forward_tf32"); k.Threads != 128 || k.Resident != 3 {
		t.Fatalf("conv_forward_tf32: %d threads, %d blocks, want 128, 3: is the PTX read rightly?",
			k.Threads, k.Resident)
	}
	seen := map[string]bool{}
	for _, batch := range []int{1, 5, 20, 32, 50, 64, 128, 256, 512} {
		programs(t, batch, func(m *models.Model, precision Precision, key programKey, p *program) {
			for _, l := range p.launches {
				k, g := compiled.of(t, l.kernel), l.geometry(1)
				for _, slots := range []int{8, 48, 1000} {
					other := l.geometry(slots)
					if other.X > g.X || other.X < 1 || other.Threads != g.Threads || other.Shared != g.Shared {
						t.Errorf("%s %s of %s: %+v for %d slots, %+v for one: want no more blocks, the rest as for one",
							m.Name, l.kernel, l.layer, other, slots, g)
					}
				}
				seen[l.kernel] = true
				what := fmt.Sprintf("%s %s B=%d: %s of %s (%+v, compiled for %d threads, %d blocks)",
					m.Name, precision, batch, l.kernel, l.layer, g, k.Threads, k.Resident)
				if shared := g.Shared + k.Shared; shared > leastShared {
					t.Errorf("%s: %d bytes of shared memory, want at most %d", what, shared, leastShared)
				}
				if g.Threads > k.Threads || g.Threads%32 != 0 || k.Threads*k.Resident > leastThreads {
					t.Errorf("%s: want whole warps, as compiled for or fewer, and %d threads at most in all blocks",
						what, leastThreads)
				}
				if g.X < 1 || g.X > mostX {
					t.Errorf("%s: want 1 … %d blocks for a slot", what, mostX)
				}
			}
		})
	}
	if len(seen) < 60 {
		t.Errorf("%d kernels are launched, want most of the %d in their modules", len(seen), len(compiled))
	}
}
