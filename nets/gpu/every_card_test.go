package gpu

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/models"
)

// The limits of the smallest cards that the engine accepts: compute capability 8.6 and 8.9.
const (
	leastShared  = 99 << 10 // bytes that a block may have, static and dynamic
	leastThreads = 1536     // of a multiprocessor
	mostX        = math.MaxInt32
)

var (
	ptxEntry  = regexp.MustCompile(`(?s)\.visible \.entry (\w+)\(.*?\n}`)
	ptxBounds = regexp.MustCompile(`\.maxntid (\d+), 1, 1\s*(?://[^\n]*)?\n(?:\.minnctapersm (\d+))?`)
	ptxShared = regexp.MustCompile(`(?m)^\s*\.shared \.align \d+ \.b8 (\w+)\[(\d+)\];`)
)

// compiled holds what a kernel's PTX says of its blocks.
type compiled struct {
	// that it is compiled for: the compiler gives each of them no more than 65,536/threads/resident registers
	threads  int
	resident int // blocks that a multiprocessor should hold
	static   int // bytes of shared memory that the kernel names
}

// compiledKernels holds the kernels of the modules that were read so far.
type compiledKernels map[string]compiled

// of returns what the PTX of a kernel says. The first call for a module reads it.
func (all compiledKernels) of(t *testing.T, kernel string) compiled {
	t.Helper()
	if k, ok := all[kernel]; ok {
		return k
	}
	number := func(s string) int {
		n := must.Get(strconv.Atoi(s))(t)
		return n
	}
	m, ok := kernels.Find(kernel)
	if !ok {
		t.Fatalf("%s: in none of the modules", kernel)
	}
	shared := ptxShared.FindAllStringSubmatch(m.PTX, -1)
	for _, entry := range ptxEntry.FindAllStringSubmatch(m.PTX, -1) {
		bounds := ptxBounds.FindStringSubmatch(entry[0])
		if bounds == nil {
			t.Errorf("%s: not compiled for a number of threads", entry[1])
			continue
		}
		k := compiled{threads: number(bounds[1]), resident: 1}
		if bounds[2] != "" {
			k.resident = number(bounds[2])
		}
		for _, s := range shared {
			if strings.Contains(entry[0], s[1]) {
				k.static += number(s[2])
			}
		}
		all[entry[1]] = k
	}
	for _, name := range m.Kernels {
		if all[name] == (compiled{}) {
			t.Errorf("%s: not found in the PTX of %s", name, m.Name)
		}
	}
	return all[kernel]
}

// Every launch of every net, in every precision and with every size of batch, fits the smallest card: the card has the
// shared memory, and the registers too, since the launch has as many threads as its kernel was compiled for.
func TestEveryCard(t *testing.T) {
	ptx := compiledKernels{}
	// two instances, of which one runs
	if k := ptx.of(t, "norm_moments_tf32"); k.static != 8192+8192 || k.threads != 256 {
		t.Fatalf("norm_moments_tf32: %+v, want 16,384 bytes of shared memory and 256 threads: "+
			"is the PTX read rightly?", k)
	}
	if k := ptx.of(t, "conv_forward_tf32"); k.threads != 128 || k.resident != 3 {
		t.Fatalf("conv_forward_tf32: %+v, want 128 threads, 3 blocks: is the PTX read rightly?", k)
	}
	seen := map[string]bool{}
	for _, batch := range []int{1, 5, 20, 32, 50, 64, 128, 256, 512} {
		programs(t, batch, func(m *models.Model, precision Precision, key programKey, p *program) {
			for _, l := range p.launches {
				k, g := ptx.of(t, l.kernel), l.geometry(1)
				for _, slots := range []int{8, 48, 1000} {
					other := l.geometry(slots)
					if other.X > g.X || other.X < 1 || other.Threads != g.Threads || other.Shared != g.Shared {
						t.Errorf("%s %s of %s: %+v for %d slots, %+v for one: want no more blocks, the rest as for one",
							m.Name, l.kernel, l.layer, other, slots, g)
					}
				}
				seen[l.kernel] = true
				what := fmt.Sprintf("%s %s B=%d: %s of %s (%+v, compiled %+v)",
					m.Name, precision, batch, l.kernel, l.layer, g, k)
				if shared := g.Shared + k.static; shared > leastShared {
					t.Errorf("%s: %d bytes of shared memory, want at most %d", what, shared, leastShared)
				}
				if g.Threads > k.threads || g.Threads%32 != 0 || k.threads*k.resident > leastThreads {
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
		t.Errorf("%d kernels are launched, want most of the %d in their modules", len(seen), len(ptx))
	}
}
