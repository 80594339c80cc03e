package bf16

import "math"

// minNormal is the smallest normal float32, and of bfloat16 as well.
const minNormal = 0x1p-126

// round returns x rounded to bfloat16: to nearest, ties to even. A subnormal number becomes 0 with its sign, as in all
// arithmetic of this package, and NaN stays NaN.
func round[T Float](x T) T {
	switch {
	case x != x || x-x != 0: // NaN, ±Inf
		return x
	case x < minNormal && x > -minNormal:
		return T(math.Copysign(0, float64(x)))
	}
	// 8 of the 53 significant bits stay.
	const rest = 53 - 8
	u := math.Float64bits(float64(x))
	u += 1<<(rest-1) - 1 + u>>rest&1
	v := math.Float64frombits(u &^ (1<<rest - 1))
	if math.Abs(v) > math.MaxFloat32 {
		v = math.Inf(int(math.Copysign(1, v)))
	}
	return T(v)
}

// Bits of a float64.
const (
	belowFloat32  = 1<<29 - 1    // the significant bits that a float32 has no place for
	halfFloat32   = 1 << 28      // their value half-way between two float32
	minNormalBits = 0x3810 << 48 // minNormal
)

// careful reports whether rounding s to float32, which is a sum rounded to float64, may give another number than
// rounding the sum once, or one that is subnormal.
func careful(s float64) bool {
	u := math.Float64bits(s)
	return u&belowFloat32 == halfFloat32 || u<<1-1 < minNormalBits<<1-1
}

// fusedAdd returns x + y rounded once to float32, where s is x + y rounded to float64. If s is half-way between two
// float32, or below the normal numbers, rounding s would be wrong. A subnormal result becomes 0.
func fusedAdd(x, y, s float64) float32 {
	// The error of s, exactly (Knuth's two-sum). If there is one, s becomes the odd neighbour of the exact sum: rounded
	// to 24 bits, it gives what the exact sum does.
	b := s - x
	if e := (x - (s - b)) + (y - b); e != 0 {
		if u := math.Float64bits(s); u&1 == 0 {
			if (e > 0) == (s > 0) {
				u++
			} else {
				u--
			}
			s = math.Float64frombits(u)
		}
	}
	// Processors round to 24 bits, whatever the exponent, before they look whether a result is subnormal.
	const half = 0x1p-151 // half a unit of the 24 bits below minNormal
	switch a := math.Abs(s); {
	case a >= minNormal:
		return float32(s)
	case a >= minNormal-half:
		return float32(math.Copysign(minNormal, s))
	default:
		return float32(math.Copysign(0, s))
	}
}

// flush returns x, or 0 with the sign of x if x is subnormal.
func flush(x float32) float32 {
	if x < minNormal && x > -minNormal {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}
