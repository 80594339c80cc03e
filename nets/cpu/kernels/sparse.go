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

// PixelLists is the gradients of two rows of a map that won their windows of a pooling, listed pixel by pixel and then by
// channel. The other gradients are 0.
type PixelLists[T Float] struct {
	Values [2][]T     // of the upper row and the lower
	Places [2][]int32 // Depth·(channels·pixel + channel)
	Ends   [2][]int32 // entries up to each pixel
	Depth  int
	last   pooledRow[T]
}

// pooledRow is memory for a row of a pooled map that kernels would read past the end of its slice.
type pooledRow[T Float] struct {
	gy  []T
	arg []uint8
}

// longer returns gy and arg, or copies of them that have n elements.
func (r *pooledRow[T]) longer(gy []T, arg []uint8, n int) ([]T, []uint8) {
	if len(r.gy) < n && (len(gy) < n || len(arg) < n) {
		r.gy, r.arg = make([]T, n), make([]uint8, n)
	}
	if len(gy) < n {
		copy(r.gy, gy)
		gy = r.gy
	}
	if len(arg) < n {
		copy(r.arg, arg)
		arg = r.arg
	}
	return gy, arg
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
	Places        []int32 // At + Row·(row%2) + Pixel·column
	Starts, Stops []int32 // [channels]
	Row, Pixel    int
	each          int32  // entries for which a list has memory
	left          int    // windows that the lists have room for
	room          []byte // for turned rows
	last          pooledRow[T]
}

// ensure makes lists for so many channels, each with room for the windows of some rows that are pixels wide when they are
// pooled.
func (l *ChannelLists[T]) ensure(rows, pixels, channels int) {
	l.each = int32(rows*pixels + sparseLanes) // kernels write whole registers
	if n := int(l.each) * channels; len(l.Values) < n {
		l.Values, l.Places = make([]T, n), make([]int32, n)
	}
	if len(l.Starts) < channels {
		l.Starts, l.Stops = make([]int32, channels), make([]int32, channels)
	}
	for o := range l.Starts[:channels] {
		l.Starts[o] = int32(o) * l.each
	}
	if n := turnedBytes(pixels); len(l.room) < n {
		l.room = make([]byte, n)
	}
}

// reset empties the lists.
func (l *ChannelLists[T]) reset() {
	copy(l.Stops, l.Starts)
	l.left = int(l.each) - sparseLanes
}

// take takes room for so many windows.
func (l *ChannelLists[T]) take(windows int) {
	if l.left -= windows; l.left < 0 {
		panic("cpu: winners: more windows than the lists have room for")
	}
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

func (generic[T]) PixelWinners(l *PixelLists[T], gy []T, arg []uint8, pixels, channels int) {
	var n [2]int
	for j := range pixels {
		for column := range 2 {
			for o := range channels {
				at := arg[j*channels+o]
				if at == Dead || int(at)%2 != column {
					continue
				}
				row := at / 2
				l.Values[row][n[row]] = gy[j*channels+o]
				l.Places[row][n[row]] = int32(l.Depth * (channels*(2*j+column) + o))
				n[row]++
			}
			for row := range n {
				l.Ends[row][2*j+column] = int32(n[row])
			}
		}
	}
}

func (generic[T]) ChannelWinners(l *ChannelLists[T], first int, gy []T, arg []uint8, pixels, channels int) {
	l.take(pixels)
	for row := range 2 {
		for j := range pixels {
			for o, at := range arg[j*channels:][:channels] {
				if at == Dead || int(at)/2 != row {
					continue
				}
				n := &l.Stops[o]
				l.Values[*n] = gy[j*channels+o]
				l.Places[*n] = int32(first + l.Row*row + l.Pixel*(2*j+int(at)%2))
				*n++
			}
		}
	}
}

func (generic[T]) AddWinners(db, gy []T, arg []uint8) {
	n := len(db)
	for i := 0; i < len(gy); i += n {
		for o, g := range gy[i:][:n] {
			if arg[i+o] != Dead {
				db[o] += g
			}
		}
	}
}
