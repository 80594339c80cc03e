package ptx

import "math"

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
