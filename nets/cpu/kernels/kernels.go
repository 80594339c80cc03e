package kernels

// Float is the element type of a kernel: float32 in runs, float64 where tests need it.
type Float interface{ float32 | float64 }

// PanelCols is the widest tile of the matrix-multiply kernel, in columns.
const PanelCols = 32

// Kernels is one variant of everything that is written once per instruction set. The results of two variants differ by
// the rounding of fused multiply-adds and by the order of sums where a comment below says so, and by nothing else. NaN
// and Inf pass through every kernel.
//
// Strides are not negative, and rows do not overlap. Outputs overlap neither inputs nor each other, with exceptions
// where a kernel goes element by element: dst may be src in Scale, d may be gy or y in ReLUGrad, dx may be x in
// NormGrad, and y may be x in Dropout and ApplyMask. Every variant panics if a slice is too short.
type Kernels[T Float] interface {
	// Name is generic, avx2 or avx512.
	Name() string

	// Gemm computes one tile; see [Tile].
	Gemm(t *Tile[T])
	// GemmCols is how many columns of a tile Gemm computes at a time, at most PanelCols. B is fastest where it has just
	// so many: its rows then fill the first cache.
	GemmCols() int
	// Transpose sets dst[j·ldDst+i] = src[i·ldSrc+j] for i < rows, j < cols.
	Transpose(dst []T, ldDst int, src []T, ldSrc, rows, cols int)

	// PoolReLU pools two rows of a feature map: y[j,o] = max(0, bias[o] + max(top[2j,o], top[2j+1,o], bottom[2j,o],
	// bottom[2j+1,o])). top, bottom [W,O], bias [O], y [W/2,O]; arg [W/2,O] is 0 … 3 for the first of the four that is
	// largest, [Dead] if y is 0.
	PoolReLU(y []T, arg []uint8, top, bottom, bias []T)
	// UnpoolReLU is the gradient of PoolReLU. It sets every element of top and bottom [W,O]: to gy[j,o] where arg[j,o]
	// points, to 0 elsewhere. db[o] += Σ_j gy[j,o] over the j with arg[j,o] ≠ [Dead], in order of j.
	UnpoolReLU(top, bottom, db, gy []T, arg []uint8)

	// AddWinners adds gy to db [channels] as UnpoolReLU does, row after row.
	AddWinners(db []T, p *Pooled[T])
	// PixelWinners lists the elements of the first row that UnpoolReLU would not set to 0; see [PixelLists]. l.Ends has
	// room for 2·Pixels.
	PixelWinners(l *PixelLists[T], p *Pooled[T])
	// ChannelWinners lists such elements of all rows by their channels; see [ChannelLists].
	ChannelWinners(l *ChannelLists[T], p *Pooled[T])
	// NonZeros lists the elements of rows of x that are not 0, with step·column as their places; see [RowLists]. x
	// [rows,n], ld elements from row to row, has room for n rounded up to a multiple of sparseLanes.
	NonZeros(l *RowLists[T], x []T, rows, ld, n, step int)
	// PixelRows computes rows of a convolution with few outputs; see [Pixels].
	PixelRows(t *Pixels[T])
	// PoolPixels is PoolReLU with pixels in the lanes: top, bottom [O,ld], of which W count, and as many are read as
	// fill whole registers. It works in room [pooledRoom].
	PoolPixels(y []T, arg []uint8, top, bottom, bias []T, ld int, room []byte)
	// Planes sets dst[c·plane+p] = src[p·channels+c], for all pixels p of src.
	Planes(dst []T, plane int, src []T, channels int)
	// Narrow sets dst[p·channels+c] = src[p·ld+c] for pixels p. src has room for whole registers.
	Narrow(dst, src []T, pixels, channels, ld int)
	// Sparse multiplies lists by a matrix; see [Sparse].
	Sparse(t *Sparse[T])

	// BiasReLU adds bias [n] to rows of n elements, ld elements apart, and clamps them at 0 if relu.
	BiasReLU(y []T, rows, ld int, bias []T, relu bool)
	// ReLUGrad sets d = gy where y > 0 (everywhere, if !relu) and 0 elsewhere, and adds the column sums of d to db, in
	// order of rows. d, gy, y [rows, len(db)].
	ReLUGrad(d, db, gy, y []T, relu bool)

	// Moments adds to sum and squares [C] the column sums of x − pivot and of (x − pivot)², in order of rows. x
	// [rows,C], pivot [C].
	Moments(sum, squares, x, pivot []T)
	// Normalise sets y = x·scale + shift + add, clamped at 0 if relu. If add is nil, nothing is added. y, x, add
	// [rows,C], scale, shift [C].
	Normalise(y, x, add, scale, shift []T, relu bool)
	// NormSums adds to db and dw [C] the column sums of d and of d·(x − mean), in order of rows, where d is 0 where
	// x·scale + shift ≤ 0, computed as in Normalise, and gy elsewhere; or gy everywhere, if scale is nil. gy, x
	// [rows,C], mean, scale, shift [C].
	NormSums(db, dw, gy, x, mean, scale, shift []T)
	// NormSumsAdd sets d = gy where y > 0 (everywhere, if y is nil) and 0 elsewhere, and adds the same sums of it to db
	// and dw. d, gy, y, x [rows,C], mean [C].
	NormSumsAdd(d, db, dw, gy, y, x, mean []T)
	// NormGrad sets dx = a·d + b·x + c, where d is as in NormSums. dx, gy, x [rows,C], a, b, c, scale, shift [C].
	NormGrad(dx, gy, x, a, b, c, scale, shift []T)

	// Scale sets dst = c·src.
	Scale(dst []T, c T, src []T)
	// Axpy adds c·src to dst.
	Axpy(dst []T, c T, src []T)
	// Dot returns Σ x·y, added up in float64; x and y are of one length. The order of the sum depends on the variant,
	// not on the machine.
	Dot(x, y []T) float64
	// Step applies one SGD step; see [Step].
	Step(w, g, v, drift []T, s Step[T])

	// Gather writes one normalised crop of an image to dst [H+2·Border,W+2·Border,C], every element of it; see [Normal]
	// and [Crop]. img begins with the image [H,W,C]; more bytes behind it make the assembly faster.
	Gather(dst []T, img []uint8, n *Normal[T], c Crop)
	// Dropout draws the mask of the elements lo … lo+len(x) as [DropoutMask] does, and applies it to x.
	Dropout(y []T, mask []uint8, x []T, lo int, d Draw, layer int, rate float64)
	// ApplyMask sets y = scale·x where mask is not 0, 0 elsewhere.
	ApplyMask(y, x []T, mask []uint8, scale T)
	// Softmax returns top, the largest element of x, and z = Σ e with e = exp(x − top) in float64. It sets p = c·e/z
	// unless p is nil. e has room for len(x) rounded up to a multiple of 8; the surplus elements are undefined
	// afterwards. The relative error of e and z is at most 2⁻⁵¹, and e is 0 below exp(−708). The order of the sum
	// depends on the variant. NaN, +Inf or nothing but −Inf in x makes z and p NaN; top may then be any element of x.
	Softmax(p []T, e []float64, x []T, c float64) (top T, z float64)

	// WinogradInput transforms a row of tiles of an image; see [TileRow].
	WinogradInput(t *TileRow[T])
	// WinogradGradient transforms a row of tiles of a gradient; see [TileRow].
	WinogradGradient(t *TileRow[T])
	// WinogradOutput computes two rows of pixels, top and bottom [2·tiles,channels], from 16 planes of m: tile j of
	// plane 4r+s, called m[r,s], is m[(4r+s)·plane + j·row …]. With t[0,s] = m[0,s] + m[1,s] + m[2,s] and t[1,s] =
	// m[1,s] − m[2,s] − m[3,s], tile j of top is t[0,0] + t[0,1] + t[0,2], t[0,1] − t[0,2] − t[0,3], and that of bottom
	// the same of t[1], added from left to right.
	WinogradOutput(top, bottom, m []T, plane, row, tiles, channels int)
	// WinogradWeights sets 16 planes of u [rows,cols], plane elements apart, to G·w·Gᵀ for 9 planes of w, place
	// elements apart, whose rows are ld elements apart. G·t is t₀, ½((t₀ + t₂) + t₁), ½((t₀ + t₂) − t₁), t₂.
	WinogradWeights(u []T, plane int, w []T, place, ld, rows, cols int)
	// WinogradWeightsGrad sets 9 planes of dw [n], place elements apart, to Gᵀ·du·G for 16 planes of du [n], plane
	// elements apart. Gᵀ·t is t₀ + ½(t₁ + t₂), ½(t₁ − t₂), ½(t₁ + t₂) + t₃.
	WinogradWeightsGrad(dw []T, place int, du []T, plane, n int)

	// Prefetch asks the processor to load x and b into its cache while something else is computed. It changes nothing.
	Prefetch(x []T, b []uint8)
}

