package asm

// Tiles holds the numbers of a product of AMX, for the kernels Product…AMX. Strides count bytes.
type Tiles struct {
	Config       TileConfig
	Segs, Chunks int // segments, chunks of a segment
	ARow, AChunk int // from a row to the next, from a chunk to the next
	ANext        int // from behind the last chunk of a segment to the next segment
	BRow, BChunk int
	BNext        int
	CRow         int
	ALow, BLow   int // from the high part of an operand to its low part
	Acc          bool
}

// TileConfig gives the eight tiles their shapes, as LDTILECFG reads it. C has tiles 0 to 3: in two columns of tiles,
// first those of the first row, or in one column. A has tiles 4 and 5, B has 6 and 7.
type TileConfig struct {
	Palette, StartRow uint8 // 1, 0
	_                 [14]uint8
	RowBytes          [16]uint16
	Rows              [16]uint8
}

// TileAt is where a tile of 16 rows or fewer begins in A and C, in bytes.
type TileAt struct{ A, C int }

// ProductWideAMX computes n tiles of C, each of two columns of tiles, from operands in bfloat16. For every tile of the
// list it adds to the numbers c[i,j] from list.C on, which begin as 0 unless Acc, for every segment and every chunk of
// it in order, even + odd: the sums over the even and over the odd p, each in order of p, of
//
//	a[i,p] · b[p,j]
//
// Row i of A begins at a + list.A + i·ARow in the first chunk. B is in pairs of rows, p/2 at b + p/2·BRow: in pair p/2,
// number 2·j + p%2. Row i of C begins at c + list.C + i·CRow. t.Config says how many i, j and p there are. Subnormal
// numbers count as 0, and become 0.
//
// The processor must have AMX, with the leave of the operating system: see package permit.
//
//go:noescape
func ProductWideAMX(t *Tiles, a, b *uint16, c *float32, list *TileAt, n int)

// ProductNarrowAMX is [ProductWideAMX] with one column of tiles.
//
//go:noescape
func ProductNarrowAMX(t *Tiles, a, b *uint16, c *float32, list *TileAt, n int)

// ProductSplitWideAMX is [ProductWideAMX] with operands of two parts. Every chunk is added three times: A's low part by
// B's high one, high by high, and high by low.
//
//go:noescape
func ProductSplitWideAMX(t *Tiles, a, b *uint16, c *float32, list *TileAt, n int)

// ProductSplitNarrowAMX is [ProductSplitWideAMX] with one column of tiles.
//
//go:noescape
func ProductSplitNarrowAMX(t *Tiles, a, b *uint16, c *float32, list *TileAt, n int)

// RoundAMX sets dst[i] = src[i], rounded to bfloat16, for i < n: to nearest, ties to even. Subnormal numbers become 0
// with their sign; NaN stays NaN. The kernels below round in the same way.
//
//go:noescape
func RoundAMX(dst *uint16, src *float32, n int)

// RoundSplitAMX sets high[i] = src[i] and low[i] = src[i] − high[i], both rounded, for i < n.
//
//go:noescape
func RoundSplitAMX(high, low *uint16, src *float32, n int)

// PackAMX sets dst[p/2·2·cols + 2·j + p%2] = src[p·ld + j], rounded, for p < rows, j < cols. If rows is odd, the words
// of the row behind the last are 0.
//
//go:noescape
func PackAMX(dst *uint16, src *float32, ld, rows, cols int)

// PackSplitAMX is [PackAMX] with the two parts of [RoundSplitAMX].
//
//go:noescape
func PackSplitAMX(high, low *uint16, src *float32, ld, rows, cols int)

// TransposeRoundAMX sets dst[j·ldDst + i] = src[i·ldSrc + j], rounded, for i < rows, j < cols.
//
//go:noescape
func TransposeRoundAMX(dst *uint16, ldDst int, src *float32, ldSrc, rows, cols int)

// TransposeLowAMX is [TransposeRoundAMX] with the low part of [RoundSplitAMX].
//
//go:noescape
func TransposeLowAMX(dst *uint16, ldDst int, src *float32, ldSrc, rows, cols int)

// Unpooled says where the gradient of a row of windows goes. Pairs[0] is the top row of pixels and Pairs[1] the bottom
// one, both [pixels,cols,2]: the two pixels of a window take turns. Rows are the same rows as [2·pixels,cols]; either
// both are nil or none is.
type Unpooled struct{ Pairs, Rows [2]*uint16 }

// Unpool16AMX is [UnpoolReLUAVX512] for 16 columns, with results rounded to bfloat16. db is not rounded.
//
//go:noescape
func Unpool16AMX(to *Unpooled, db, gy *float32, arg *uint8, pixels int)

// Unpool32AMX is [Unpool16AMX] for 32 columns.
//
//go:noescape
func Unpool32AMX(to *Unpooled, db, gy *float32, arg *uint8, pixels int)

// UnpoolSplit16AMX is [Unpool16AMX] with the two parts of [RoundSplitAMX].
//
//go:noescape
func UnpoolSplit16AMX(to *[2]Unpooled, db, gy *float32, arg *uint8, pixels int)

// UnpoolSplit32AMX is [UnpoolSplit16AMX] for 32 columns.
//
//go:noescape
func UnpoolSplit32AMX(to *[2]Unpooled, db, gy *float32, arg *uint8, pixels int)

// XCR0 returns the processor's register of that name: a bit for every state that the operating system saves. The
// processor must have AVX.
func XCR0() uint64
