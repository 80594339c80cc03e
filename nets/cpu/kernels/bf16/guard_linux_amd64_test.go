package bf16

import (
	"math"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guards hands out buffers that end right before, or begin right behind, a page without access. The other side has
// canaries: bytes that nobody may change.
type guards struct {
	behind bool // the page without access is behind the buffers
	mapped [][]byte
	lent   []loan
}

// loan is the memory between the pages without access, and the part of it that is a buffer.
type loan struct {
	all      []byte
	from, to int
}

const canary = 0xa5

// bothGuards runs a test with buffers that end before a page without access, and with ones that begin behind it.
func bothGuards(t *testing.T, test func(t *testing.T, g *guards)) {
	for _, behind := range []bool{true, false} {
		name := map[bool]string{true: "page behind", false: "page before"}[behind]
		t.Run(name, func(t *testing.T) {
			g := &guards{behind: behind}
			page := unix.Getpagesize()
			const buffers, pages = 12, 40
			for range buffers {
				const access, private = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON
				m, err := unix.Mmap(-1, 0, (pages+2)*page, access, private)
				if err != nil {
					t.Fatalf("mmap: %v", err)
				}
				t.Cleanup(func() { _ = unix.Munmap(m) })
				for _, guard := range [][]byte{m[:page], m[(pages+1)*page:]} {
					if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
						t.Fatalf("mprotect: %v", err)
					}
				}
				g.mapped = append(g.mapped, m[page:(pages+1)*page])
			}
			test(t, g)
		})
	}
}

// reset takes all buffers back.
func (g *guards) reset() { g.lent = g.lent[:0] }

// lend returns a buffer with a copy of x.
func lend[E any](g *guards, x []E) []E {
	all := g.mapped[len(g.lent)]
	size, margin := int(unsafe.Sizeof(x[0]))*len(x), 256
	if g.behind {
		all = all[len(all)-size-margin:]
	} else {
		all = all[:size+margin]
		margin = 0
	}
	for i := range all {
		all[i] = canary
	}
	g.lent = append(g.lent, loan{all, margin, margin + size})
	buffer := unsafe.Slice((*E)(unsafe.Pointer(&all[margin])), len(x))
	copy(buffer, x)
	return buffer
}

// operand returns an operand of exactly n elements of the variant amx, with buffers of g. Its numbers are NaN.
func (g *guards) operand(n int, split bool) (o Operand[float32]) {
	x := make([]uint16, n)
	for i := range x {
		x[i] = 0xffff
	}
	for part := range parts(split) {
		o.narrow[part] = lend(g, x)
	}
	return o
}

// intact fails unless all canaries are alive.
func (g *guards) intact(t *testing.T, what string) {
	t.Helper()
	for n, l := range g.lent {
		for i, b := range l.all {
			if (i < l.from || i >= l.to) && b != canary {
				t.Fatalf("%s: buffer %d of %d bytes: wrote at byte %d", what, n, l.to-l.from, i-l.from)
			}
		}
	}
}

// wantNarrow fails unless the elements of an operand of the variant amx are those of want, of the generic one. at
// returns where element i of want is. The elements that it does not return must be untouched NaN of guards.operand.
func wantNarrow(t *testing.T, what string, got, want Operand[float32], n int, at func(i int) int) {
	t.Helper()
	for part := range 2 {
		if want.wide[part] == nil {
			continue
		}
		named := make([]bool, len(got.narrow[part]))
		for i := range n {
			w, g := want.wide[part][i], got.narrow[part][at(i)]
			named[at(i)] = true
			if math.Float32bits(w) != uint32(g)<<16 && (w == w || !isNaN(g)) {
				t.Fatalf("%s: part %d: element %d, at %d: got %#x, want %#x",
					what, part, i, at(i), g, math.Float32bits(w)>>16)
			}
		}
		for i, x := range got.narrow[part] {
			if !named[i] && x != 0xffff {
				t.Fatalf("%s: part %d: wrote at %d, outside the result", what, part, i)
			}
		}
	}
}

// isNaN reports whether a bfloat16 is NaN.
func isNaN(x uint16) bool { return x&0x7f80 == 0x7f80 && x&0x7f != 0 }
