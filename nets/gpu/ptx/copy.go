package ptx

import (
	"math/bits"
	"slices"
	"strconv"
)

// copies are the asynchronous copies of a warp that have not arrived.
type copies struct {
	pending []pending
	groups  [warpLanes]int // how many groups each lane has committed
}

// pending is a copy of one lane.
type pending struct {
	lane, group int
	to          []byte // in shared memory
	data        [16]byte
}

// copyAsync decodes cp.async.{ca,cg}.shared.global [to], [from], size, used. Bytes beyond `used` are 0.
func (d *decoder) copyAsync() (action, error) {
	if err := d.count(4); err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(d.operands[2].text)
	sizes := map[string][]int{"cp.async.ca.shared.global": {4, 8, 16}, "cp.async.cg.shared.global": {16}}[d.Opcode]
	if err != nil || !slices.Contains(sizes, size) {
		return nil, errUnknown
	}
	to, toNarrow, toOffset, err := d.pointer(d.operands[0], shared)
	if err != nil {
		return nil, err
	}
	from, fromNarrow, fromOffset, err := d.pointer(d.operands[1], global)
	if err != nil {
		return nil, err
	}
	used, err := d.value(d.operands[3], types["u32"], false)
	if err != nil {
		return nil, err
	}
	cached := d.Opcode == "cp.async.ca.shared.global"
	return func(w *warp, mask uint32) {
		w.locate(from, fromNarrow, fromOffset)
		source := w.addresses
		w.traffic(global, mask&^w.zero(used), size, cached)
		w.locate(to, toNarrow, toOffset)
		w.traffic(shared, mask, size, false)
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			w.copy(l, w.addresses[l], source[l], size, int(w.value(used)[l]))
		}
	}, nil
}

// zero returns the lanes in which a register is 0.
func (w *warp) zero(register int32) (mask uint32) {
	for l, v := range w.value(register) {
		if v == 0 {
			mask |= 1 << l
		}
	}
	return mask
}

// copy begins the copy of one lane. Until it has arrived, the target is garbage.
func (w *warp) copy(l int, to, from uint64, size, used int) {
	if used > size {
		w.fail(1<<l, "copies %d bytes of %d", used, size)
		return
	}
	target := w.bytesAt(shared, l, to, size)
	if target == nil {
		return
	}
	p := pending{lane: l, group: w.copies.groups[l], to: target}
	switch {
	case from%uint64(size) != 0:
		w.fail(1<<l, "%#x is no multiple of %d", from, size)
	case used > 0:
		b := w.global.bytes(from, used)
		if b == nil {
			w.fail(1<<l, "%d bytes at %#x lie in no buffer", used, from)
			return
		}
		copy(p.data[:], b)
	}
	for i := range target {
		target[i] = garbage
	}
	w.copies.pending = append(w.copies.pending, p)
}

func (d *decoder) commit() (action, error) {
	return func(w *warp, mask uint32) {
		for m := mask; m != 0; m &= m - 1 {
			w.copies.groups[bits.TrailingZeros32(m)]++
		}
	}, d.count(0)
}

// wait decodes cp.async.wait_group n: all but the last n groups of the lane arrive.
func (d *decoder) wait() (action, error) {
	if err := d.count(1); err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(d.operands[0].text, 10, 31)
	return func(w *warp, mask uint32) {
		c := &w.copies
		left := c.pending[:0]
		for i := range c.pending {
			p := &c.pending[i]
			if mask>>p.lane&1 != 0 && p.group < c.groups[p.lane]-int(n) {
				copy(p.to, p.data[:])
			} else {
				left = append(left, *p)
			}
		}
		c.pending = left
	}, err
}
