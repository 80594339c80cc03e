package ptx

import "math"

// wide are the operations that kernels execute most, written out for a whole warp: a loop without a call per lane runs
// some four times as fast. A test compares each with its function.
var wide = map[string]func(d, a, b, c *lanes){
	"mov.f32": move, "mov.b32": move, "mov.u32": move, "mov.b64": move, "mov.u64": move, "mov.f64": move,
	"cvt.u64.u32": moveLow, "cvt.u32.u64": moveLow, "cvta.to.global.u64": move, "cvta.global.u64": move,
	"selp.b32": selectWide, "selp.f32": selectWide, "selp.b64": selectWide,

	"add.s64": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] + b[l]
		}
	},
	"add.s32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = low(a[l] + b[l])
		}
	},
	"sub.s32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = low(a[l] - b[l])
		}
	},
	"mul.lo.s32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = low(a[l] * b[l])
		}
	},
	"mad.lo.s32": func(d, a, b, c *lanes) {
		for l := range d {
			d[l] = low(a[l]*b[l] + c[l])
		}
	},
	"mul.wide.u32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] * b[l]
		}
	},
	"shl.b32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = low(a[l] << b[l])
		}
	},
	"shl.b64": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] << b[l]
		}
	},
	"shr.u32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] >> b[l]
		}
	},
	"and.b32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] & b[l]
		}
	},
	"or.b32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] | b[l]
		}
	},
	"xor.b32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
	},
	"setp.lt.u32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = (a[l] - b[l]) >> 63
		}
	},
	"setp.ge.u32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = (a[l]-b[l])>>63 ^ 1
		}
	},
	"add.rn.f32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = float32Bits(float(a[l]) + float(b[l]))
		}
	},
	"mul.rn.f32": func(d, a, b, _ *lanes) {
		for l := range d {
			d[l] = float32Bits(float(a[l]) * float(b[l]))
		}
	},
	"fma.rn.f32": fmaWide,
}

func move(d, a, _, _ *lanes) { *d = *a }

func moveLow(d, a, _, _ *lanes) {
	for l := range d {
		d[l] = low(a[l])
	}
}

func selectWide(d, a, b, c *lanes) {
	for l := range d {
		d[l] = b[l] ^ (a[l]^b[l])&-c[l]
	}
}

// fmaWide is fma32 in every lane. Where the sum in float64 is a float32, or not the middle between two, and no
// subnormal, rounding it is right; see fma32.
func fmaWide(d, a, b, c *lanes) {
	for l := range d {
		sum := float64(float(a[l]))*float64(float(b[l])) + float64(float(c[l]))
		bits := math.Float64bits(sum)
		if exponent := bits >> 52 & 0x7ff; bits<<35 != 1<<63 && exponent-(1023-126) < 0x7ff-(1023-126) {
			d[l] = uint64(math.Float32bits(float32(sum)))
		} else {
			d[l] = float32Bits(fma32(float(a[l]), float(b[l]), float(c[l])))
		}
	}
}
