package kernels

import (
	"fmt"

	"rollcall/nets/cpu/kernels/asm"
)

// sparseTable has the numbers of the shapes of a number of lanes, by rows and registers, −1 where there is none.
type sparseTable [6][13]int

// newSparseTable returns the table of a number of lanes.
func newSparseTable(lanes int) *sparseTable {
	t := new(sparseTable)
	for i := range t {
		for j := range t[i] {
			t[i][j] = -1
		}
	}
	for n, s := range asm.SparseShapes(lanes) {
		t[s.Rows][s.Vecs] = n
	}
	return t
}

// Sparse goes through the columns and then through the rows, in the largest shapes that fit.
func (c *code) Sparse(t *Sparse[float32]) {
	if t.Items < 1 || t.Rows < 1 || t.Cols < 1 || t.Step|t.Row < 0 {
		panic(fmt.Sprintf("cpu: sparse: %d items, %d rows, %d columns, strides %d %d: "+
			"want at least 1, strides not negative",
			t.Items, t.Rows, t.Cols, t.Step, t.Row))
	}
	_, _ = t.Starts[t.Items-1], t.Stops[t.Items-1]
	_ = t.To[(t.Items-1)*t.Step+(t.Rows-1)*t.Row+padded(t.Cols)-1]
	if len(t.Values) == 0 || len(t.Places) == 0 || len(t.M) == 0 {
		panic("cpu: sparse: no memory for entries")
	}
	vecs, tail := blocks(t.Cols, c.lanes), t.Cols-(blocks(t.Cols, c.lanes)-1)*c.lanes
	for v, n := 0, 0; v < vecs; v += n {
		for _, n = range []int{12, 8, 6, 4, 3, 2, 1} {
			if n <= vecs-v {
				break
			}
		}
		last := c.lanes
		if v+n == vecs {
			last = tail
		}
		for g, rows := 0, 0; g < t.Rows; g += rows {
			for _, rows = range []int{5, 3, 2, 1} {
				if rows <= t.Rows-g && c.sparseShapes[rows][n] >= 0 {
					break
				}
			}
			to := g*t.Row + v*c.lanes
			c.sparse((*asm.Sparse)(t), &t.M[0], t.At+g*t.MRow+v*c.lanes, &t.To[to],
				c.sparseShapes[rows][n], last, t.Loaded-g)
		}
	}
}

// orders has, for every set m of 8 lanes, the numbers of the lanes in the bytes of orders[m], in order.
var orders = func() (t [256]uint64) {
	for m := range t {
		n := 0
		for lane := range 8 {
			if m>>lane&1 != 0 {
				t[m] |= uint64(lane) << (8 * n)
				n++
			}
		}
	}
	return t
}()

// PixelWinners has one version, for AVX2.
func (c *code) PixelWinners(l *PixelLists[float32], p *Pooled[float32]) {
	gy, arg := l.last.longer(p.Gy, p.Arg, (p.Pixels-1)*p.Channels+padded(p.Channels))
	var to asm.PixelLists
	for row := range 2 {
		values, places := l.Values[row], l.Places[row]
		most := p.Pixels*p.Channels + sparseLanes - 1
		_, _, _ = values[most], places[most], l.Ends[row][2*p.Pixels-1]
		to.Values[row], to.Places[row] = &values[0], &places[0]
	}
	asm.PixelWinnersAVX2(&to, &l.Ends[0][0], &l.Ends[1][0], &gy[0], &arg[0], &orders, p.Pixels, p.Channels, l.Depth)
}

// ChannelWinners has one version, for AVX2.
func (c *code) ChannelWinners(l *ChannelLists[float32], p *Pooled[float32]) {
	copy(l.Stops, l.Starts)
	last := int(l.Starts[p.Channels-1]) + p.Rows*p.Pixels + sparseLanes - 1
	_, _, _, _ = l.Stops[p.Channels-1], l.Values[last], l.Places[last], l.room[turnedBytes(p.Pixels)-1]
	if p.Channels > 1 && int(l.Starts[1]-l.Starts[0]) < p.Rows*p.Pixels+sparseLanes {
		panic(fmt.Sprintf("cpu: winners: lists of %d, want room for %d windows and %d more",
			l.Starts[1]-l.Starts[0], p.Rows*p.Pixels, sparseLanes))
	}
	to := asm.ChannelLists{Values: &l.Values[0], Places: &l.Places[0], Room: &l.room[0]}
	for i := range to.In {
		to.In[i] = int32(i/2*l.Row + i%2*l.Pixel)
		to.Columns[i] = int32(2 * i * l.Pixel)
		to.Group[i] = int32(2 * sparseLanes * l.Pixel)
	}
	for i := range p.Rows {
		gy, arg := p.row(i)
		gy, arg = l.last.longer(gy, arg, (padded(p.Pixels)-1)*p.Channels+padded(p.Channels))
		asm.ChannelWinnersAVX2(&to, &l.Stops[0], &gy[0], &arg[0], &orders, p.Pixels, p.Channels, p.Channels)
		for j := range to.Columns {
			to.Columns[j] += int32(2 * l.Row)
		}
	}
}

// NonZeros has one version, for AVX2.
func (c *code) NonZeros(l *RowLists[float32], x []float32, rows, ld, n, step int) {
	l.ensure(rows, n)
	_ = x[(rows-1)*ld+padded(n)-1]
	asm.NonZerosAVX2(&l.Values[0], &l.Places[0], &l.Stops[0], &x[0], &orders, rows, ld, n, n+sparseLanes, step)
}

func (c *code) AddWinners(db []float32, p *Pooled[float32]) {
	n := p.Pixels * p.Channels
	_ = db[p.Channels-1]
	for i := range p.Rows {
		gy, arg := p.row(i)
		_, _ = gy[n-1], arg[n-1]
		c.addWinners(&db[0], &gy[0], &arg[0], p.Pixels, p.Channels)
	}
}
