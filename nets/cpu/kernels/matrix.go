package kernels

import "rollcall/nets/cpu/kernels/bf16"

// matrix is an operand of a product: as it is or, where an executor has [Exec.Products], rounded. Positions count
// elements in both.
type matrix[T Float] struct {
	plain   []T
	rounded bf16.Operand[T]
}

// from returns the matrix from element i on.
func (m matrix[T]) from(i int) matrix[T] {
	if m.plain != nil {
		return matrix[T]{plain: m.plain[i:]}
	}
	return matrix[T]{rounded: m.rounded.From(i)}
}

// The operands of a thread that can be in use at the same time.
const (
	operandA = iota
	operandB
	operandT // transposed images
	operands
)

// operand returns an operand of the thread for n elements, with arbitrary numbers in it. The next call with the same
// slot returns the same memory.
func (s *Scratch[T]) operand(slot, n int) bf16.Operand[T] {
	if s.operands[slot].Len() < n+bf16.Depth {
		s.operands[slot] = s.Products.NewOperand(n)
	}
	return s.operands[slot].First(n + bf16.Depth)
}

// left returns x as the left operand of products: x itself, or a rounded copy in the memory of the thread. Products may
// read past its end, and find zeros there.
func (s *Scratch[T]) left(x []T) matrix[T] {
	if s.Products == nil {
		return matrix[T]{plain: x}
	}
	o := s.operand(operandA, len(x))
	s.Products.Round(o, x)
	o.From(len(x)).Clear()
	return matrix[T]{rounded: o}
}

// joinImages completes an operand A of n images, whose elements were rounded image by image.
func joinImages[T Float](o bf16.Operand[T], n, elements int) {
	for i := 1; i < n; i++ {
		o.Join(i*elements, 2)
	}
}

// prefetchRounded asks for image n of maps of so many elements, if there is one and operands are rounded: then it will
// be rounded before products need it, and rounding waits for memory, which products leave idle.
func (s *Scratch[T]) prefetchRounded(maps []T, n, elements int) {
	if s.Products != nil && (n+1)*elements <= len(maps) {
		s.Prefetch(maps[n*elements:][:elements], nil)
	}
}

// oneOf returns image n of maps of so many elements, and asks for the next one as [Scratch.prefetchRounded] does.
func (s *Scratch[T]) oneOf(maps []T, n, elements int) []T {
	s.prefetchRounded(maps, n+1, elements)
	return maps[n*elements:][:elements]
}

// ensure allocates an operand of n elements in o, unless there is one already.
func (e *Exec[T]) ensure(o *bf16.Operand[T], n int) {
	if o.Len() == 0 {
		*o = e.Products.NewOperand(n)
	}
}

// rowPitch returns the elements from row to row of an operand with rows of cols terms: the terms, zeros behind them
// and, if rows would be whole KiB apart, some more. The first cache has few places for lines so far apart.
func rowPitch(cols int) int {
	n := bf16.Padded(cols)
	if n%1024 == 0 {
		n += bf16.Depth
	}
	return n
}

// roundRows writes a matrix x [rows,cols] to rows of dst, [rowPitch] apart, with zeros at their ends.
func roundRows[T Float](k bf16.Kernels[T], dst bf16.Operand[T], x []T, rows, cols int) {
	pitch := rowPitch(cols)
	if pitch == cols {
		k.Round(dst, x[:rows*cols])
		return
	}
	for i := range rows {
		row := dst.From(i * pitch)
		k.Round(row, x[i*cols:][:cols])
		row.From(cols).First(pitch - cols).Clear()
	}
}

// panelSizes is the sizes of a matrix [segs·depth,cols] that is stored, rounded, in panels of [PanelCols] columns. A
// panel has its segments one behind the other, each padded to bf16.Padded(depth) rows.
type panelSizes struct{ segs, depth, cols int }

// at returns where the panel begins whose first column is lo.
func (p panelSizes) at(lo int) int { return p.segs * bf16.Padded(p.depth) * lo }

// len returns the elements of all panels.
func (p panelSizes) len() int { return p.at(p.cols) }

