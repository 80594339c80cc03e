package kernels

import (
	"fmt"

	"rollcall/nets/cpu/kernels/asm"
)

// PixelRows takes up to two registers of pixels of two rows, and as many outputs as there are registers for.
func (c *code) PixelRows(t *Pixels[float32]) {
	if min(t.R, t.S, t.C, t.O, t.Rows, t.Cols) < 1 || min(t.Plane, t.Width, t.Row, t.Outputs) < 0 || t.Rows%2 != 0 {
		panic(fmt.Sprintf("cpu: pixels: R=%d S=%d C=%d O=%d, %d × %d, strides %d %d %d %d: "+
			"want at least 1, an even number of rows, strides not negative",
			t.R, t.S, t.C, t.O, t.Rows, t.Cols, t.Plane, t.Width, t.Row, t.Outputs))
	}
	cols := blocks(t.Cols, PanelCols) * PanelCols
	_ = t.X[(t.C-1)*t.Plane+(t.Rows+t.R-2)*t.Width+t.S-1+cols-1]
	_ = t.W[t.R*t.S*t.C*t.O-1]
	_ = t.Y[(t.Rows-1)*t.Row+(t.O-1)*t.Outputs+cols-1]
	for j := 0; j < t.Cols; j += 2 * c.lanes {
		vecs := min(4, blocks(t.Cols-j, c.lanes/2))
		most := asm.PixelOutputs(c.lanes, vecs)
		for o, n := 0, 0; o < t.O; o += n {
			n = blocks(t.O-o, blocks(t.O-o, most)) // equal shares
			shape := asm.PixelShape(c.lanes, vecs, n)
			c.pixelRows((*asm.Pixels)(t), &t.Y[o*t.Outputs+j], &t.X[j], &t.W[o], shape, t.Rows)
		}
	}
}

// PoolPixels has one version, for AVX2 and at least 4 outputs: the last store but one is within the last pixel. It
// begins with the last outputs: what is stored beside them is then overwritten.
func (c *code) PoolPixels(y []float32, arg []uint8, top, bottom, bias []float32, ld int, room []byte) {
	outputs := len(bias)
	pixels := len(y) / outputs
	if outputs < 4 || pixels < 1 {
		generic[float32]{}.PoolPixels(y, arg, top, bottom, bias, ld, room)
		return
	}
	last := (outputs-1)*ld + 2*padded(pixels) - 1
	_, _, _, _ = arg[pixels*outputs-1], top[last], bottom[last], room[pooledRoom-1]
	if ld < 2*padded(pixels) {
		panic(fmt.Sprintf("cpu: pool: %d pixels of outputs that are %d elements apart: outputs overlap", 2*pixels, ld))
	}
	for o := (outputs - 1) / 8 * 8; o >= 0; o -= 8 {
		asm.PoolPixelsAVX2(&y[o], &arg[o], &top[o*ld], &bottom[o*ld], &bias[o], &room[0],
			pixels, min(8, outputs-o), outputs, ld)
	}
}

// Planes has one version, for AVX2 and three channels. It transposes otherwise.
func (c *code) Planes(dst []float32, plane int, src []float32, channels int) {
	pixels := len(src) / channels
	if channels != 3 || pixels < 8 {
		c.Transpose(dst, plane, src, channels, pixels, channels)
		return
	}
	_, _ = dst[2*plane+pixels-1], src[3*pixels-1]
	groups := pixels / 8
	asm.Planes3AVX2(&dst[0], plane, &src[0], groups)
	for i := 3 * 8 * groups; i < 3*pixels; i++ {
		dst[i%3*plane+i/3] = src[i]
	}
}

// Narrow has one version, for AVX2 and 4 to 16 channels: the last store but one is within the last pixel.
func (c *code) Narrow(dst, src []float32, pixels, channels, ld int) {
	if channels < 4 || channels > 16 || pixels < 1 || ld < channels {
		generic[float32]{}.Narrow(dst, src, pixels, channels, ld)
		return
	}
	_, _ = dst[pixels*channels-1], src[(pixels-1)*ld+padded(channels)-1]
	asm.NarrowAVX2(&dst[0], &src[0], pixels, channels, ld)
}
