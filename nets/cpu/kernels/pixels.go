package kernels

// Pixels is some rows of a convolution whose sums are filled with pixels, since it has few outputs:
//
//	Y[i·Row + o·Outputs + j] = Σ_r Σ_s Σ_c W[((r·S + s)·C + c)·O + o] · X[c·Plane + (i+r)·Width + s + j]
//
// for i < Rows, o < O, j < Cols. The sum runs over r, s and c in order. X and Y have room for Cols rounded up to a
// multiple of [PanelCols] at the end of every row; the surplus elements of Y are undefined afterwards.
type Pixels[T Float] struct {
	R, S, C, O                 int
	Plane, Width, Row, Outputs int
	Rows, Cols                 int
	X, W, Y                    []T
}

func (generic[T]) PixelRows(t *Pixels[T]) {
	for i := range t.Rows {
		for o := range t.O {
			y := t.Y[i*t.Row+o*t.Outputs:][:t.Cols]
			clear(y)
			for p := range t.R * t.S * t.C {
				r, s, c := p/(t.S*t.C), p/t.C%t.S, p%t.C
				w := t.W[p*t.O+o]
				for j, x := range t.X[c*t.Plane+(i+r)*t.Width+s:][:len(y)] {
					y[j] += w * x
				}
			}
		}
	}
}

func (generic[T]) Planes(dst []T, plane int, src []T, channels int) {
	for i, v := range src {
		dst[i%channels*plane+i/channels] = v
	}
}

func (generic[T]) Narrow(dst, src []T, pixels, channels, ld int) {
	for i := range pixels {
		copy(dst[i*channels:][:channels], src[i*ld:])
	}
}

// byPixels reports whether more lanes of 8 are in use with pixels in them than with outputs.
func (s ConvShape) byPixels() bool {
	_, w := s.Conv()
	return w*padded(s.O) > s.O*blocks(w, PanelCols/2)*(PanelCols/2)
}

// pixels is the memory of a thread for a convolution by pixels.
type pixels[T Float] struct {
	task   Pixels[T]
	planes []T // [C,H,W] of an image, with room behind it
	rows   []T // [2,pitch,padded(O)] rows of the convolution
}

// byPixels computes y and arg of image n of client k.
func (t *ConvForward[T]) byPixels(s *Scratch[T], k, n int) {
	ch, cw := t.Conv()
	_, ow := t.Out()
	p, pitch, depth := &s.pixels, blocks(cw, PanelCols)*PanelCols, padded(t.O)
	p.planes, p.rows = ensure(p.planes, t.xLen()+PanelCols+t.S), ensure(p.rows, 2*pitch*depth)
	s.Planes(p.planes, t.H*t.W, t.x[n*t.xLen():][:t.xLen()], t.C)
	block := min(ch, rowsPerBlock(pitch*depth))
	out := s.Buf(block * depth * pitch)
	y, arg, bias := t.y[n*t.yLen():][:t.yLen()], t.arg[n*t.argLen():][:t.argLen()], t.b[k*t.O:][:t.O]
	for r := 0; r < ch; r += block {
		rows := min(block, ch-r)
		p.task = Pixels[T]{
			R: t.R, S: t.S, C: t.C, O: t.O, Plane: t.H * t.W, Width: t.W, Row: depth * pitch, Outputs: pitch,
			Rows: rows, Cols: cw, X: p.planes[r*t.W:], W: t.w[k*t.wLen():][:t.wLen()], Y: out,
		}
		s.PixelRows(&p.task)
		for i := 0; i < rows; i += 2 {
			// Whole registers are turned, and what they have too much is ignored.
			for row := range 2 {
				s.Transpose(p.rows[row*pitch*depth:], depth, out[(i+row)*depth*pitch:], pitch, depth, pitch)
			}
			at := (r + i) / 2
			s.PoolReLU(y[((at+t.OutPad)*ow+t.OutPad)*t.O:][:cw/2*t.O], arg[at*cw/2*t.O:][:cw/2*t.O],
				p.rows, p.rows[pitch*depth:], bias, depth)
		}
	}
}