// packedMatrix is such a matrix of each client, where operands are rounded.
type packedMatrix[T Float] struct {
	panelSizes
	all bf16.Operand[T] // [K]
}

// ensure allocates the matrices of K clients, unless that is done.
func (m *packedMatrix[T]) ensure(e *Exec[T], K int, p panelSizes) {
	m.panelSizes = p
	e.ensure(&m.all, K*p.len())
}

// pack writes the panel of client k's matrix w that begins at column lo.
func (m *packedMatrix[T]) pack(s *Scratch[T], k int, w []T, lo int) {
	n, padded := min(PanelCols, m.cols-lo), bf16.Padded(m.depth)
	dst := m.panel(k, lo)
	for seg := range m.segs {
		s.Products.Pack(dst.From(seg*padded*n), w[seg*m.depth*m.cols+lo:], m.cols, m.depth, n, padded)
	}
}

// panel returns client k's panels from the one on that begins at column lo.
func (m *packedMatrix[T]) panel(k, lo int) bf16.Operand[T] { return m.all.From(k*m.len() + m.at(lo)) }

// taps are the places of a convolution's windows along one axis: place t of window i reads pixel stride·i + t − before
// of size, or a zero beside them. A product leaves these zeros out: they are a third of what windows of 3 × 3 read in
// maps of 4 × 4. Its sums stay the same to the bit, but for the sign of a zero and where weights are infinite.
type taps struct{ n, stride, before, size int }

// of returns the places lo ≤ t < hi of window i that read pixels. There is at least one, since the padding of an image
// is below the window.
func (t taps) of(i int) (lo, hi int) {
	first := t.stride*i - t.before
	return max(0, -first), min(t.n, t.size-first)
}

// windows returns which of the windows lo ≤ i < hi read a pixel at place p: from ≤ i < to. Where there are none it
// returns all of them.
func (t taps) windows(p, lo, hi int) (from, to int) {
	from = max(lo, blocks(max(0, t.before-p), t.stride))
	to = min(hi, blocks(max(0, t.before-p+t.size), t.stride))
	if from >= to {
		return lo, hi
	}
	return from, to
}

// alike returns how many of i … end−1 have the same range as i, counted from i to the first that has another.
func alike(i, end int, of func(i int) (lo, hi int)) int {
	lo, hi := of(i)
	n := 1
	for ; i+n < end; n++ {
		if l, h := of(i + n); l != lo || h != hi {
			break
		}
	}
	return n
}

// convProduct is the product of a convolution's windows with one panel of weights, for maps [rows,cols]:
//
//	c[i·cRow + j·cCol + o] = Σ_s Σ_p a[i·aRow + j·aCol + s·aSeg + p] · b[(s·depth + p)·bStride + o]
//
// s is a place in the rows of the window, p a channel at a place in its columns: depth is a multiple of across.n. If
// the operands are rounded, b is a panel of packed weights in place of that.
type convProduct[T Float] struct {
	b                matrix[T]
	bStride, n       int
	down, across     taps // of rows and of columns
	depth            int
	aSeg, aCol, aRow int
	cCol, cRow       int
	rows, cols       int
}

// throughRows makes a tile of every row of the maps: the rows of the tile are the pixels of that row.
func (p *convProduct[T]) throughRows(s *Scratch[T], a matrix[T], c []T) {
	for i := 0; i < p.rows; {
		lo, hi := p.down.of(i)
		n := alike(i, p.rows, p.down.of)
		p.someRows(s, a.from(i*p.aRow+lo*p.aSeg), c[i*p.cRow:], lo, hi, n)
		i += n
	}
}

