package asm

// Pixels has the fields of cpu.Pixels[float32], in the same order, and cpu.Pixels says what they mean. The kernels read
// those up to Outputs at fixed offsets, which gen/pixels.go repeats.
type Pixels struct {
	R, S, C, O                 int
	Plane, Width, Row, Outputs int
	Rows, Cols                 int
	X, W, Y                    []float32
}

// PixelRowsAVX512 computes pixels of rows of a convolution:
//
//	y[i·Row + o·Outputs + j] = Σ_r Σ_s Σ_c w[((r·S + s)·C + c)·O + o] · x[c·Plane + (i+r)·Width + s + j]
//
// for i < rows, which is even. shape is a number of outputs o and of registers that the pixels j of two rows fill, see
// [PixelShape].
//
//go:noescape
func PixelRowsAVX512(t *Pixels, y, x, w *float32, shape, rows int)

// PixelRowsAVX2 is [PixelRowsAVX512] for AVX2.
//
//go:noescape
func PixelRowsAVX2(t *Pixels, y, x, w *float32, shape, rows int)

// PixelOutputs returns how many outputs a kernel computes at most, with vecs registers for the pixels of two rows, 1 to
// 4. mostOutputs of gen/pixels.go is the same.
func PixelOutputs(lanes, vecs int) int { return min(6, 3*lanes/2/vecs) }

// PixelShape returns the number of a shape.
func PixelShape(lanes, vecs, outputs int) int {
	n := outputs - 1
	for v := 1; v < vecs; v++ {
		n += PixelOutputs(lanes, v)
	}
	return n
}

// PoolPixelsAVX2 pools two rows of a feature map as [PoolReLUAVX512] does, where pixels are in the lanes and outputs, 1
// to 8 of them, are ld elements apart: top, bottom [outputs,2·pixels]. The pixels of y and arg are cols elements apart.
// It reads pixels rounded up to 8, and works in room [320]. But for the last pixel, it writes 8 elements of y and arg:
// in order, so that those of the next pixel are right in the end.
//
//go:noescape
func PoolPixelsAVX2(
	y *float32, arg *uint8, top, bottom, bias *float32, room *byte, pixels, outputs, cols, ld int,
)

// Planes3AVX2 sets dst[c·plane + p] = src[3·p + c] for 8·groups pixels p.
//
//go:noescape
func Planes3AVX2(dst *float32, plane int, src *float32, groups int)

// NarrowAVX2 copies pixels of cols channels, 4 to 16, from ld elements apart to cols elements apart. It reads 8 or 16
// channels of each.
//
//go:noescape
func NarrowAVX2(dst, src *float32, pixels, cols, ld int)
