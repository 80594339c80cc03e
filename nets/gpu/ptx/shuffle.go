package ptx

import (
	"math/bits"
)

// shuffle decodes shfl.sync.{idx,bfly}.b32 d, a, b, c, members.
func (d *decoder) shuffle() (action, error) {
	if err := d.count(5); err != nil {
		return nil, err
	}
	source := map[string]func(lane, b, low, segment int) int{
		"shfl.sync.idx.b32":  func(_, b, low, segment int) int { return low | b&^segment },
		"shfl.sync.bfly.b32": func(lane, b, _, _ int) int { return lane ^ b },
	}[d.Opcode]
	if source == nil {
		return nil, errUnknown
	}
	to, err := d.destination(d.operands[0], types["b32"], false)
	if err != nil {
		return nil, err
	}
	var at [4]int32 // a, b, c, members
	for i := range at {
		if at[i], err = d.value(d.operands[1+i], types["b32"], false); err != nil {
			return nil, err
		}
	}
	return func(w *warp, mask uint32) {
		a, b, c, members := *w.value(at[0]), w.value(at[1]), w.value(at[2]), w.value(at[3])
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			if uint32(members[l])&w.alive != mask {
				w.fail(1<<l, "lanes %08x are here, want %08x", mask, members[l])
				return
			}
			// The ISA's names: b is bval, and c holds cval and segmask.
			clamp, segment := int(c[l])&31, int(c[l])>>8&31
			low := l & segment
			from := source(l, int(b[l])&31, low, segment)
			if from > low|clamp&^segment {
				from = l
			}
			if mask>>from&1 == 0 {
				w.fail(1<<l, "reads lane %d, which is not here", from)
				return
			}
			w.registers[to][l] = a[from]
		}
	}, nil
}
