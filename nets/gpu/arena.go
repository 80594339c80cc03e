package gpu

import (
	"cmp"
	"slices"
)

// buffer is an array of a program: n elements for every slot. Buffers that are not in use at the same time share
// memory.
type buffer struct {
	name   string // of the node of the net's graph, for messages
	n      int    // elements per slot
	size   int    // bytes of an element
	uses   []int  // launches of a step that read or write it, in order; the first one writes
	offset int64  // bytes from the start of the buffers' part of the arena
}

type buffers []*buffer

// bytes returns the bytes that a buffer takes for so many slots.
func (b *buffer) bytes(slots int) int64 {
	return int64(alignUp(b.n*b.size*slots, bufferAlign))
}

// bufferAlign is the alignment of cuMemAlloc, in bytes. Every piece of an arena has it too.
const bufferAlign = 256

// arrange gives every buffer its offset, such that buffers overlap only if they may share memory, and returns the bytes
// that all take together. The largest buffers come first, each at the lowest offset that is free: greedy by size, which
// wastes little and needs no search.
func arrange(buffers []*buffer, slots int, share func(a, b *buffer) bool) int64 {
	order := slices.Clone(buffers)
	slices.SortStableFunc(order, func(a, b *buffer) int { return cmp.Compare(b.bytes(slots), a.bytes(slots)) })
	var placed []*buffer // by offset
	var total int64
	for _, b := range order {
		b.offset = 0
		for _, other := range placed {
			if share(b, other) {
				continue
			}
			if b.offset+b.bytes(slots) <= other.offset {
				break
			}
			b.offset = max(b.offset, other.offset+other.bytes(slots))
		}
		at, _ := slices.BinarySearchFunc(placed, b, func(x, y *buffer) int { return cmp.Compare(x.offset, y.offset) })
		placed = slices.Insert(placed, at, b)
		total = max(total, b.offset+b.bytes(slots))
	}
	return total
}
