package kernels

// Sparse is a product of a sparse matrix, whose rows are lists, with a dense one. Strides count elements:
//
//	sum = (g < Loaded: To[t·Step + g·Row + j]) + Σ_e Values[e] · M[At + t·MStep + g·MRow + Places[e] + j]
//	To[t·Step + g·Row + j] = (Add: To[t·Step + g·Row + j]) + sum
//
// for the items t < Items, g < Rows, j < Cols, and the entries Starts[t] ≤ e < Stops[t] in order. MStep
// and MRow may be negative. Rows of M and To have room for Cols rounded up to a multiple of [sparseLanes]; the surplus
// elements of To are undefined afterwards. The assembly relies on the order of the fields: asm.Sparse repeats it.
type Sparse[T Float] struct {
	Values         []T
	Places         []int32
	Starts, Stops  []int32
	Items          int
	MStep, MRow    int
	Step, Row      int
	Add            bool
	M, To          []T
	At, Rows, Cols int
	Loaded         int
}

// sparseLanes is what the columns of sparse products, and the pixels and channels of lists, are rounded up to.
const sparseLanes = 8

// padded returns n rounded up to a multiple of sparseLanes.
func padded(n int) int { return blocks(n, sparseLanes) * sparseLanes }

// Pooled is some rows of a pooled map: the gradients Gy [Rows,Pixels,Channels], whose rows are Pitch elements apart,
// and Arg [Rows,Pixels,Channels] without gaps, which says where they belong; see [Kernels]. More elements behind both
// make the assembly faster.
type Pooled[T Float] struct {
	Gy                            []T
	Arg                           []uint8
	Rows, Pixels, Channels, Pitch int
}

// row returns row i of Gy and Arg, with all that follows.
func (p *Pooled[T]) row(i int) ([]T, []uint8) { return p.Gy[i*p.Pitch:], p.Arg[i*p.Pixels*p.Channels:] }

// PixelLists is the gradients of two rows of a map that won their windows of a pooling, listed pixel by pixel and then
// by channel. The other gradients are 0.
type PixelLists[T Float] struct {
	Values [2][]T     // of the upper row and the lower
	Places [2][]int32 // Depth·(channels·pixel + channel)
	Ends   [2][]int32 // entries up to each pixel
	Depth  int
	last   lastRow[T]
}

// ensure makes room for two rows of pixels of a pooled map.
func (l *PixelLists[T]) ensure(pixels, channels int) {
	if n := pixels*channels + sparseLanes; len(l.Values[0]) < n {
		for row := range 2 {
			l.Values[row], l.Places[row] = make([]T, n), make([]int32, n)
		}
	}
}

// ChannelLists is the gradients of some rows of a map that won their windows of a pooling, a list for each channel, in
// order of rows and then of columns. The other gradients are 0.
type ChannelLists[T Float] struct {
	Values        []T
	Places        []int32 // Row·row + Pixel·column
	Starts, Stops []int32 // [channels]
	Row, Pixel    int
	room          []byte // for turned rows
	last          lastRow[T]
}

// ensure makes lists for so many channels, each with room for the windows of some rows that are pixels wide when they
// are pooled.
func (l *ChannelLists[T]) ensure(rows, pixels, channels int) {
	each := rows*pixels + sparseLanes // kernels write whole registers
	l.Values, l.Places = ensure(l.Values, each*channels), ensure(l.Places, each*channels)
	l.Starts, l.Stops = ensure(l.Starts, channels), ensure(l.Stops, channels)
	for o := range l.Starts[:channels] {
		l.Starts[o] = int32(o * each)
	}
	l.room = ensure(l.room, turnedBytes(pixels))
}

// RowLists is the elements of the rows of a matrix that are not 0, a list for each row.
type RowLists[T Float] struct {
	Values        []T
	Places        []int32 // a multiple of the column
	Starts, Stops []int32
}

