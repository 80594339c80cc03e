package ptx

import (
	"fmt"
	"math/bits"
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
