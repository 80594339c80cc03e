package ptx

import "math"

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
