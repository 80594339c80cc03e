package ptx

import (
	"maps"
	"math"
	"math/bits"
	"strings"
)

// operation is an instruction that computes one register from up to three operands, lane by lane.
type operation struct {
	types []typ // of the result and of the operands
	f     function
}

// function computes the bits of a result from those of the operands; bits beyond their types are 0. Operands of a
// conversion may have bits beyond, which do not count.
type function func(a, b, c uint64) uint64

// table has operations by the opcode. Every one begins with the types: the result's, then those of the operands.
type table map[string]struct {
	types string
	f     function
}

var operations = func() map[string]operation {
	all := table{}
	for _, t := range []table{moves, integers, comparisons, floats, doubles, conversions} {
		maps.Copy(all, t)
	}
	decoded := map[string]operation{}
	for opcode, o := range all {
		op := operation{f: o.f}
		for name := range strings.FieldsSeq(o.types) {
			op.types = append(op.types, types[name])
		}
		decoded[opcode] = op
	}
	return decoded
}()

// Operations returns the opcodes of all instructions that compute one register from up to three operands, with the
// types of the result and of the operands: "setp.lt.s32" has pred, s32 and s32.
func Operations() map[string][]string {
	all := map[string][]string{}
	for opcode, o := range operations {
		for _, t := range o.types {
			all[opcode] = append(all[opcode], strings.TrimPrefix(t.String(), "."))
		}
	}
	return all
}

// apply returns the action of an operation on registers: the result and three operands.
func apply(op operation, at [4]int32, opcode string) action {
	f, whole := op.f, wide[opcode]
	return func(w *warp, mask uint32) {
		d, a, b, c := w.value(at[0]), w.value(at[1]), w.value(at[2]), w.value(at[3])
		switch {
		case mask != all:
			for ; mask != 0; mask &= mask - 1 {
				l := bits.TrailingZeros32(mask)
				d[l] = f(a[l], b[l], c[l])
			}
		case whole != nil:
			whole(d, a, b, c)
		default:
			for l := range d {
				d[l] = f(a[l], b[l], c[l])
			}
		}
	}
}

// moves are instructions that hand a value on.
var moves = table{
	"mov.pred": {"pred pred", first}, "mov.u16": {"u16 u16", first}, "mov.b32": {"b32 b32", first},
	"mov.u32": {"u32 u32", first}, "mov.f32": {"f32 f32", first}, "mov.b64": {"b64 b64", first},
	"mov.u64": {"u64 u64", first}, "mov.f64": {"f64 f64", first},

	"selp.b32": {"b32 b32 b32 pred", choose}, "selp.u32": {"u32 u32 u32 pred", choose},
	"selp.s32": {"s32 s32 s32 pred", choose}, "selp.u16": {"u16 u16 u16 pred", choose},
	"selp.f32": {"f32 f32 f32 pred", choose}, "selp.b64": {"b64 b64 b64 pred", choose},
	"selp.f64": {"f64 f64 f64 pred", choose},

	// An address in global memory is its own generic address; shared memory has a window.
	"cvta.to.global.u64": {"u64 u64", first}, "cvta.global.u64": {"u64 u64", first},
	"cvta.shared.u64": {"u64 u64", func(a, _, _ uint64) uint64 { return a + sharedWindow }},
}

func first(a, _, _ uint64) uint64 { return a }

func choose(a, b, c uint64) uint64 {
	if c != 0 {
		return a
	}
	return b
}

