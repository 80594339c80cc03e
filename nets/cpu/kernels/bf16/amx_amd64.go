package bf16

import (
	"fmt"
	"runtime"

	"rollcall/nets/cpu/kernels/asm"
)

// amx is the variant for Intel's AMX, whose operands are in 16 bits. B is in pairs of rows: element (p, j) of N columns
// is at p/2·2·N + 2·j + p%2.
type amx struct{ split bool }

// The most rows and columns of a tile.
const (
	tileRows = 16
	tileCols = 16
)

func (amx) Name() string { return "amx" }

func (k amx) Bytes() int { return 2 * parts(k.split) }

func (k amx) NewOperand(n int) Operand[float32] {
	var of formats[float32]
	for part := range parts(k.split) {
		of.narrow[part] = make([]uint16, n+Depth)
	}
	return newOperand(of, n+Depth)
}

func (k amx) Round(dst Operand[float32], src []float32) {
	n := len(src)
	if n == 0 {
		return
	}
	to := dst.narrow()
	high, low := to[0], to[1]
	_ = high[n-1]
	if !k.split {
		asm.RoundAMX(&high[0], &src[0], n)
		return
	}
	_ = low[n-1]
	asm.RoundSplitAMX(&high[0], &low[0], &src[0], n)
}

func (k amx) Transpose(dst Operand[float32], ldDst int, src []float32, ldSrc, rows, cols int) {
	checkTranspose(dst, ldDst, src, ldSrc, rows, cols)
	to := dst.narrow()
	asm.TransposeRoundAMX(&to[0][0], ldDst, &src[0], ldSrc, rows, cols)
	if k.split {
		asm.TransposeLowAMX(&to[1][0], ldDst, &src[0], ldSrc, rows, cols)
	}
}

func (k amx) Pack(dst Operand[float32], src []float32, ld, rows, cols, padded int) {
	if padded < rows || padded%2 != 0 {
		panic(fmt.Sprintf("bf16: pack: %d rows padded to %d: want an even number, no less than the rows", rows, padded))
	}
	if rows > 0 && cols > 0 {
		to := dst.narrow()
		for part := range parts(k.split) {
			_ = to[part][padded*cols-1]
		}
		if rows > 1 && ld < cols {
			panic(fmt.Sprintf("bf16: pack: rows of %d numbers %d apart: want rows that do not overlap", cols, ld))
		}
		_ = src[(rows-1)*ld+cols-1]
		if k.split {
			asm.PackSplitAMX(&to[0][0], &to[1][0], &src[0], ld, rows, cols)
		} else {
			asm.PackAMX(&to[0][0], &src[0], ld, rows, cols)
		}
	}
	packed := (rows + rows%2) * cols
	dst.From(packed).First(padded*cols - packed).Clear()
}

// Multiply cuts every run into tiles of as many rows, or one less. The tiles of one height are one list, whatever their
// run: they need the same configuration.
func (k amx) Multiply(p *Product[float32]) {
	p.check()
	const narrow, wide = 2, 4 // bytes of an element
	depth := p.Chunks * p.Size
	t := asm.Tiles{
		Segs: p.Segs, Chunks: p.Chunks,
		ARow: narrow * p.ARow, AChunk: narrow * p.Size, ANext: narrow * (p.ASeg - depth),
		BRow: 2 * narrow * p.N, BChunk: narrow * p.Size * p.N, BNext: narrow * (p.BSeg - depth*p.N),
		CRow: wide * p.CRow, Acc: p.Acc,
	}
	if k.split {
		a, b := p.A.narrow(), p.B.narrow()
		t.ALow, t.BLow = distance(a[0], a[1]), distance(b[0], b[1])
	}
	rows, tiles, smaller := asm.Cut(p.M, tileRows)
	k.tiles(&t, p, 0, rows, tiles)
	if smaller > 0 {
		k.tiles(&t, p, tiles*rows, rows-1, smaller)
	}
	runtime.KeepAlive(p) // the assembly gets no pointer to the low parts that the garbage collector would see
}

// tiles computes n tiles of rows rows in every run, from row first on.
func (k amx) tiles(t *asm.Tiles, p *Product[float32], first, rows, n int) {
	wide := p.N > tileCols
	t.Config = asm.TileConfig{Palette: 1}
	cols := [2]int{min(p.N, tileCols), p.N}
	if wide {
		cols[1] = p.N - tileCols
	}
	for i := range uint16(8) {
		bytes, height := uint16(4*cols[i%2]), rows
		switch {
		case i < 4 && !wide:
			bytes = uint16(4 * cols[0])
		case i >= 6: // B
			height = p.Size / 2
		case i >= 4: // A
			bytes = uint16(2 * p.Size)
		}
		t.Config.RowBytes[i], t.Config.Rows[i] = bytes, uint8(height)
	}
	var list [64]asm.TileAt
	used := 0
	for u := range p.Runs {
		for i := range n {
			row := first + i*rows
			list[used] = asm.TileAt{A: 2 * (u*p.ARun + row*p.ARow), C: 4 * (u*p.CRun + row*p.CRow)}
			if used++; used == len(list) {
				k.multiply(t, p, &list[0], used, wide)
				used = 0
			}
		}
	}
	if used > 0 {
		k.multiply(t, p, &list[0], used, wide)
	}
}

// multiply computes the first n tiles of a list. It calls the assembly by name: through a func value, t and list would
// escape to the heap.
func (k amx) multiply(t *asm.Tiles, p *Product[float32], list *asm.TileAt, n int, wide bool) {
	a, b, c := &p.A.narrow()[0][0], &p.B.narrow()[0][0], &p.C[0]
	switch {
	case wide && k.split:
		asm.ProductSplitWideAMX(t, a, b, c, list, n)
	case wide:
		asm.ProductWideAMX(t, a, b, c, list, n)
	case k.split:
		asm.ProductSplitNarrowAMX(t, a, b, c, list, n)
	default:
		asm.ProductNarrowAMX(t, a, b, c, list, n)
	}
}

// Unpool implements [Unpooler].
func (k amx) Unpool(pairsTop, pairsBottom, rowsTop, rowsBottom Operand[float32], db, gy []float32, arg []uint8) {
	cols := len(db)
	if cols != 16 && cols != 32 || len(gy) == 0 || len(gy)%cols != 0 {
		panic(fmt.Sprintf("bf16: unpool: gradient of %d elements, %d channels: want 16 or 32, and whole pixels",
			len(gy), cols))
	}
	_ = arg[len(gy)-1]
	var to [2]asm.Unpooled
	for part := range parts(k.split) {
		for i, o := range [2]Operand[float32]{pairsTop, pairsBottom} {
			x := o.narrow()[part]
			_ = x[2*len(gy)-1]
			to[part].Pairs[i] = &x[0]
		}
		if rowsTop.Len()+rowsBottom.Len() > 0 {
			for i, o := range [2]Operand[float32]{rowsTop, rowsBottom} {
				x := o.narrow()[part]
				_ = x[2*len(gy)-1]
				to[part].Rows[i] = &x[0]
			}
		}
	}
	pixels := len(gy) / cols
	switch {
	case k.split && cols == 32:
		asm.UnpoolSplit32AMX(&to, &db[0], &gy[0], &arg[0], pixels)
	case k.split:
		asm.UnpoolSplit16AMX(&to, &db[0], &gy[0], &arg[0], pixels)
	case cols == 32:
		asm.Unpool32AMX(&to[0], &db[0], &gy[0], &arg[0], pixels)
	default:
		asm.Unpool16AMX(&to[0], &db[0], &gy[0], &arg[0], pixels)
	}
}
