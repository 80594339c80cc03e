package kernels

import "rollcall/nets/cpu/kernels/bf16"

// LinearShape holds the sizes of a batched fully connected layer: x [K,B,I], w [K,I,O], bias [K,O], y [K,B,O].
type LinearShape struct {
	K, B, I, O int
	ReLU       bool
	Pooled     bool // whether x is what pooling with ReLU left, so that many of its elements are 0
}

// panels returns the matrix of the product for dw.
func (s LinearShape) panels() panelSizes { return panelSizes{1, s.B, s.O} }

const (
	depthBlock = 256 // depth of a block of w: 32 KiB with PanelCols columns, two thirds of a usual L1 cache
	widthBlock = 96  // rows of dw per chunk: eight tiles of twelve
)

// blocks returns n/size, rounded up: how many blocks of size elements n elements make.
func blocks(n, size int) int { return (n + size - 1) / size }

// chunkOf returns the client k of chunk i and its elements, lo ≤ element < hi, where every client has n elements in
// chunks of size.
func chunkOf(i, n, size int) (k, lo, hi int) {
	k, lo = i/blocks(n, size), i%blocks(n, size)*size
	return k, lo, min(lo+size, n)
}

// LinearForward computes y = x·w + bias, clamped at 0 if ReLU.
type LinearForward[T Float] struct {
	LinearShape
	y, x, w, b []T
	finite     []bool          // [K] whether w is, if zeros of x are left out
	rounded    bf16.Operand[T] // [K,B] rows of x, if operands are rounded: see [roundRows]
}

// Run computes y.
func (t *LinearForward[T]) Run(e *Exec[T], s LinearShape, y, x, w, b []T) {
	t.LinearShape, t.y, t.x, t.w, t.b = s, y, x, w, b
	if e.Products != nil {
		e.ensure(&t.rounded, s.K*s.B*rowPitch(s.I))
		e.For(t, linearRound, s.K)
	} else if s.sparse() {
		t.finite = ensure(t.finite, s.K)
		e.For(t, linearLook, s.K)
		e.For(t, linearSparse, s.K*blocks(s.O, sparsePanel))
		return
	}
	e.For(t, forward, s.K*blocks(s.O, PanelCols))
}

// The other phases of LinearForward; in the phase forward a chunk is one client and one panel of columns.
const (
	linearRound  = forward + 1 + iota // round x of one client
	linearLook                        // see whether w of one client is finite
	linearSparse                      // one client and one panel of columns, without the zeros of x
)

