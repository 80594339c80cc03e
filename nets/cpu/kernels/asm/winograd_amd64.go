package asm

// WinogradInputAVX512 transforms a row of tiles of 4 columns, of which neighbours share two. With t[s] = a[2j+s] +
// sign·b[2j+s], the columns of tile j, it sets
//
//	v[0,j] = t[0] − t[2];  v[1,j] = t[1] + t[2];  v[2,j] = t[2] − t[1];  v[3,j] = t[1] − t[3]
//
// for j < tiles. Every column has cols channels; those of a and b are pixel elements apart, the planes of v plane
// elements, their tiles ld.
//
//go:noescape
func WinogradInputAVX512(v *float32, plane, ld int, a, b *float32, sign float32, pixel, tiles, cols int)

// WinogradInputAVX2 is [WinogradInputAVX512] for AVX2.
//
//go:noescape
func WinogradInputAVX2(v *float32, plane, ld int, a, b *float32, sign float32, pixel, tiles, cols int)

// WinogradGradientAVX512 is [WinogradInputAVX512] for tiles of 2 columns, of which neighbours share none:
//
//	v[0,j] = t[0];  v[1,j] = t[0] + t[1];  v[2,j] = t[0] − t[1];  v[3,j] = 0 − t[1]
//
//go:noescape
func WinogradGradientAVX512(v *float32, plane, ld int, a, b *float32, sign float32, pixel, tiles, cols int)

// WinogradGradientAVX2 is [WinogradGradientAVX512] for AVX2.
//
//go:noescape
func WinogradGradientAVX2(v *float32, plane, ld int, a, b *float32, sign float32, pixel, tiles, cols int)

// WinogradOutputAVX512 computes two rows of pixels, top and bottom [2·tiles,cols], from 16 planes of m, which are plane
// elements apart and have a tile every ld elements. With plane 4r+s called m[r,s], and for every tile:
//
//	t[0,s] = (m[0,s] + m[1,s]) + m[2,s];  t[1,s] = (m[1,s] − m[2,s]) − m[3,s]
//	top = (t[0,0] + t[0,1]) + t[0,2], (t[0,1] − t[0,2]) − t[0,3];  bottom likewise from t[1]
//
//go:noescape
func WinogradOutputAVX512(top, bottom, m *float32, plane, ld, tiles, cols int)

// WinogradOutputAVX2 is [WinogradOutputAVX512] for AVX2.
//
//go:noescape
func WinogradOutputAVX2(top, bottom, m *float32, plane, ld, tiles, cols int)

// WinogradWeightsAVX512 sets 16 planes u [rows,cols], plane elements apart, from 9 planes of w, place elements apart
// with rows ld elements apart. With t = G·w, both columns of which and rows of which are made by the same sums:
//
//	t[0] = w[0];  t[1] = ½·((w[0] + w[2]) + w[1]);  t[2] = ½·((w[0] + w[2]) − w[1]);  t[3] = w[2]
//
//go:noescape
func WinogradWeightsAVX512(u *float32, plane int, w *float32, place, ld, rows, cols int)

// WinogradWeightsAVX2 is [WinogradWeightsAVX512] for AVX2.
//
//go:noescape
func WinogradWeightsAVX2(u *float32, plane int, w *float32, place, ld, rows, cols int)

// WinogradWeightsGradAVX512 sets 9 planes dw [n], place elements apart, from 16 planes of du [n], plane elements apart:
// dw = Gᵀ·du·G, rows before columns, each by the sums
//
//	t[0] = u[0] + ½·(u[1] + u[2]);  t[1] = ½·(u[1] − u[2]);  t[2] = ½·(u[1] + u[2]) + u[3]
//
//go:noescape
func WinogradWeightsGradAVX512(dw *float32, place int, du *float32, plane, n int)

// WinogradWeightsGradAVX2 is [WinogradWeightsGradAVX512] for AVX2.
//
//go:noescape
func WinogradWeightsGradAVX2(dw *float32, place int, du *float32, plane, n int)