// integers are the arithmetic and the logic of integers and of predicates. Results wrap around.
var integers = table{
	"add.s32":    {"s32 s32 s32", func(a, b, _ uint64) uint64 { return low(a + b) }},
	"add.s64":    {"s64 s64 s64", func(a, b, _ uint64) uint64 { return a + b }},
	"sub.s32":    {"s32 s32 s32", func(a, b, _ uint64) uint64 { return low(a - b) }},
	"sub.s64":    {"s64 s64 s64", func(a, b, _ uint64) uint64 { return a - b }},
	"neg.s32":    {"s32 s32", func(a, _, _ uint64) uint64 { return low(-a) }},
	"mul.lo.s32": {"s32 s32 s32", func(a, b, _ uint64) uint64 { return low(a * b) }},
	"mul.lo.s64": {"s64 s64 s64", func(a, b, _ uint64) uint64 { return a * b }},
	"mul.hi.u32": {"u32 u32 u32", func(a, b, _ uint64) uint64 { return a * b >> 32 }},
	"mad.lo.s32": {"s32 s32 s32 s32", func(a, b, c uint64) uint64 { return low(a*b + c) }},

	"mul.wide.u16": {"u32 u16 u16", func(a, b, _ uint64) uint64 { return a * b }},
	"mul.wide.u32": {"u64 u32 u32", func(a, b, _ uint64) uint64 { return a * b }},
	"mul.wide.s32": {"s64 s32 s32", func(a, b, _ uint64) uint64 { return uint64(signed(a) * signed(b)) }},

	// The ISA leaves the result of a division by 0 open.
	"div.u32": {"u32 u32 u32", func(a, b, _ uint64) uint64 {
		if b == 0 {
			return 1<<32 - 1
		}
		return a / b
	}},
	"rem.u32": {"u32 u32 u32", func(a, b, _ uint64) uint64 {
		if b == 0 {
			return 1<<32 - 1
		}
		return a % b
	}},
	"min.u32": {"u32 u32 u32", func(a, b, _ uint64) uint64 { return min(a, b) }},
	"max.u32": {"u32 u32 u32", func(a, b, _ uint64) uint64 { return max(a, b) }},

	"and.b16":  {"b16 b16 b16", func(a, b, _ uint64) uint64 { return a & b }},
	"and.b32":  {"b32 b32 b32", func(a, b, _ uint64) uint64 { return a & b }},
	"and.b64":  {"b64 b64 b64", func(a, b, _ uint64) uint64 { return a & b }},
	"and.pred": {"pred pred pred", func(a, b, _ uint64) uint64 { return a & b }},
	"or.b32":   {"b32 b32 b32", func(a, b, _ uint64) uint64 { return a | b }},
	"or.b64":   {"b64 b64 b64", func(a, b, _ uint64) uint64 { return a | b }},
	"or.pred":  {"pred pred pred", func(a, b, _ uint64) uint64 { return a | b }},
	"xor.pred": {"pred pred pred", func(a, b, _ uint64) uint64 { return a ^ b }},
	"xor.b32":  {"b32 b32 b32", func(a, b, _ uint64) uint64 { return a ^ b }},
	"not.b32":  {"b32 b32", func(a, _, _ uint64) uint64 { return low(^a) }},
	"not.pred": {"pred pred", func(a, _, _ uint64) uint64 { return a ^ 1 }},

	// A shift by more than the bits there are is one by all of them, as Go's are.
	"shl.b32": {"b32 b32 u32", func(a, b, _ uint64) uint64 { return low(a << b) }},
	"shl.b64": {"b64 b64 u32", func(a, b, _ uint64) uint64 { return a << b }},
	"shr.u16": {"u16 u16 u32", func(a, b, _ uint64) uint64 { return a >> b }},
	"shr.u32": {"u32 u32 u32", func(a, b, _ uint64) uint64 { return a >> b }},
	"shr.s32": {"s32 s32 u32", func(a, b, _ uint64) uint64 { return low(uint64(signed(a) >> b)) }},
	"shr.u64": {"u64 u64 u32", func(a, b, _ uint64) uint64 { return a >> b }},
	"shr.s64": {"s64 s64 u32", func(a, b, _ uint64) uint64 { return uint64(int64(a) >> b) }},

	"bfe.u32": {"u32 u32 u32 u32", func(a, b, c uint64) uint64 { return a >> (b & 0xff) & (1<<(c&0xff) - 1) }},
}

// low returns the 32 low bits.
func low(x uint64) uint64 { return x & (1<<32 - 1) }

// signed returns the number that is an s32.
func signed(x uint64) int64 { return int64(int32(uint32(x))) }

