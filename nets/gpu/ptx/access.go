package ptx

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// access is a decoded ld or st.
type access struct {
	space  space
	bytes  int      // of one element
	signed bool     // a load extends the sign to the register's size
	values []int32  // the registers or constants, one per element
	masks  []uint64 // of a load: the bits of each register
	base   int32    // the register or constant of the address
	narrow bool     // the address has 32 bits
	offset uint64   // is added to the base
}

// pointer decodes [register or symbol + offset].
func (d *decoder) pointer(o operand, s space) (base int32, narrow bool, offset uint64, err error) {
	if !o.memory {
		return 0, false, 0, fmt.Errorf("%s is no address", o.text)
	}
	offset = uint64(o.offset)
	if o.register >= 0 {
		r := d.kernel.registers[o.register]
		narrow = r.typ.bits == 32
		if r.typ.kind == 'p' || r.typ.kind == 'f' || r.typ.bits < 32 || narrow && s != shared {
			return 0, false, 0, fmt.Errorf("%s is no address: %s is %v", o.text, r.name, r.typ)
		}
		return o.register, narrow, offset, nil
	}
	at, ok := d.symbols[o.symbol]
	if !ok {
		return 0, false, 0, fmt.Errorf("%s: unknown symbol", o.text)
	}
	return d.constant(at), false, offset, nil
}

// access decodes what ld and st have in common: the state space, the number of elements, the type.
func (d *decoder) access(memory, data operand) (a access, t typ, err error) {
	_, form, _ := strings.Cut(d.Opcode, ".") // such as shared.v4.f32
	first, rest, _ := strings.Cut(form, ".")
	if s, ok := spaces[first]; ok {
		a.space, form = s, rest
	}
	n := 1
	switch first, rest, _ := strings.Cut(form, "."); first {
	case "v2":
		n, form = 2, rest
	case "v4":
		n, form = 4, rest
	}
	t, ok := types[form]
	if !ok || t.kind == 'p' || n*t.bits > 128 {
		return a, t, errUnknown
	}
	a.bytes, a.signed = t.bits/8, t.kind == 's'
	elements, err := d.vector(data, n)
	if err != nil {
		return a, t, err
	}
	for _, e := range elements {
		v, err := d.value(e, t, true)
		if err != nil {
			return a, t, err
		}
		a.values = append(a.values, v)
	}
	a.base, a.narrow, a.offset, err = d.pointer(memory, a.space)
	return a, t, err
}

func (d *decoder) load() (action, error) {
	if err := d.count(2); err != nil {
		return nil, err
	}
	a, t, err := d.access(d.operands[1], d.operands[0])
	if err != nil {
		return nil, err
	}
	elements, _ := d.vector(d.operands[0], len(a.values)) // access has found as many
	for _, e := range elements {
		n, err := d.destination(e, t, true)
		if err != nil {
			return nil, err
		}
		a.masks = append(a.masks, d.kernel.registers[n].typ.mask())
	}
	return func(w *warp, mask uint32) { w.load(&a, mask) }, nil
}

func (d *decoder) store() (action, error) {
	if err := d.count(2); err != nil {
		return nil, err
	}
	a, _, err := d.access(d.operands[0], d.operands[1])
	if err != nil {
		return nil, err
	}
	if a.space == param {
		return nil, errUnknown
	}
	return func(w *warp, mask uint32) { w.store(&a, mask) }, nil
}

// locate puts the addresses of an access into w.addresses.
func (w *warp) locate(base int32, narrow bool, offset uint64) {
	from := w.value(base)
	for l := range w.addresses {
		w.addresses[l] = from[l] + offset
	}
	if narrow {
		for l := range w.addresses {
			w.addresses[l] &= 1<<32 - 1
		}
	}
}

// traffic counts an access to w.addresses of so many bytes per lane. Lanes with generic addresses of shared memory
// count as accesses of shared memory. cached says that the access reads through L1.
func (w *warp) traffic(s space, mask uint32, bytes int, cached bool) {
	if !w.launch.Traffic || s == param {
		return
	}
	inShared := uint32(0)
	for l, at := range w.addresses {
		if s == shared || s == generic && at-sharedWindow < sharedMost {
			inShared |= 1 << l
		}
	}
	w.counts.Wavefronts[w.at] += wavefronts(&w.addresses, mask&inShared, bytes)
	var touched [warpLanes]uint64
	n := sectors(&w.addresses, mask&^inShared, &touched)
	for _, sector := range touched[:n] {
		if !cached || !w.l1.read(sector) {
			w.counts.Sectors[w.at]++
		}
	}
}

func (w *warp) load(a *access, mask uint32) {
	w.locate(a.base, a.narrow, a.offset)
	n := a.bytes * len(a.values)
	w.traffic(a.space, mask, n, true)
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		b := w.bytesAt(a.space, l, w.addresses[l], n)
		if b == nil {
			return
		}
		for i, to := range a.values {
			v := read(b[i*a.bytes:][:a.bytes])
			if a.signed {
				empty := 64 - 8*a.bytes
				v = uint64(int64(v<<empty)>>empty) & a.masks[i]
			}
			w.registers[to][l] = v
		}
	}
}

func (w *warp) store(a *access, mask uint32) {
	w.locate(a.base, a.narrow, a.offset)
	n := a.bytes * len(a.values)
	w.traffic(a.space, mask, n, false)
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		b := w.bytesAt(a.space, l, w.addresses[l], n)
		if b == nil {
			return
		}
		for i, from := range a.values {
			write(b[i*a.bytes:][:a.bytes], w.value(from)[l])
		}
	}
}

// copies are the asynchronous copies of a warp that have not arrived.
type copies struct {
	pending []pending
	groups  [warpLanes]int // how many groups each lane has committed
}

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
