package cpu

//go:generate go run ./gen

// The code in the .s files, one pair per kernel; the generator, in gen, says what each does. The matrix-multiply code
// computes tiles tiles of rows rows, then smaller tiles of a row less, down from a and c, with the first columns of B
// at b; tail is the number of columns in the last register of a row, 1 to all.

//go:noescape
func gemmWideAVX512(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)

//go:noescape
func gemmRaggedAVX512(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)

//go:noescape
func gemmNarrowAVX512(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)

//go:noescape
func gemmWideAVX2(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)

//go:noescape
func gemmRaggedAVX2(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)

//go:noescape
func gemmNarrowAVX2(t *Tile[float32], a, b, c *float32, tail, rows, tiles, smaller int)

//go:noescape
func transposeAVX512(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)

//go:noescape
func transposeAVX2(dst *float32, ldDst int, src *float32, ldSrc, rows, cols int)

//go:noescape
func poolReLUAVX512(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)

//go:noescape
func poolReLUAVX2(y *float32, arg *uint8, top, bottom, bias *float32, pixels, cols int)

//go:noescape
func unpoolReLUAVX512(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)

//go:noescape
func unpoolReLUAVX2(top, bottom, db, gy *float32, arg *uint8, pixels, cols int)

//go:noescape
func biasReLUAVX512(y *float32, rows, ld int, bias *float32, cols int, relu bool)

//go:noescape
func biasReLUAVX2(y *float32, rows, ld int, bias *float32, cols int, relu bool)

//go:noescape
func reluGradAVX512(d, db, gy, y *float32, rows, cols int, relu bool)

//go:noescape
func reluGradAVX2(d, db, gy, y *float32, rows, cols int, relu bool)

//go:noescape
func momentsAVX512(sum, squares, x, pivot *float32, rows, cols int)

//go:noescape
func momentsAVX2(sum, squares, x, pivot *float32, rows, cols int)

//go:noescape
func normaliseAVX512(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseAVX2(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseReLUAVX512(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseReLUAVX2(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseAddAVX512(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseAddAVX2(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseAddReLUAVX512(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normaliseAddReLUAVX2(y, x, add, scale, shift *float32, rows, cols int)

//go:noescape
func normSumsAVX512(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsAVX2(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsReLUAVX512(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsReLUAVX2(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsStoreAVX512(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsStoreAVX2(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsStoreReLUAVX512(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normSumsStoreReLUAVX2(d, db, dw, gy, y, x, mean *float32, rows, cols int)

//go:noescape
func normGradAVX512(dx, gy, y, x, a, b, c *float32, rows, cols int)

//go:noescape
func normGradAVX2(dx, gy, y, x, a, b, c *float32, rows, cols int)

//go:noescape
func normGradReLUAVX512(dx, gy, y, x, a, b, c *float32, rows, cols int)

//go:noescape
func normGradReLUAVX2(dx, gy, y, x, a, b, c *float32, rows, cols int)

//go:noescape
func scaleAVX512(dst *float32, c float32, src *float32, n int)

//go:noescape
func scaleAVX2(dst *float32, c float32, src *float32, n int)

//go:noescape
func axpyAVX512(dst *float32, c float32, src *float32, n int)

//go:noescape
func axpyAVX2(dst *float32, c float32, src *float32, n int)

//go:noescape
func stepAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepDriftAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepDriftAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepMomentumAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepMomentumAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepBothAVX512(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func stepBothAVX2(w, grad, v, drift *float32, n int, lr, scale, decay, momentum float32)

//go:noescape
func sumSquaresAVX512(sums *float64, x *float32, blocks int)

//go:noescape
func sumSquaresAVX2(sums *float64, x *float32, blocks int)

//go:noescape
func gatherAVX512(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32, rows, groups, stepDst, stepImg,
	rowDst, rowImg, tail int)

//go:noescape
func gatherAVX2(dst, dstLast *float32, img, imgLast, shuffle *uint8, lanes *float32, rows, groups, stepDst, stepImg,
	rowDst, rowImg, tail int)

//go:noescape
func dropoutAVX512(y *float32, mask *uint8, x *float32, draw *philox, index, blocks int, scale float32)

//go:noescape
func dropoutAVX2(y *float32, mask *uint8, x *float32, draw *philox, index, blocks int, scale float32)

//go:noescape
func applyMaskAVX512(y, x *float32, mask *uint8, n int, scale float32)

//go:noescape
func applyMaskAVX2(y, x *float32, mask *uint8, n int, scale float32)

//go:noescape
func softmaxAVX512(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)

//go:noescape
func softmaxAVX2(p *float32, e *float64, x *float32, n int, c float64) (top float32, z float64)

//go:noescape
func prefetchAVX512(p *byte, lines int)

//go:noescape
func prefetchAVX2(p *byte, lines int)

func fmaPeakAVX512(n int)

func fmaPeakAVX2(n int)