// Chunk implements [Task].
func (t *LinearForward[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch phase {
	case linearRound:
		n := t.B * rowPitch(t.I)
		roundRows(s.Products, t.rounded.From(i*n).First(n), t.x[i*t.B*t.I:][:t.B*t.I], t.B, t.I)
	case linearLook:
		t.finite[i] = finite(s, t.w[i*t.I*t.O:][:t.I*t.O])
	case linearSparse:
		k, o, end := chunkOf(i, t.O, sparsePanel)
		if t.finite[k] {
			t.sparseColumns(s, k, o, end-o)
			return
		}
		for ; o < end; o += PanelCols {
			t.columns(s, k, o, min(PanelCols, end-o))
		}
	case forward:
		k, o, end := chunkOf(i, t.O, PanelCols)
		t.columns(s, k, o, end-o)
	}
}

// columns computes columns o … o+n of y of client k, a panel at most.
func (t *LinearForward[T]) columns(s *Scratch[T], k, o, n int) {
	x, w := t.x[k*t.B*t.I:][:t.B*t.I], t.w[k*t.I*t.O:][:t.I*t.O]
	y := t.y[k*t.B*t.O+o:][:(t.B-1)*t.O+n]
	if s.Products != nil {
		padded := bf16.Padded(t.I)
		w := s.operand(operandB, padded*n)
		s.Products.Pack(w, t.w[k*t.I*t.O+o:], t.O, t.I, n, padded)
		inBlocks(s, t.rounded.From(k*t.B*rowPitch(t.I)), rowPitch(t.I), w, y, t.B, n, t.I, t.O)
		s.BiasReLU(y, t.B, t.O, t.b[k*t.O+o:][:n], t.ReLU)
		return
	}
	for lo := 0; lo < t.I; lo += depthBlock {
		depth := min(depthBlock, t.I-lo)
		s.Tile = Tile[T]{
			A: x[lo:], B: w[lo*t.O+o:], C: y,
			M: t.B, N: n, Segs: 1, Runs: 1, K: depth,
			ARow: t.I, AK: 1, BRow: t.O, CRow: t.O, Acc: lo > 0,
		}
		s.Gemm(&s.Tile)
	}
	s.BiasReLU(y, t.B, t.O, t.b[k*t.O+o:][:n], t.ReLU)
}

// inBlocks sets c = a·b for rounded operands a [m,bf16.Padded(depth)] and b [bf16.Padded(depth),n]. The rows of a and c
// are ldA and ldC elements apart. It takes b in blocks that stay in the first cache.
func inBlocks[T Float](s *Scratch[T], a bf16.Operand[T], ldA int, b bf16.Operand[T], c []T, m, n, depth, ldC int) {
	chunks, size := bf16.Chunks(depth)
	for k := 0; k < chunks; k += chunksPerBlock {
		s.product = bf16.Product[T]{
			A: a.From(k * size), B: b.From(k * size * n), C: c, M: m, N: n, Segs: 1,
			Chunks: min(chunksPerBlock, chunks-k), Size: size, ARow: ldA, CRow: ldC, Acc: k > 0, Runs: 1,
		}
		s.Products.Multiply(&s.product)
	}
}

// LinearBackward computes dw [K,I,O], db [K,O] and, if asked, dx [K,B,I] from gy [K,B,O], the gradient of y.
type LinearBackward[T Float] struct {
	LinearShape
	x, w, y, gy []T
	dx, dw, db  []T
	d           []T    // [K,B,O] the gradient in front of the ReLU
	finite      []bool // [K] whether d is, if zeros of x are left out
	rounded     struct {
		rows   bf16.Operand[T] // [K,B] rows of d, if operands are rounded: see [roundRows]
		packed packedMatrix[T] // d
	}
}

// The phases of LinearBackward, in order.
const (
	linearMask    = iota // d and db of one client
	linearWeights        // some rows of dw
	linearInput          // some columns of dx
)

// Run computes the gradients. If dx is nil, it computes dw and db alone.
func (t *LinearBackward[T]) Run(e *Exec[T], s LinearShape, dx, dw, db, x, w, y, gy []T) {
	t.LinearShape, t.dx, t.dw, t.db, t.x, t.w, t.y, t.gy = s, dx, dw, db, x, w, y, gy
	if t.d == nil {
		t.d, t.finite = make([]T, s.K*s.B*s.O), make([]bool, s.K)
	}
	if e.Products != nil {
		t.rounded.packed.ensure(e, s.K, s.panels())
		if dx != nil {
			e.ensure(&t.rounded.rows, s.K*s.B*rowPitch(s.O))
		}
	}
	e.For(t, linearMask, s.K)
	e.For(t, linearWeights, s.K*blocks(s.I, widthBlock))
	if dx != nil {
		e.For(t, linearInput, s.K*blocks(s.I, PanelCols))
	}
}

// Chunk implements [Task].
func (t *LinearBackward[T]) Chunk(phase, i int, s *Scratch[T]) {
	switch n := t.B * t.O; phase {
	case linearMask: // i: client
		db := t.db[i*t.O:][:t.O]
		clear(db)
		s.ReLUGrad(t.d[i*n:][:n], db, t.gy[i*n:][:n], t.y[i*n:][:n], t.ReLU)
		t.finite[i] = s.Products == nil && t.sparse() && finite(s, t.d[i*n:][:n])
		if s.Products != nil {
			t.round(s, i)
		}
	case linearWeights: // i: client and block of rows of dw
		k, lo, hi := chunkOf(i, t.I, widthBlock)
		t.weights(s, k, lo, hi-lo)
	case linearInput: // i: client and panel of columns of dx
		k, lo, hi := chunkOf(i, t.I, PanelCols)
		t.input(s, k, lo, hi-lo)
	}
}

// round rounds d of client k: its rows for dx, and its columns for dw.
func (t *LinearBackward[T]) round(s *Scratch[T], k int) {
	d := t.d[k*t.B*t.O:][:t.B*t.O]
	if t.dx != nil {
		roundRows(s.Products, t.rounded.rows.From(k*t.B*rowPitch(t.O)), d, t.B, t.O)
	}
	for o := 0; o < t.O; o += PanelCols {
		t.rounded.packed.pack(s, k, d, o)
	}
}

// weights computes rows lo … lo+rows of dw[i,o] = Σ_b x[b,i]·d[b,o] of client k.
func (t *LinearBackward[T]) weights(s *Scratch[T], k, lo, rows int) {
	dw, x, d := t.dw[k*t.I*t.O:][:t.I*t.O], t.x[k*t.B*t.I:][:t.B*t.I], t.d[k*t.B*t.O:][:t.B*t.O]
	if s.Products != nil {
		padded := bf16.Padded(t.B)
		turned := s.operand(operandA, rows*padded)
		if padded > t.B {
			turned.Clear()
		}
		s.Products.Transpose(turned, padded, x[lo:], t.I, t.B, rows)
		for o := 0; o < t.O; o += PanelCols {
			b := t.rounded.packed.panel(k, o)
			inBlocks(s, turned, padded, b, dw[lo*t.O+o:], rows, min(PanelCols, t.O-o), t.B, t.O)
		}
		return
	}
	if t.finite[k] {
		t.sparseRows(s, k, lo, rows)
		return
	}
	if t.O <= fewOutputs {
		t.fewColumns(s, dw[lo*t.O:], x[lo:], d, rows)
		return
	}
	pack := s.Buf(t.B * rows)
	copyColumns(pack, x[lo:], t.B, t.I, rows)
	for o := 0; o < t.O; o += PanelCols {
		s.Tile = Tile[T]{
			A: pack, B: d[o:], C: dw[lo*t.O+o:],
			M: rows, N: min(PanelCols, t.O-o), Segs: 1, Runs: 1, K: t.B,
			ARow: 1, AK: rows, BRow: t.O, CRow: t.O,
		}
		s.Gemm(&s.Tile)
	}
}

// fewOutputs is the most outputs for which the product for dw is computed in columns: they fill one tile of the kernel.
const fewOutputs = 12

// fewColumns computes rows of dw as the columns of its transpose, dwᵀ[o,i] = Σ_b d[b,o]·x[b,i]. Rows of x fill the
// registers, which few outputs do not, and need not be packed. Every element is the same sum in the same order.
func (t *LinearBackward[T]) fewColumns(s *Scratch[T], dw, x, d []T, rows int) {
	turned := s.Buf(t.O * PanelCols)
	for i := 0; i < rows; i += PanelCols {
		n := min(PanelCols, rows-i)
		s.Tile = Tile[T]{
			A: d, B: x[i:], C: turned,
			M: t.O, N: n, Segs: 1, Runs: 1, K: t.B,
			ARow: 1, AK: t.O, BRow: t.I, CRow: n,
		}
		s.Gemm(&s.Tile)
		s.Transpose(dw[i*t.O:], t.O, turned, n, t.O, n)
	}
}

// input computes columns lo … lo+n of dx[b,i] = Σ_o d[b,o]·w[i,o] of client k.
func (t *LinearBackward[T]) input(s *Scratch[T], k, lo, n int) {
	dx, w, d := t.dx[k*t.B*t.I:][:t.B*t.I], t.w[k*t.I*t.O:][:t.I*t.O], t.d[k*t.B*t.O:][:t.B*t.O]
	panel := s.Buf(t.O * n)
	s.Transpose(panel, n, w[lo*t.O:], t.O, n, t.O)
	if s.Products != nil {
		padded := bf16.Padded(t.O)
		b := s.operand(operandB, padded*n)
		s.Products.Pack(b, panel, n, t.O, n, padded)
		inBlocks(s, t.rounded.rows.From(k*t.B*rowPitch(t.O)), rowPitch(t.O), b, dx[lo:], t.B, n, t.O, t.I)
		return
	}
	for o := 0; o < t.O; o += depthBlock {
		s.Tile = Tile[T]{
			A: d[o:], B: panel[o*n:], C: dx[lo:],
			M: t.B, N: n, Segs: 1, Runs: 1, K: min(depthBlock, t.O-o),
			ARow: t.O, AK: 1, BRow: n, CRow: t.I, Acc: o > 0,
		}
		s.Gemm(&s.Tile)
	}
}
