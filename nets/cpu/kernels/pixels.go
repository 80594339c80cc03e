package kernels

// Pixels is some rows of a convolution whose sums are filled with pixels, since it has few outputs:
//
//	Y[i·Row + o·Outputs + j] = Σ_r Σ_s Σ_c W[((r·S + s)·C + c)·O + o] · X[c·Plane + (i+r)·Width + s + j]
//
// for i < Rows, which is even, o < O, j < Cols. The sum runs over r, s and c in order. X and Y have room for Cols
// rounded up to a multiple of [PanelCols] at the end of every row; the surplus elements of Y are undefined afterwards.
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

func (generic[T]) PoolPixels(y []T, arg []uint8, top, bottom, bias []T, ld int, _ []byte) {
	n := len(bias)
	for j := range len(y) / n {
		for o, b := range bias {
			t, u := top[o*ld+2*j:][:2], bottom[o*ld+2*j:][:2]
			y[j*n+o], arg[j*n+o] = largest(t[0], t[1], u[0], u[1], b)
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

// pooledRoom is the memory that PoolPixels works in.
const pooledRoom = 8 * (32 + 8)

// pixels is the memory of a thread for a convolution by pixels.
type pixels[T Float] struct {
	task   Pixels[T]
	planes []T    // [C,H,W] of an image, with room behind it
	room   []byte // for PoolPixels
}

// byPixels computes y and arg of image n of client k.
func (t *ConvForward[T]) byPixels(s *Scratch[T], k, n int) {
	ch, cw := t.Conv()
	_, ow := t.Out()
	p, pitch := &s.pixels, blocks(cw, PanelCols)*PanelCols
	p.planes, p.room = ensure(p.planes, t.xLen()+PanelCols+t.S), ensure(p.room, pooledRoom)
	s.Planes(p.planes, t.H*t.W, t.x[n*t.xLen():][:t.xLen()], t.C)
	block := min(ch, rowsPerBlock(pitch*t.O))
	out := s.Buf(block * t.O * pitch)
	y, arg, bias := t.y[n*t.yLen():][:t.yLen()], t.arg[n*t.argLen():][:t.argLen()], t.b[k*t.O:][:t.O]
	for r := 0; r < ch; r += block {
		rows := min(block, ch-r)
		p.task = Pixels[T]{
			R: t.R, S: t.S, C: t.C, O: t.O, Plane: t.H * t.W, Width: t.W, Row: t.O * pitch, Outputs: pitch,
			Rows: rows, Cols: cw, X: p.planes[r*t.W:], W: t.w[k*t.wLen():][:t.wLen()], Y: out,
		}
		s.PixelRows(&p.task)
		for i := 0; i < rows; i += 2 {
			at := (r + i) / 2
			s.PoolPixels(y[((at+t.OutPad)*ow+t.OutPad)*t.O:][:cw/2*t.O], arg[at*cw/2*t.O:][:cw/2*t.O],
				out[i*t.O*pitch:], out[(i+1)*t.O*pitch:], bias, pitch, p.room)
		}
	}
}
