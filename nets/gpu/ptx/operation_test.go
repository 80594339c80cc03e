package ptx

import (
	"math"
	"math/rand/v2"
	"testing"
)

// example is a result that the ISA's text prescribes.
type example struct {
	opcode  string
	a, b, c uint64
	want    uint64
}

// Bits of f32 and f64.
const (
	one32, two32, three32            = 0x3f800000, 0x40000000, 0x40400000
	minusZero32, inf32, least        = 0x80000000, 0x7f800000, 1 // least: the smallest subnormal
	quiet32, other32                 = 0x7fc00000, 0xffc01234
	one64, inf64, quiet64            = 0x3ff0000000000000, 0x7ff0000000000000, 0x7ff8000000000000
	all32, all64              uint64 = 1<<32 - 1, 1<<64 - 1
)

var integerExamples = []example{
	{opcode: "add.s32", a: all32, b: 1, want: 0},
	{opcode: "sub.s32", a: 3, b: 5, want: 0xfffffffe},
	{opcode: "sub.s64", a: 3, b: 5, want: all64 - 1},
	{opcode: "neg.s32", a: 1, want: all32},
	{opcode: "neg.s32", a: 0x80000000, want: 0x80000000},
	{opcode: "mul.lo.s32", a: 0xffffffff, b: 0xffffffff, want: 1},
	{opcode: "mul.hi.u32", a: 0xffffffff, b: 0xffffffff, want: 0xfffffffe},
	{opcode: "mul.wide.u32", a: all32, b: 2, want: 0x1fffffffe},
	{opcode: "mul.wide.s32", a: all32, b: 2, want: all64 - 1},
	{opcode: "mul.wide.u16", a: 0xffff, b: 0xffff, want: 0xfffe0001},
	{opcode: "mad.lo.s32", a: 0x10000, b: 0x10000, c: 7, want: 7},
	{opcode: "div.u32", a: 0xfffffffe, b: 3, want: 0x55555554},
	{opcode: "rem.u32", a: 0xfffffffe, b: 3, want: 2},
	{opcode: "min.u32", a: all32, b: 1, want: 1},
	{opcode: "max.u32", a: all32, b: 1, want: all32},
	{opcode: "not.b32", a: 0xf0f0f0f0, want: 0x0f0f0f0f},
	{opcode: "not.pred", a: 1, want: 0},
	{opcode: "xor.pred", a: 1, b: 1, want: 0},
	{opcode: "shl.b32", a: 0x80000001, b: 1, want: 2},
	{opcode: "shl.b32", a: 1, b: 31, want: 0x80000000},
	{opcode: "shl.b32", a: 1, b: 32, want: 0}, // more than 31 is 32
	{opcode: "shl.b64", a: 1, b: 63, want: 1 << 63},
	{opcode: "shl.b64", a: 1, b: 64, want: 0},
	{opcode: "shr.u16", a: 0x8000, b: 15, want: 1},
	{opcode: "shr.u16", a: 0x8000, b: 16, want: 0},
	{opcode: "shr.u32", a: 0x80000000, b: 31, want: 1},
	{opcode: "shr.u32", a: 0x80000000, b: 40, want: 0},
	{opcode: "shr.s32", a: 0x80000000, b: 4, want: 0xf8000000},
	{opcode: "shr.s32", a: 0x80000000, b: 99, want: all32}, // filled with the sign
	{opcode: "shr.u64", a: 1 << 63, b: 62, want: 2},
	{opcode: "shr.u64", a: 1 << 63, b: 64, want: 0},
	{opcode: "shr.s64", a: 1 << 63, b: 63, want: all64},
	{opcode: "bfe.u32", a: 0x12345678, b: 8, c: 8, want: 0x56},
	{opcode: "bfe.u32", a: 0x12345678, b: 8, c: 0, want: 0},
	{opcode: "bfe.u32", a: 0xf2345678, b: 28, c: 8, want: 0xf},
	{opcode: "bfe.u32", a: 0xf2345678, b: 0, c: 32, want: 0xf2345678},
	{opcode: "bfe.u32", a: 0x12345678, b: 0x108, c: 0x108, want: 0x56}, // only 8 bits of b and c count
}