// Dead is the arg of a pooled element that the ReLU has set to 0: no element of the window gets its gradient.
const Dead = 4

// Tile is one call of the matrix-multiply kernel, strides counted in elements:
//
//	C[u·CRun + i·CRow + j] = (Acc: C[u·CRun + i·CRow + j])
//	                       + Σ_s Σ_p A[u·ARun + s·ASeg + i·ARow + p·AK] · B[s·BSeg + p·BRow + j]
//
// for u < Runs, i < M, j < N ≤ PanelCols, s < Segs, p < K, all at least 1. The sum runs over s, then p, in order, and
// the old C is added last. With segments a convolution needs no copy of its input: a segment is one row of the kernel
// window. With runs one call does many rows of an image: rows of pixels are not evenly spaced once the border is left
// out. Strides are at least 0. The strides of A may be so short that rows overlap, as the windows of a convolution do.
// C overlaps neither A nor B. The kernel reads and writes only the elements that the formula names. The assembly relies
// on the order of these fields: asm.Tile repeats it.
type Tile[T Float] struct {
	A, B, C        []T
	M, N, Segs, K  int
	ASeg, ARow, AK int
	BSeg, BRow     int
	CRow           int
	Acc            bool
	Runs           int
	ARun, CRun     int
}

// TileRow is one row of one image's tiles for Winograd's convolution, in front of its products. The kernels write 4 of
// the 16 planes of a tile: those of one row of Bᵀ·d·B for tiles d of 4 × 4 pixels that overlap by 2, or of A·d·Aᵀ for
// tiles of 2 × 2. That row is made of two rows of pixels or, where one is a row of zeros, of one. With t[s] = A[2j+s] +
// Sign·B[2j+s] for the columns s of tile j < Tiles, WinogradInput sets tile j of V to
//
//	t[0] − t[2], t[1] + t[2], t[2] − t[1], t[1] − t[3]
//
// and WinogradGradient to
//
//	t[0], t[0] + t[1], t[0] − t[1], 0 − t[1]
//
// in planes that are Plane elements apart. Tiles are Row elements apart in a plane, pixels Pixel elements in A and B,
// of which the first Channels count.
type TileRow[T Float] struct {
	V                      []T
	Plane, Row             int
	A, B                   []T
	Sign                   T // 1 or −1
	Pixel, Tiles, Channels int
}

// Step holds the numbers of one SGD step:
//
//	g' = Scale·g + Decay·w + drift;  v = Momentum·v + g', g' = v (if there is a v);  w = w − LR·g'
//
// g [P] gradient, v [P] momentum or nil, drift [P] or nil.
type Step[T Float] struct{ LR, Scale, Decay, Momentum T }