// ensure makes lists for so many rows of n elements.
func (l *RowLists[T]) ensure(rows, n int) {
	each := n + sparseLanes // kernels write whole registers
	l.Values, l.Places = ensure(l.Values, rows*each), ensure(l.Places, rows*each)
	l.Starts, l.Stops = ensure(l.Starts, rows), ensure(l.Stops, rows)
	for i := range l.Starts[:rows] {
		l.Starts[i] = int32(i * each)
	}
}

// ensure returns x if it has n elements, else new memory.
func ensure[T any](x []T, n int) []T {
	if len(x) < n {
		return make([]T, n)
	}
	return x
}

// lastRow is memory for a row of a pooled map that kernels would read past the end of its slice.
type lastRow[T Float] struct {
	gy  []T
	arg []uint8
}

// longer returns gy and arg, or copies of them that have n elements.
func (r *lastRow[T]) longer(gy []T, arg []uint8, n int) ([]T, []uint8) {
	if len(gy) < n {
		r.gy = ensure(r.gy, n)
		copy(r.gy, gy)
		gy = r.gy
	}
	if len(arg) < n {
		r.arg = ensure(r.arg, n)
		copy(r.arg, arg)
		arg = r.arg
	}
	return gy, arg
}

// turnedBytes is the memory for a turned row of a pooled map.
func turnedBytes(pixels int) int { return blocks(pixels, sparseLanes) * sparseLanes * sparseLanes * 5 }

func (generic[T]) Sparse(t *Sparse[T]) {
	for i := range t.Items {
		for g := range t.Rows {
			for j := 0; j < t.Cols; j += PanelCols {
				c, n := i*t.Step+g*t.Row+j, min(PanelCols, t.Cols-j)
				var sums [PanelCols]T
				if g < t.Loaded {
					copy(sums[:], t.To[c:][:n])
				}
				for e := t.Starts[i]; e < t.Stops[i]; e++ {
					v := t.Values[e]
					for k, m := range t.M[t.At+i*t.MStep+g*t.MRow+int(t.Places[e])+j:][:n] {
						sums[k] += v * m
					}
				}
				to := t.To[c:][:n]
				if t.Add {
					for k := range to {
						to[k] += sums[k]
					}
				} else {
					copy(to, sums[:])
				}
			}
		}
	}
}

func (generic[T]) PixelWinners(l *PixelLists[T], p *Pooled[T]) {
	var n [2]int
	for j := range p.Pixels {
		for column := range 2 {
			for o := range p.Channels {
				at := p.Arg[j*p.Channels+o]
				if at == Dead || int(at)%2 != column {
					continue
				}
				row := at / 2
				l.Values[row][n[row]] = p.Gy[j*p.Channels+o]
				l.Places[row][n[row]] = int32(l.Depth * (p.Channels*(2*j+column) + o))
				n[row]++
			}
			for row := range n {
				l.Ends[row][2*j+column] = int32(n[row])
			}
		}
	}
}

func (generic[T]) ChannelWinners(l *ChannelLists[T], p *Pooled[T]) {
	copy(l.Stops, l.Starts)
	for i := range 2 * p.Rows {
		gy, arg := p.row(i / 2)
		for j := range p.Pixels {
			for o, at := range arg[j*p.Channels:][:p.Channels] {
				if at == Dead || int(at)/2 != i%2 {
					continue
				}
				n := &l.Stops[o]
				l.Values[*n] = gy[j*p.Channels+o]
				l.Places[*n] = int32(l.Row*i + l.Pixel*(2*j+int(at)%2))
				*n++
			}
		}
	}
}

func (generic[T]) NonZeros(l *RowLists[T], x []T, rows, ld, n, step int) {
	l.ensure(rows, n)
	for i := range rows {
		l.Stops[i] = l.Starts[i]
		for j, v := range x[i*ld:][:n] {
			if v != 0 {
				l.Values[l.Stops[i]], l.Places[l.Stops[i]] = v, int32(step*j)
				l.Stops[i]++
			}
		}
	}
}

func (generic[T]) AddWinners(db []T, p *Pooled[T]) {
	for i := range p.Rows {
		gy, arg := p.row(i)
		for j := range p.Pixels * p.Channels {
			if arg[j] != Dead {
				db[j%p.Channels] += gy[j]
			}
		}
	}
}