var moveExamples = []example{
	{opcode: "selp.b32", a: 5, b: 6, c: 1, want: 5},
	{opcode: "selp.b32", a: 5, b: 6, c: 0, want: 6},
	{opcode: "mov.f32", a: other32, want: other32}, // keeps a NaN as it is
	{opcode: "cvta.to.global.u64", a: 0x1234, want: 0x1234},
}

var comparisonExamples = []example{
	{opcode: "setp.lt.s32", a: all32, b: 0, want: 1},
	{opcode: "setp.gt.s32", a: all32, b: 0, want: 0},
	{opcode: "setp.lt.u32", a: all32, b: 0, want: 0},
	{opcode: "setp.lt.u64", a: 1, b: all64, want: 1},
	{opcode: "setp.ge.u32", a: 7, b: 7, want: 1},
	{opcode: "setp.gt.u32", a: 7, b: 7, want: 0},
	{opcode: "setp.le.u32", a: 7, b: 7, want: 1},
	{opcode: "setp.lt.s64", a: all64, b: 0, want: 1},
	{opcode: "setp.gt.u64", a: all64, b: 0, want: 1},
	{opcode: "setp.eq.f32", a: 0, b: minusZero32, want: 1},
	{opcode: "setp.eq.f32", a: quiet32, b: quiet32, want: 0},
	{opcode: "setp.lt.f32", a: quiet32, b: one32, want: 0},
	{opcode: "setp.le.f32", a: one32, b: quiet32, want: 0},
	{opcode: "setp.gt.f32", a: quiet32, b: one32, want: 0},
	{opcode: "setp.gtu.f32", a: quiet32, b: one32, want: 1},
	{opcode: "setp.gtu.f32", a: one32, b: quiet32, want: 1},
	{opcode: "setp.gtu.f32", a: one32, b: one32, want: 0},
	{opcode: "setp.gtu.f32", a: two32, b: one32, want: 1},
	{opcode: "setp.nan.f32", a: one32, b: other32, want: 1},
	{opcode: "setp.nan.f32", a: one32, b: inf32, want: 0},
	{opcode: "setp.num.f32", a: one32, b: inf32, want: 1},
	{opcode: "setp.num.f32", a: quiet32, b: one32, want: 0},
	{opcode: "setp.nan.f64", a: quiet64, b: one64, want: 1},
	{opcode: "setp.eq.f64", a: quiet64, b: quiet64, want: 0},
	{opcode: "setp.gt.f64", a: inf64, b: one64, want: 1},
}

var floatExamples = []example{
	{opcode: "add.rn.f32", a: one32, b: 0x33800000, want: one32},           // 1 + 2⁻²⁴ ties to even
	{opcode: "add.rn.f32", a: 0x3f800001, b: 0x33800000, want: 0x3f800002}, // up, to even
	{opcode: "add.rn.f32", a: quiet32, b: one32, want: 0x7fffffff},         // the ISA's NaN
	{opcode: "add.rn.f32", a: inf32, b: 0xff800000, want: 0x7fffffff},
	{opcode: "add.rn.f32", a: least, b: least, want: 2}, // subnormals are kept
	{opcode: "sub.rn.f32", a: one32, b: two32, want: 0xbf800000},
	{opcode: "mul.rn.f32", a: 0x00800000, b: 0x3f000000, want: 0x00400000}, // 2⁻¹²⁶/2
	{opcode: "div.rn.f32", a: one32, b: three32, want: 0x3eaaaaab},
	{opcode: "div.rn.f32", a: one32, b: minusZero32, want: 0xff800000},
	{opcode: "rcp.rn.f32", a: three32, want: 0x3eaaaaab},
	{opcode: "sqrt.rn.f32", a: two32, want: 0x3fb504f3},
	{opcode: "sqrt.rn.f32", a: 0xbf800000, want: 0x7fffffff},
	{opcode: "neg.f32", a: 0, want: minusZero32},
	{opcode: "neg.f32", a: 0x7f800001, want: 0xffc00001}, // as NVIDIA's assembler, and so in conversions
	{opcode: "neg.f32", a: all32, want: 0x7fffffff},
	{opcode: "max.f32", a: quiet32, b: one32, want: one32},
	{opcode: "max.f32", a: one32, b: other32, want: one32},
	{opcode: "max.f32", a: other32, b: quiet32, want: 0x7fffffff},
	{opcode: "max.f32", a: minusZero32, b: 0, want: 0},
	{opcode: "max.NaN.f32", a: quiet32, b: one32, want: 0x7fffffff},
	{opcode: "max.NaN.f32", a: 0, b: minusZero32, want: 0},
	{opcode: "fma.rn.f32", a: 0x3f800001, b: 0x3f800001, c: 0xbf800002, want: 0x28800000}, // 2⁻⁴⁶ alone is left
	// (1+2⁻²³)·(1−2⁻²³)·2⁻²⁴ + 1 = 1 + 2⁻²⁴ − 2⁻⁷⁰: float64 rounds that to the middle, which would go to even, 1;
	// and with 1 + 2⁻²³ in place of 1 the exact sum is below the middle too.
	{opcode: "fma.rn.f32", a: 0x3f800001, b: 0x337ffffe, c: one32, want: one32},
	{opcode: "fma.rn.f32", a: 0x3f800001, b: 0x337ffffe, c: 0x3f800001, want: 0x3f800001},
	{opcode: "fma.rn.f32", a: 0x00800001, b: 0x3f000000, c: 0, want: 0x00400000}, // a subnormal in the middle: to even
	{opcode: "fma.rn.f32", a: 0x00800003, b: 0x3f000000, c: 0, want: 0x00400002},
	{opcode: "fma.rn.f32", a: inf32, b: 0, c: one32, want: 0x7fffffff},
	{opcode: "fma.rn.f32", a: 0x7f7fffff, b: two32, c: 0xff7fffff, want: 0x7f7fffff}, // the product does not overflow
}

