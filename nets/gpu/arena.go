package gpu

import (
	"cmp"
	"slices"
)

// buffer is memory that the kernels of a program share: n elements of every slot.
type buffer struct {
	name        string // the graph's node it holds
	n           int    // elements per slot
	size        int    // bytes of an element
	first, last int    // launches between which it is in use
	offset      int64  // in the arena
}

// bytes is what a buffer takes with room for so many slots.
func (b *buffer) bytes(room int) int64 {
	return int64(alignUp(b.n*b.size*room, bufferAlign))
}

// bufferAlign is what cuMemAlloc itself gives.
const bufferAlign = 256

// arrange places buffers in one arena, so that those in use at the same time do not overlap, and returns its size.
// Large ones go first, each to the lowest place that is free.
func arrange(buffers []*buffer, room int) int64 {
	order := slices.Clone(buffers)
	slices.SortStableFunc(order, func(a, b *buffer) int { return cmp.Compare(b.bytes(room), a.bytes(room)) })
	var placed []*buffer // by offset
	var total int64
	for _, b := range order {
		b.offset = 0
		for _, other := range placed {
			if other.last < b.first || b.last < other.first {
				continue
			}
			if b.offset+b.bytes(room) <= other.offset {
				break
			}
			b.offset = max(b.offset, other.offset+other.bytes(room))
		}
		at, _ := slices.BinarySearchFunc(placed, b, func(x, y *buffer) int { return cmp.Compare(x.offset, y.offset) })
		placed = slices.Insert(placed, at, b)
		total = max(total, b.offset+b.bytes(room))
	}
	return total
}