// comparisons are setp. An ordered comparison of floating-point numbers is false where one is NaN; gtu is true then.
var comparisons = table{
	"setp.eq.b32": {"pred b32 b32", equal},
	"setp.eq.s32": {"pred s32 s32", equal},
	"setp.ne.s32": {"pred s32 s32", notEqual},
	"setp.lt.s32": {"pred s32 s32", func(a, b, _ uint64) uint64 { return truth(signed(a) < signed(b)) }},
	"setp.gt.s32": {"pred s32 s32", func(a, b, _ uint64) uint64 { return truth(signed(a) > signed(b)) }},
	"setp.lt.u32": {"pred u32 u32", func(a, b, _ uint64) uint64 { return truth(a < b) }},
	"setp.le.u32": {"pred u32 u32", func(a, b, _ uint64) uint64 { return truth(a <= b) }},
	"setp.gt.u32": {"pred u32 u32", func(a, b, _ uint64) uint64 { return truth(a > b) }},
	"setp.ge.u32": {"pred u32 u32", func(a, b, _ uint64) uint64 { return truth(a >= b) }},
	"setp.eq.s64": {"pred s64 s64", equal},
	"setp.ne.s64": {"pred s64 s64", notEqual},
	"setp.lt.s64": {"pred s64 s64", func(a, b, _ uint64) uint64 { return truth(int64(a) < int64(b)) }},
	"setp.lt.u64": {"pred u64 u64", func(a, b, _ uint64) uint64 { return truth(a < b) }},
	"setp.gt.u64": {"pred u64 u64", func(a, b, _ uint64) uint64 { return truth(a > b) }},

	"setp.eq.f32":  {"pred f32 f32", func(a, b, _ uint64) uint64 { return truth(float(a) == float(b)) }},
	"setp.lt.f32":  {"pred f32 f32", func(a, b, _ uint64) uint64 { return truth(float(a) < float(b)) }},
	"setp.le.f32":  {"pred f32 f32", func(a, b, _ uint64) uint64 { return truth(float(a) <= float(b)) }},
	"setp.gt.f32":  {"pred f32 f32", func(a, b, _ uint64) uint64 { return truth(float(a) > float(b)) }},
	"setp.gtu.f32": {"pred f32 f32", func(a, b, _ uint64) uint64 { return truth(!(float(a) <= float(b))) }},
	"setp.nan.f32": {"pred f32 f32", func(a, b, _ uint64) uint64 {
		return truth(float(a) != float(a) || float(b) != float(b))
	}},
	"setp.num.f32": {"pred f32 f32", func(a, b, _ uint64) uint64 {
		return truth(float(a) == float(a) && float(b) == float(b))
	}},
	"setp.eq.f64": {"pred f64 f64", func(a, b, _ uint64) uint64 { return truth(double(a) == double(b)) }},
	"setp.lt.f64": {"pred f64 f64", func(a, b, _ uint64) uint64 { return truth(double(a) < double(b)) }},
	"setp.gt.f64": {"pred f64 f64", func(a, b, _ uint64) uint64 { return truth(double(a) > double(b)) }},
	"setp.nan.f64": {"pred f64 f64", func(a, b, _ uint64) uint64 {
		return truth(math.IsNaN(double(a)) || math.IsNaN(double(b)))
	}},
}

func equal(a, b, _ uint64) uint64    { return truth(a == b) }
func notEqual(a, b, _ uint64) uint64 { return truth(a != b) }

// floats is the arithmetic of f32: IEEE 754, rounded to nearest even, subnormals kept. A NaN result is nan32, whatever
// NaN the operands were, but neg hands a NaN on as a quiet one.
var floats = table{
	"add.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) + float(b)) }},
	"sub.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) - float(b)) }},
	"mul.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) * float(b)) }},
	"div.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) / float(b)) }},
	"rcp.rn.f32":  {"f32 f32", func(a, _, _ uint64) uint64 { return float32Bits(1 / float(a)) }},
	"fma.rn.f32":  {"f32 f32 f32 f32", fma},
	"sqrt.rn.f32": {"f32 f32", func(a, _, _ uint64) uint64 { return float32Bits(sqrt32(float(a))) }},
	"neg.f32":     {"f32 f32", func(a, _, _ uint64) uint64 { return quiet(a ^ 1<<31) }},
	"max.f32":     {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(max32(float(a), float(b))) }},
	"max.NaN.f32": {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(max(float(a), float(b))) }},
}

func fma(a, b, c uint64) uint64 { return float32Bits(fma32(float(a), float(b), float(c))) }

// nan32 is the NaN that f32 instructions return.
const nan32 = 0x7fffffff

// float returns the number that an f32 is.
func float(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }

