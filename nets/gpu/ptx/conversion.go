package ptx

import (
	"math"
)

// conversions are cvt. Only the low bits of an operand that is wider than its type count.
var conversions = table{
	"cvt.u64.u32": {"u64 u32", func(a, _, _ uint64) uint64 { return low(a) }},
	"cvt.u32.u64": {"u32 u64", func(a, _, _ uint64) uint64 { return low(a) }},
	"cvt.u32.u16": {"u32 u16", func(a, _, _ uint64) uint64 { return a & 0xffff }},
	"cvt.u16.u32": {"u16 u32", func(a, _, _ uint64) uint64 { return a & 0xffff }},

	"cvt.f64.f32":    {"f64 f32", func(a, _, _ uint64) uint64 { return math.Float64bits(float64(float(a))) }},
	"cvt.rn.f32.f64": {"f32 f64", func(a, _, _ uint64) uint64 { return float32Bits(float32(double(a))) }},
	"cvt.rn.f32.u32": {"f32 u32", func(a, _, _ uint64) uint64 { return float32Bits(float32(uint32(a))) }},
	"cvt.rn.f64.u32": {"f64 u32", func(a, _, _ uint64) uint64 { return math.Float64bits(float64(uint32(a))) }},
	"cvt.rn.f64.s32": {"f64 s32", func(a, _, _ uint64) uint64 { return math.Float64bits(float64(signed(a))) }},
	"cvt.rn.f64.s64": {"f64 s64", func(a, _, _ uint64) uint64 { return math.Float64bits(float64(int64(a))) }},

	"cvt.rzi.s32.f64": {"s32 f64", func(a, _, _ uint64) uint64 { return towardZero(double(a)) }},

	"cvt.rna.tf32.f32": {"b32 f32", func(a, _, _ uint64) uint64 { return tf32(uint32(a)) }},
	"cvt.rn.bf16.f32":  {"b16 f32", func(a, _, _ uint64) uint64 { return bf16(uint32(a)) }},
	// The first operand goes to the upper half.
	"cvt.rn.bf16x2.f32": {"b32 f32 f32", func(a, b, _ uint64) uint64 { return bf16(uint32(a))<<16 | bf16(uint32(b)) }},
}

// towardZero returns an s32: the nearest one for numbers beyond, 0 for NaN.
func towardZero(x float64) uint64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt32:
		return math.MaxInt32
	case x <= math.MinInt32:
		return 1 << 31
	}
	return low(uint64(int64(x)))
}

// tf32 rounds an f32 to 10 bits of mantissa, ties away from zero. Infinities and NaN keep what they are; the 13 low
// bits, which the ISA leaves open, are 0.
func tf32(x uint32) uint64 {
	if x<<1 > 0xff<<24 {
		return nan32 &^ 0x1fff
	}
	return uint64((x + 0x1000) &^ 0x1fff)
}

// bf16 rounds an f32 to 7 bits of mantissa, ties to even. A NaN becomes 0x7fff.
func bf16(x uint32) uint64 {
	if x<<1 > 0xff<<24 {
		return 0x7fff
	}
	return uint64((x + 0x7fff + x>>16&1) >> 16)
}

// pack decodes mov.b32 d, {a, b} and mov.b64 {a, b}, d: halves, the low one first.
func (d *decoder) pack() (action, error) {
	opcodes := map[string][2]typ{"mov.b32": {types["b32"], types["b16"]}, "mov.b64": {types["b64"], types["b32"]}}
	t, ok := opcodes[d.Opcode]
	if !ok {
		return nil, errUnknown
	}
	whole, parts := t[0], t[1]
	if len(d.operands[0].elements) > 0 {
		return d.unpack(whole, parts)
	}
	to, err := d.destination(d.operands[0], whole, false)
	if err != nil {
		return nil, err
	}
	halves, err := d.vector(d.operands[1], 2)
	if err != nil {
		return nil, err
	}
	lowHalf, err := d.value(halves[0], parts, false)
	if err != nil {
		return nil, err
	}
	highHalf, err := d.value(halves[1], parts, false)
	join := func(a, b, _ uint64) uint64 { return a | b<<parts.bits }
	return apply(operation{f: join}, [4]int32{to, lowHalf, highHalf, lowHalf}, ""), err
}

func (d *decoder) unpack(whole, parts typ) (action, error) {
	halves, err := d.registersOf(d.operands[0], 2, parts)
	if err != nil {
		return nil, err
	}
	from, err := d.value(d.operands[1], whole, false)
	half := func(i int, f function) action {
		return apply(operation{f: f}, [4]int32{halves[i], from, from, from}, "")
	}
	lowHalf := half(0, func(a, _, _ uint64) uint64 { return a & parts.mask() })
	highHalf := half(1, func(a, _, _ uint64) uint64 { return a >> parts.bits })
	return func(w *warp, mask uint32) {
		lowHalf(w, mask) // the halves are smaller than `from`, so it is neither of them
		highHalf(w, mask)
	}, err
}
