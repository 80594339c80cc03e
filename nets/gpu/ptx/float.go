package ptx

import "math"

// floats is the arithmetic of f32: IEEE 754, rounded to nearest even, subnormals kept. A NaN result is nan32, whatever
// NaN the operands were.
var floats = table{
	"add.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) + float(b)) }},
	"sub.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) - float(b)) }},
	"mul.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) * float(b)) }},
	"div.rn.f32":  {"f32 f32 f32", func(a, b, _ uint64) uint64 { return float32Bits(float(a) / float(b)) }},
	"rcp.rn.f32":  {"f32 f32", func(a, _, _ uint64) uint64 { return float32Bits(1 / float(a)) }},
	"fma.rn.f32":  {"f32 f32 f32 f32", fma},
	"sqrt.rn.f32": {"f32 f32", func(a, _, _ uint64) uint64 { return float32Bits(sqrt32(float(a))) }},
	"neg.f32":     {"f32 f32", func(a, _, _ uint64) uint64 { return float32Bits(-float(a)) }},
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