var doubleExamples = []example{
	{opcode: "add.rn.f64", a: one64, b: 0x3ca0000000000000, want: one64}, // 1 + 2⁻⁵³ ties to even
	{opcode: "div.rn.f64", a: one64, b: 0x4008000000000000, want: 0x3fd5555555555555},
	{opcode: "rcp.rn.f64", a: 0x4008000000000000, want: 0x3fd5555555555555},
	{opcode: "sqrt.rn.f64", a: 0x4000000000000000, want: 0x3ff6a09e667f3bcd},
	{opcode: "neg.f64", a: one64, want: 0xbff0000000000000},
	{
		opcode: "fma.rn.f64", a: 0x3ff0000000000001, b: 0x3ff0000000000001, c: 0xbff0000000000002,
		want: 0x3970000000000000,
	},
}

var conversionExamples = []example{
	{opcode: "cvt.u64.u32", a: all32, want: all32},
	{opcode: "cvt.u32.u64", a: 0x123456789abcdef0, want: 0x9abcdef0},
	{opcode: "cvt.u16.u32", a: 0x12345678, want: 0x5678},
	{opcode: "cvt.f64.f32", a: one32, want: one64},
	{opcode: "cvt.rn.f32.f64", a: 0x3ff0000010000000, want: one32},      // the middle, to even
	{opcode: "cvt.rn.f32.f64", a: 0x3ff0000010000001, want: 0x3f800001}, // beyond it
	{opcode: "cvt.rn.f32.f64", a: 0xfff0000020000001, want: 0xffc00001},
	{opcode: "cvt.f64.f32", a: 0xff801000, want: 0xfff8020000000000},
	{opcode: "cvt.rn.f32.u32", a: 0x01000001, want: 0x4b800000}, // 2²⁴ + 1 to even
	{opcode: "cvt.rn.f32.u32", a: all32, want: 0x4f800000},
	{opcode: "cvt.rn.f64.s32", a: all32, want: 0xbff0000000000000},
	{opcode: "cvt.rn.f64.u32", a: all32, want: 0x41efffffffe00000},
	{opcode: "cvt.rzi.s32.f64", a: 0xbffe666666666666, want: all32}, // −1.9
	{opcode: "cvt.rzi.s32.f64", a: 0x41f0000000000000, want: 0x7fffffff},
	{opcode: "cvt.rzi.s32.f64", a: 0xc1f0000000000000, want: 0x80000000},
	{opcode: "cvt.rzi.s32.f64", a: quiet64, want: 0},
	// tf32 keeps 10 bits of mantissa: half a unit is 0x1000 in the bits. Ties go away from zero.
	{opcode: "cvt.rna.tf32.f32", a: 0x3f800fff, want: 0x3f800000},
	{opcode: "cvt.rna.tf32.f32", a: 0x3f801000, want: 0x3f802000},
	{opcode: "cvt.rna.tf32.f32", a: 0xbf801000, want: 0xbf802000},
	{opcode: "cvt.rna.tf32.f32", a: 0x3f803000, want: 0x3f804000},
	{opcode: "cvt.rna.tf32.f32", a: 0x7f7fffff, want: inf32},
	{opcode: "cvt.rna.tf32.f32", a: inf32, want: inf32},
	{opcode: "cvt.rna.tf32.f32", a: 0xff801fff, want: 0xff800000},
	{opcode: "cvt.rna.tf32.f32", a: 0x7fbfffff, want: 0x7fbfe000},
	// bf16 keeps 7 bits: half a unit is 0x8000. Ties go to even.
	{opcode: "cvt.rn.bf16.f32", a: 0x3f808000, want: 0x3f80},
	{opcode: "cvt.rn.bf16.f32", a: 0x3f818000, want: 0x3f82},
	{opcode: "cvt.rn.bf16.f32", a: 0x3f808001, want: 0x3f81},
	{opcode: "cvt.rn.bf16.f32", a: 0x7f7fffff, want: 0x7f80},
	{opcode: "cvt.rn.bf16.f32", a: 0x7f800001, want: 0x7fff},
	{opcode: "cvt.rn.bf16.f32", a: other32, want: 0x7fff},
	{opcode: "cvt.rn.bf16x2.f32", a: one32, b: two32, want: 0x3f804000},
}

