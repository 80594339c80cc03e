package ptx

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
