package kernels

import "rollcall/nets/cpu/kernels/bf16"

// rowsProduct is the gradient of a convolution's weights from some rows of an image:
//
//	dw[r,s,c,o] += Σ_i Σ_j x[stride·i+r, stride·j+s, c]·dy[i,j,o]
//
// For every r this is a product of [S·C, pixels] and [pixels, O].
type rowsProduct[T Float] struct {
	C, O, S int
	down    taps // the places in the rows of the window
	w       int  // of dy
	width   int  // of x in pixels, with its border
	dyWidth int  // pixels from row to row of dy
}

// add adds the share of the rows first … first+rows of dy to dw. x begins with the first window of the image, dy with
// row first. If acc is false, it sets dw instead of adding.
func (p *rowsProduct[T]) add(s *Scratch[T], dw, x, dy []T, first, rows int, acc bool) {
	xRow, u := p.width*p.C, p.down.stride
	through := func(r int) (lo, hi int) { return p.down.windows(r, first, first+rows) } // the rows that place r sums
	for o := 0; o < p.O; o += PanelCols {
		for r, runs := 0, 0; r < p.down.n; r += runs {
			lo, hi := through(r)
			runs = alike(r, p.down.n, through)
			s.Tile = Tile[T]{
				A: x[(lo*u+r)*xRow:], B: dy[(lo-first)*p.dyWidth*p.O+o:], C: dw[r*p.S*p.C*p.O+o:],
				M: p.S * p.C, N: min(PanelCols, p.O-o), Segs: hi - lo, K: p.w, Runs: runs,
				ASeg: u * xRow, ARow: 1, AK: u * p.C, ARun: xRow,
				BSeg: p.dyWidth * p.O, BRow: p.O, CRow: p.O, CRun: p.S * p.C * p.O, Acc: acc,
			}
			s.Gemm(&s.Tile)
		}
	}
}

// weightsProduct is the gradient of a convolution's weights from rounded operands, one image after the other:
//
//	dw[r,s,c,o] += Σ_i Σ_j x[Stride·i+r, Stride·j+s, c]·dy[i,j,o]
//
// The sum runs over all pixels at once, so it needs an image whose channels are rows of pixels: rows as long as dy's,
// pitch pixels apart. The pixels between dy's rows are zeros. A window with a stride reads every Stride-th pixel, and
// so the image is cut into Stride² images, by the remainders of rows and columns.
type weightsProduct[T Float] struct {
	C, O, R, S, Stride int
	h, w               int // of dy
	width              int // of x in pixels, with its border
}

// fewChannels is the least number of channels that make good tiles of their own. With fewer, the channels of all places
// in a row of the window are the rows of a tile, for which the image is stored once for every place.
const fewChannels = 16

// pitch returns the pixels from row to row of a transposed image. It is even, since operands are packed in pairs.
func (p weightsProduct[T]) pitch() int {
	n := p.w + (p.S-1)/p.Stride
	return n + n%2
}

// planeRows returns how many rows of pixels a transposed image has for each remainder of the rows of x.
func (p weightsProduct[T]) planeRows() int {
	if p.C < fewChannels {
		return p.S * p.C
	}
	return min(p.Stride, p.S) * p.C
}

// ld returns the elements of a channel of a transposed image. Products read behind its last pixel.
func (p weightsProduct[T]) ld() int {
	return blocks((p.h+(p.R-1)/p.Stride)*p.pitch()+bf16.Depth, bf16.Depth) * bf16.Depth
}

// room returns the memory for the transposed images of a thread, all zeros.
func (p weightsProduct[T]) room(s *Scratch[T]) bf16.Operand[T] {
	o := s.operand(operandT, min(p.Stride, p.R)*p.planeRows()*p.ld())
	o.Clear()
	return o
}

