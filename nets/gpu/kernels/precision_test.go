//go:build gpu && linux && cgo

package kernels

import "math"

// precision is how activations are stored.
type precision struct {
	name  string // the kernels' ending
	bytes int    // of an activation
	// half is the relative error of rounding: half the distance between neighbours.
	half  float64
	round func(float32) float32
}

var (
	fp32 = precision{"fp32", 4, 0x1p-24, func(v float32) float32 { return v }}
	tf32 = precision{"tf32", 4, 0x1p-11, func(v float32) float32 {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return v
		}
		return math.Float32frombits((math.Float32bits(v) + 0x1000) &^ 0x1fff)
	}}
	bf16 = precision{"bf16", 2, 0x1p-8, func(v float32) float32 {
		u := math.Float32bits(v)
		if v != v {
			return v
		}
		return math.Float32frombits((u + 0x7fff + u>>16&1) &^ 0xffff)
	}}
	precisions = []precision{fp32, tf32, bf16}
)

// kind returns the Precision.
func (p precision) kind() Precision { return Precision(p.name) }

// rounded returns x rounded to the precision.
func (p precision) rounded(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = p.round(v)
	}
	return y
}

// copied returns what Slot.Weights has of a row: with bf16 the row rounded, else the row itself.
func (p precision) copied(row []float32) []float32 {
	if p.kind() == BF16 {
		return p.rounded(row)
	}
	return row
}

// upload rounds x to activations and returns their address.
func (p precision) upload(r *rig, x []float32) uint64 {
	r.t.Helper()
	if p.bytes == 4 {
		return upload(r, p.rounded(x))
	}
	h := make([]uint16, len(x))
	for i, v := range x {
		h[i] = uint16(math.Float32bits(p.round(v)) >> 16)
	}
	return upload(r, h)
}

// blank returns room for n activations, unset.
func (p precision) blank(r *rig, n int) uint64 { r.t.Helper(); return r.alloc(n * p.bytes) }

// download returns the n activations at an address.
func (p precision) download(r *rig, at uint64, n int) []float32 {
	r.t.Helper()
	if p.bytes == 4 {
		return download[float32](r, at, n)
	}
	x := make([]float32, n)
	for i, h := range download[uint16](r, at, n) {
		x[i] = math.Float32frombits(uint32(h) << 16)
	}
	return x
}
