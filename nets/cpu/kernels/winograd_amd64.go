package kernels

import "fmt"

type tileRowFunc = func(v *float32, plane, ld int, a, b *float32, sign float32, pixel, tiles, cols int)

// winogradCode is the transforms of one instruction set.
type winogradCode struct {
	input, gradient tileRowFunc
	output          func(top, bottom, m *float32, plane, ld, tiles, cols int)
	weights         func(u *float32, plane int, w *float32, place, ld, rows, cols int)
	weightsGrad     func(dw *float32, place int, du *float32, plane, n int)
}

// check panics if a slice is too short for tiles that share so many columns.
func (t *TileRow[T]) check(overlap int) {
	if min(t.Tiles, t.Channels) < 1 || t.Pixel < t.Channels || t.Row < t.Channels || t.Plane < (t.Tiles-1)*t.Row {
		panic(fmt.Sprintf("cpu: winograd: %d tiles of %d channels, %d elements apart in planes of %d, pixels of %d",
			t.Tiles, t.Channels, t.Row, t.Plane, t.Pixel))
	}
	last := (2*t.Tiles+overlap-1)*t.Pixel + t.Channels - 1
	_, _, _ = t.A[last], t.B[last], t.V[3*t.Plane+(t.Tiles-1)*t.Row+t.Channels-1]
}

func (c *code) WinogradInput(t *TileRow[float32]) {
	t.check(2)
	c.winograd.input(&t.V[0], t.Plane, t.Row, &t.A[0], &t.B[0], t.Sign, t.Pixel, t.Tiles, t.Channels)
}

func (c *code) WinogradGradient(t *TileRow[float32]) {
	t.check(0)
	c.winograd.gradient(&t.V[0], t.Plane, t.Row, &t.A[0], &t.B[0], t.Sign, t.Pixel, t.Tiles, t.Channels)
}

func (c *code) WinogradOutput(top, bottom, m []float32, plane, row, tiles, channels int) {
	last := 2*tiles*channels - 1
	_, _, _ = top[last], bottom[last], m[15*plane+(tiles-1)*row+channels-1]
	c.winograd.output(&top[0], &bottom[0], &m[0], plane, row, tiles, channels)
}

func (c *code) WinogradWeights(u []float32, plane int, w []float32, place, ld, rows, cols int) {
	_, _ = u[15*plane+rows*cols-1], w[8*place+(rows-1)*ld+cols-1]
	c.winograd.weights(&u[0], plane, &w[0], place, ld, rows, cols)
}

func (c *code) WinogradWeightsGrad(dw []float32, place int, du []float32, plane, n int) {
	_, _ = dw[8*place+n-1], du[15*plane+n-1]
	c.winograd.weightsGrad(&dw[0], place, &du[0], plane, n)
}
