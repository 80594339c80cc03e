package ptx

import (
	"math/bits"
)

const (
	warpLanes = 32
	all       = 1<<warpLanes - 1 // the mask of a whole warp
)

// lanes is a register of a warp: its value in every lane, the bits beyond its type 0.
type lanes [warpLanes]uint64

type warp struct {
	*block
	first     int    // the thread of lane 0
	alive     uint32 // the lanes that have not ended
	registers []lanes
	paths     []path
	copies    copies
	addresses lanes // of the access at hand
	at        int   // the instruction at hand
	fault     error
}

// path is a set of lanes that go the same way. Those of the last path run; where it comes to its join it is dropped,
// and the path before it, which waits there, goes on with the lanes of both.
type path struct {
	mask     uint32
	at, join int
}

// state says why a warp stopped.
type state int

const (
	waits state = iota // at a barrier
	ended
	faulty // see fault
)

func newWarp(b *block, first int) *warp {
	return &warp{block: b, first: first, registers: make([]lanes, len(b.kernel.registers))}
}

// begin sets a warp to the first instruction. Its registers are garbage: every bit is set.
func (w *warp) begin(threads int) {
	for i, r := range w.kernel.registers {
		w.registers[i] = *unset[r.typ.bits]
	}
	for l := range warpLanes {
		for i, v := range []int{
			w.first + l, w.launch.Threads, w.place[0], w.place[1], w.launch.Grid[0], w.launch.Grid[1],
		} {
			w.registers[i][l] = uint64(v)
		}
	}
	w.alive, w.at, w.copies = all>>(warpLanes-threads), 0, copies{}
	w.paths = append(w.paths[:0], path{mask: w.alive, join: len(w.kernel.steps)})
}

// unset are registers that nothing was written to, by their bits.
var unset = func() (all [65]*lanes) {
	for _, t := range types {
		all[t.bits] = new(lanes)
		for l := range warpLanes {
			all[t.bits][l] = t.mask()
		}
	}
	return all
}()

// value returns the lanes of a register or of a constant.
func (w *warp) value(n int32) *lanes {
	if n < 0 {
		return &w.kernel.constants[^n]
	}
	return &w.registers[n]
}

// run goes on until a barrier, the end, or a fault.
func (w *warp) run() state {
	for len(w.paths) > 0 {
		p := &w.paths[len(w.paths)-1]
		if p.at == p.join || p.mask == 0 {
			w.paths = w.paths[:len(w.paths)-1]
			continue
		}
		w.at = p.at
		s := &w.kernel.steps[p.at]
		mask := w.guarded(s, p.mask)
		w.counts.Warps[p.at]++
		w.counts.Threads[p.at] += int64(bits.OnesCount32(mask))
		switch s.kind {
		case branch:
			w.branch(s, mask)
			continue
		case exit:
			w.exit(mask)
		case barrier:
			if p.mask != w.alive || mask != p.mask {
				w.fail(mask, "lanes %08x of %08x come to the barrier", mask, w.alive)
				return faulty
			}
			p.at++
			return waits
		default:
			if mask != 0 {
				s.run(w, mask)
			}
		}
		if w.fault != nil {
			return faulty
		}
		p.at++
	}
	return ended
}

// guarded returns the lanes of a mask in which an instruction runs.
func (w *warp) guarded(s *step, mask uint32) uint32 {
	if s.guard < 0 {
		return mask
	}
	var set uint32
	for l, v := range &w.registers[s.guard] {
		set |= uint32(v) << l
	}
	if s.negate {
		set = ^set
	}
	return mask & set
}

// branch sends the lanes of a mask to the target, and the others of the path on.
func (w *warp) branch(s *step, mask uint32) {
	p := &w.paths[len(w.paths)-1]
	rest := p.mask &^ mask
	switch {
	case mask == 0:
		p.at++
	case rest == 0:
		p.at = s.target
	default:
		on := p.at + 1
		p.at = s.join
		w.paths = append(w.paths, path{rest, on, s.join}, path{mask, s.target, s.join})
	}
}

func (w *warp) exit(mask uint32) {
	w.alive &^= mask
	for i := range w.paths {
		w.paths[i].mask &^= mask
	}
}

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