// float32Bits is the inverse of float for the result of an instruction.
func float32Bits(x float32) uint64 {
	if x != x {
		return nan32
	}
	return uint64(math.Float32bits(x))
}

// quiet makes an f32 that is a NaN a quiet one, with the sign and the other bits that it has.
func quiet(x uint64) uint64 {
	if float(x) != float(x) {
		x |= 1 << 22
	}
	return x
}

// max32 returns the number where one argument is NaN. +0 is larger than −0.
func max32(a, b float32) float32 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// sqrt32 rounds once: a root of 53 bits, rounded to 24, is the root rounded to 24.
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// fma32 returns a·b + c, rounded once. The product is exact in float64, and the sum is rounded there. Rounding it again
// is wrong only where the first rounding came to the middle between two float32.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	sum := p + float64(c)
	bits := math.Float64bits(sum)
	exponent := bits >> 52 & 0x7ff
	if sum == 0 || bits<<35 != 1<<63 && exponent >= 1023-126 || exponent == 0x7ff {
		return float32(sum)
	}
	return float32(odd(sum, p, float64(c)))
}

// odd returns a + b with a last bit of 1 where that is not exact, given their rounded sum. Rounded to fewer bits, it is
// what the exact sum is rounded to.
func odd(sum, a, b float64) float64 {
	back := sum - a
	lost := (a - (sum - back)) + (b - back) // exact: Knuth's TwoSum
	bits := math.Float64bits(sum)
	if lost == 0 || bits&1 == 1 {
		return sum
	}
	if (lost > 0) == (sum > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// doubles is the arithmetic of f64: IEEE 754, rounded to nearest even.
var doubles = table{
	"add.rn.f64":  {"f64 f64 f64", func(a, b, _ uint64) uint64 { return math.Float64bits(double(a) + double(b)) }},
	"sub.rn.f64":  {"f64 f64 f64", func(a, b, _ uint64) uint64 { return math.Float64bits(double(a) - double(b)) }},
	"mul.rn.f64":  {"f64 f64 f64", func(a, b, _ uint64) uint64 { return math.Float64bits(double(a) * double(b)) }},
	"div.rn.f64":  {"f64 f64 f64", func(a, b, _ uint64) uint64 { return math.Float64bits(double(a) / double(b)) }},
	"rcp.rn.f64":  {"f64 f64", func(a, _, _ uint64) uint64 { return math.Float64bits(1 / double(a)) }},
	"sqrt.rn.f64": {"f64 f64", func(a, _, _ uint64) uint64 { return math.Float64bits(math.Sqrt(double(a))) }},
	"neg.f64":     {"f64 f64", func(a, _, _ uint64) uint64 { return a ^ 1<<63 }},
	"fma.rn.f64": {"f64 f64 f64 f64", func(a, b, c uint64) uint64 {
		return math.Float64bits(math.FMA(double(a), double(b), double(c)))
	}},
}

// double returns the number that an f64 is.
func double(bits uint64) float64 { return math.Float64frombits(bits) }

// conversions are cvt. Only the low bits of an operand that is wider than its type count. Between f32 and f64 a NaN
// keeps its sign and its upper bits, and becomes a quiet one, as on a CPU.
var conversions = table{
	"cvt.u64.u32": {"u64 u32", func(a, _, _ uint64) uint64 { return low(a) }},
	"cvt.u32.u64": {"u32 u64", func(a, _, _ uint64) uint64 { return low(a) }},
	"cvt.u32.u16": {"u32 u16", func(a, _, _ uint64) uint64 { return a & 0xffff }},
	"cvt.u16.u32": {"u16 u32", func(a, _, _ uint64) uint64 { return a & 0xffff }},

	"cvt.f64.f32":    {"f64 f32", func(a, _, _ uint64) uint64 { return math.Float64bits(float64(float(a))) }},
	"cvt.rn.f32.f64": {"f32 f64", func(a, _, _ uint64) uint64 { return uint64(math.Float32bits(float32(double(a)))) }},
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

// tf32 rounds an f32 to 10 bits of mantissa, ties away from zero. Infinities and NaN are not rounded. The 13 low bits,
// which the ISA leaves open, are 0: a NaN that has no others becomes infinite.
func tf32(x uint32) uint64 {
	if x<<1 < 0xff<<24 {
		x += 0x1000
	}
	return uint64(x &^ 0x1fff)
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