func TestOperations(t *testing.T) {
	for class, examples := range map[string][]example{
		"integers": integerExamples, "moves": moveExamples, "comparisons": comparisonExamples,
		"floats": floatExamples, "doubles": doubleExamples, "conversions": conversionExamples,
	} {
		t.Run(class, func(t *testing.T) {
			for _, e := range examples {
				if got := operations[e.opcode].f(e.a, e.b, e.c); got != e.want {
					t.Errorf("%s %#x, %#x, %#x: got %#x, want %#x", e.opcode, e.a, e.b, e.c, got, e.want)
				}
			}
		})
	}
}

// A function for a whole warp is the function of a lane.
func TestWide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	special := []uint64{0, 1, 31, 32, one32, minusZero32, inf32, quiet32, all32, 0x3f800001, 0x337ffffe, 0x00800001}
	for opcode, whole := range wide {
		op, ok := operations[opcode]
		if !ok {
			t.Errorf("%s is no operation", opcode)
			continue
		}
		for range 2000 {
			var d, want lanes
			var in [3]lanes
			for l := range warpLanes {
				for i, of := range op.types[1:] {
					in[i][l] = random.Uint64() & of.mask()
					if random.IntN(3) == 0 {
						in[i][l] = special[random.IntN(len(special))] & of.mask()
					}
				}
				want[l] = op.f(in[0][l], in[1][l], in[2][l])
			}
			whole(&d, &in[0], &in[1], &in[2])
			if d != want {
				t.Fatalf("%s: got %x, want %x, of %x", opcode, d, want, in)
			}
		}
	}
}

// fma32 is compared with sums of integers, which are exact: random exponents make ties and near ties.
func TestFMA(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200000 {
		a, b := int64(random.IntN(1<<24)), int64(random.IntN(1<<24))
		c := int64(random.IntN(1<<24)) << random.IntN(38)
		if random.IntN(2) == 0 {
			c = -c
		}
		exact := a*b + c // below 2⁶²
		want := nearest(exact)
		if got := fma32(float32(a), float32(b), float32(c)); got != want {
			t.Fatalf("%d·%d + %d: got %v, want %v", a, b, c, got, want)
		}
	}
}

// nearest rounds an integer to 24 bits, ties to even.
func nearest(x int64) float32 {
	if x < 0 {
		return -nearest(-x)
	}
	shift := 0
	for x>>shift >= 1<<24 {
		shift++
	}
	if shift == 0 {
		return float32(x)
	}
	kept, rest, half := x>>shift, x&(1<<shift-1), int64(1)<<(shift-1)
	if rest > half || rest == half && kept&1 == 1 {
		kept++
	}
	return float32(math.Ldexp(float64(kept), shift))
}
