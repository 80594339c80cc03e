// Package guarded lends tests buffers around which no access goes unseen.
package guarded

import (
	"testing"
	"unsafe"
)

// Place lends the buffers of a test case, so that accesses outside them are found: a write by the canaries around them,
// a write or a read by a page without access where the system has such.
type Place struct {
	Name string
	// room returns memory for the case's i-th buffer of n bytes, which begins at from and has canaries around it.
	room func(i, n int) (all []byte, from int)
	lent []loan
}

// loan is memory, and the part of it that is a buffer.
type loan struct {
	all      []byte
	from, to int
}

// margin is the number of canary bytes on a side that is not a guard page.
const (
	margin = 256
	canary = 0xa5
)

// Places returns every way of placing buffers: right behind or right before a page without access, or at an odd
// multiple of 4. A case has 12 buffers at most, of 64 pages at most with their margins.
func Places(t *testing.T) []*Place {
	return append(pages(t), &Place{Name: "unaligned", room: func(i, n int) ([]byte, int) {
		from := margin + 4*(2*i+1)
		return make([]byte, n+from+margin), from
	}})
}

// Reset takes all buffers back.
func (p *Place) Reset() { p.lent = p.lent[:0] }

// Lend returns a buffer with a copy of x; x itself if it is empty.
func Lend[T any](p *Place, x []T) []T {
	if len(x) == 0 {
		return x
	}
	size := int(unsafe.Sizeof(x[0])) * len(x)
	all, from := p.room(len(p.lent), size)
	for i := range all {
		all[i] = canary
	}
	p.lent = append(p.lent, loan{all, from, from + size})
	buffer := unsafe.Slice((*T)(unsafe.Pointer(&all[from])), len(x))
	copy(buffer, x)
	return buffer
}

// Intact ends the test unless all canaries are alive.
func (p *Place) Intact(t *testing.T, what string) {
	t.Helper()
	for n, l := range p.lent {
		for i, b := range l.all {
			if (i < l.from || i >= l.to) && b != canary {
				t.Fatalf("%s: buffer %d of %d bytes: wrote at byte %d", what, n, l.to-l.from, i-l.from)
			}
		}
	}
}