// someRows does so for n rows of the maps, with the rows lo … hi−1 of their windows. a and c begin with the first.
func (p *convProduct[T]) someRows(s *Scratch[T], a matrix[T], c []T, lo, hi, n int) {
	if s.Products != nil {
		chunks, size := bf16.Chunks(p.depth)
		seg := chunks * size * p.n
		s.product = bf16.Product[T]{
			A: a.rounded, B: p.b.rounded.From(lo * seg), C: c, M: p.cols, N: p.n,
			Segs: hi - lo, Chunks: chunks, Size: size,
			ASeg: p.aSeg, ARow: p.aCol, BSeg: seg, CRow: p.cCol, Runs: n, ARun: p.aRow, CRun: p.cRow,
		}
		s.Products.Multiply(&s.product)
		return
	}
	seg := p.depth * p.bStride
	s.Tile = Tile[T]{
		A: a.plain, B: p.b.plain[lo*seg:], C: c, M: p.cols, N: p.n, Segs: hi - lo, K: p.depth, Runs: n,
		ASeg: p.aSeg, ARow: p.aCol, AK: 1, ARun: p.aRow, BSeg: seg, BRow: p.bStride, CRow: p.cCol, CRun: p.cRow,
	}
	s.Gemm(&s.Tile)
}

// throughPanels does the same for all cCol outputs, one panel after the other. b holds the weights [down.n·depth,cCol],
// or all their panels.
func (p *convProduct[T]) throughPanels(s *Scratch[T], a, b matrix[T], c []T) {
	p.bStride = p.cCol
	for o := 0; o < p.cCol; o += PanelCols {
		p.n = min(PanelCols, p.cCol-o)
		if s.Products != nil {
			p.b = b.from(panelSizes{p.down.n, p.depth, p.cCol}.at(o))
		} else {
			p.b = b.from(o)
		}
		p.throughRows(s, a, c[o:])
	}
}

// throughImages makes a tile of every pixel of the maps: the rows of the tile are that pixel in each of the images,
// which are aImage and cImage elements apart. It takes the weights in blocks that stay in the first cache from pixel to
// pixel.
func (p *convProduct[T]) throughImages(s *Scratch[T], a matrix[T], c []T, images, aImage, cImage int) {
	if s.Products != nil {
		p.roundedThroughImages(s, a, c, images, aImage, cImage)
		return
	}
	channels := p.depth / p.across.n
	for seg := range p.down.n {
		for d := 0; d < p.depth; d += depthBlock {
			for i := range p.rows {
				top, bottom := p.down.of(i)
				if seg < top || seg >= bottom {
					continue
				}
				for j, n := 0, 0; j < p.cols; j += n {
					n = alike(j, p.cols, p.across.of)
					first, end := p.across.of(j)
					lo, hi := max(d, first*channels), min(d+depthBlock, end*channels)
					if lo >= hi {
						continue
					}
					s.Tile = Tile[T]{
						A: a.plain[i*p.aRow+j*p.aCol+seg*p.aSeg+lo:], B: p.b.plain[(seg*p.depth+lo)*p.bStride:],
						C: c[i*p.cRow+j*p.cCol:], M: images, N: p.n, Segs: 1, K: hi - lo, Runs: n,
						ARow: aImage, AK: 1, ARun: p.aCol, BRow: p.bStride, CRow: cImage, CRun: p.cCol,
						Acc: seg > top || lo > first*channels,
					}
					s.Gemm(&s.Tile)
				}
			}
		}
	}
}

// chunksPerBlock is how many chunks of a sum are computed before the next block of weights, as depthBlock is how many
// terms.
const chunksPerBlock = depthBlock / bf16.Depth

// roundedThroughImages is throughImages where operands are rounded. It leaves out rows of zeros, but not columns.
func (p *convProduct[T]) roundedThroughImages(s *Scratch[T], a matrix[T], c []T, images, aImage, cImage int) {
	chunks, size := bf16.Chunks(p.depth)
	for seg := range p.down.n {
		for k := 0; k < chunks; k += chunksPerBlock {
			for i := range p.rows {
				top, bottom := p.down.of(i)
				if seg < top || seg >= bottom {
					continue
				}
				s.product = bf16.Product[T]{
					A: a.rounded.From(i*p.aRow + seg*p.aSeg + k*size),
					B: p.b.rounded.From((seg*chunks + k) * size * p.n), C: c[i*p.cRow:],
					M: images, N: p.n, Segs: 1, Chunks: min(chunksPerBlock, chunks-k), Size: size,
					ARow: aImage, CRow: cImage, Acc: seg > top || k > 0, Runs: p.cols, ARun: p.aCol, CRun: p.cCol,
				}
				s.Products.Multiply(&s.product)
			}
		}
	}
}