// transpose writes the image whose first window begins at x[0] to t, which [weightsProduct.room] has made.
func (p weightsProduct[T]) transpose(s *Scratch[T], t bf16.Operand[T], x []T) {
	ld, pitch := p.ld(), p.pitch()
	if p.Stride == 1 && pitch == p.width {
		pixels := (p.h+p.R-2)*p.width + p.w + p.S - 1
		s.Products.Transpose(t, ld, x, p.C, pixels, p.C)
		if p.C < fewChannels {
			for i := p.C; i < p.S*p.C; i++ { // the place i/C of the window, shifted by as many pixels
				t.From(i * ld).First(pixels - i/p.C).Copy(t.From(i%p.C*ld + i/p.C))
			}
		}
		return
	}
	places := p.S // in a row of the window, that are stored apart
	if p.C >= fewChannels {
		places = min(p.Stride, p.S)
	}
	for r := range min(p.Stride, p.R) {
		for q := range places {
			count := p.w // pixels of a row
			if p.C >= fewChannels {
				count += (p.S - 1 - q) / p.Stride
			}
			to := t.From((r*p.planeRows() + q*p.C) * ld)
			for i := range p.h + (p.R-1-r)/p.Stride {
				from := x[((p.Stride*i+r)*p.width+q)*p.C:]
				s.Products.Transpose(to.From(i*pitch), ld, from, p.Stride*p.C, count, p.C)
				for c := range p.C {
					to.Join(c*ld+i*pitch, 2)
				}
			}
		}
	}
}

// terms returns how the sum over the pixels of some rows of dy is cut.
func (p weightsProduct[T]) terms(rows int) (chunks, size int) {
	return bf16.Chunks((rows-1)*p.pitch() + p.w)
}

// add adds rows first … first+rows of dy to dw: dy begins with them, and has rows of dyWidth pixels, of which the first
// w count. t is the transposed image. If acc is false, it sets dw instead of adding.
func (p weightsProduct[T]) add(s *Scratch[T], dw []T, t bf16.Operand[T], dy []T, dyWidth, first, rows int, acc bool) {
	pitch := p.pitch()
	chunks, size := p.terms(rows)
	for o := 0; o < p.O; o += PanelCols {
		n := min(PanelCols, p.O-o)
		b := s.operand(operandB, chunks*size*n)
		for i := range rows {
			padded := pitch
			if i == rows-1 {
				padded = chunks*size - i*pitch
			}
			s.Products.Pack(b.From(i*pitch*n), dy[i*dyWidth*p.O+o:], p.O, p.w, n, padded)
			b.Join(i*pitch*n, 2*n)
		}
		p.multiply(s, dw[o:], t, b, n, first, rows, acc)
	}
}

// multiply adds rows first … first+rows of n columns of dy to the same columns of dw. b is these rows and columns,
// packed.
func (p weightsProduct[T]) multiply(s *Scratch[T], dw []T, t, b bf16.Operand[T], n, first, rows int, acc bool) {
	ld, pitch := p.ld(), p.pitch()
	chunks, size := p.terms(rows)
	s.product = bf16.Product[T]{
		B: b, N: n, Segs: 1, Chunks: chunks, Size: size, ARow: ld, CRow: p.O, Acc: acc, Runs: 1,
	}
	for r := range p.R {
		t, dw := t.From(r%p.Stride*p.planeRows()*ld+(first+r/p.Stride)*pitch), dw[r*p.S*p.C*p.O:]
		switch {
		case p.C < fewChannels: // the whole row of the window
			p.tile(s, t, dw, p.S*p.C)
		case p.Stride == 1:
			s.product.Runs, s.product.ARun, s.product.CRun = p.S, 1, p.C*p.O
			p.tile(s, t, dw, p.C)
		default:
			for q := range p.S {
				p.tile(s, t.From(q%p.Stride*p.C*ld+q/p.Stride), dw[q*p.C*p.O:], p.C)
			}
		}
	}
}

// tile multiplies m rows of a transposed image.
func (p weightsProduct[T]) tile(s *Scratch[T], a bf16.Operand[T], c []T, m int) {
	s.product.A, s.product.C, s.product.M = a, c, m
	s.Products.Multiply(&s.product)
}
