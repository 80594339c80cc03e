package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomSparse returns a product of random sizes with strides in any direction, and the lengths that M and To must
// have.
func randomSparse(r *rand.Rand, rows, cols int) (p Sparse[float32], m, to int) {
	p = Sparse[float32]{
		Items: 1 + r.IntN(9), Rows: rows, Cols: cols, Add: r.IntN(2) == 0, Loaded: r.IntN(rows + 1),
		MStep: r.IntN(41) - 20, MRow: r.IntN(401) - 200,
	}
	p.Row = padded(cols) + r.IntN(5)
	p.Step = rows*p.Row + r.IntN(9)
	const places = 300
	for range p.Items {
		p.Starts = append(p.Starts, int32(len(p.Values)))
		for range r.IntN(40) {
			p.Values, p.Places = append(p.Values, float32(r.IntN(17)-8)/8), append(p.Places, int32(r.IntN(places)))
		}
		p.Stops = append(p.Stops, int32(len(p.Values)))
	}
	p.Values, p.Places = append(p.Values, 7), append(p.Places, 0) // of no list
	p.At = max(0, -(p.Items-1)*p.MStep) + max(0, -(rows-1)*p.MRow)
	m = p.At + max(0, (p.Items-1)*p.MStep) + max(0, (rows-1)*p.MRow) + places + padded(cols)
	return p, m, (p.Items-1)*p.Step + (rows-1)*p.Row + padded(cols)
}

// TestSparse has numbers whose sums are exact in float32, for every number of rows and columns that a shape begins
// with.
func TestSparse(t *testing.T) {
	all, r := runs(t), rand.New(rand.NewPCG(1, 2))
	for rows := 1; rows <= 7; rows++ {
		for _, cols := range []int{1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 48, 64, 65, 96, 97, 160, 200, 288} {
			p, nm, nto := randomSparse(r, rows, cols)
			m, to := numbers(r, nm, 0), numbers(r, nto, 0)
			want := p
			want.M, want.To = m, slices.Clone(to)
			generic[float32]{}.Sparse(&want)
			for _, run := range all {
				run.p.Reset()
				got := p
				got.Values, got.Places = lend(run.p, p.Values), lend(run.p, p.Places)
				got.Starts, got.Stops = lend(run.p, p.Starts), lend(run.p, p.Stops)
				got.M, got.To = lend(run.p, m), lend(run.p, to)
				run.k.Sparse(&got)
				what := fmt.Sprintf("%s, %s: %d items of %d rows, %d columns, Loaded=%d Add=%t: To", run.k.Name(),
					run.p.Name, p.Items, rows, cols, p.Loaded, p.Add)
				run.p.Intact(t, what)
				for i := range to { // columns behind Cols may be anything up to the next multiple of 8
					switch in := i % p.Step % p.Row; {
					case in < cols && i%p.Step < rows*p.Row:
						wantSame(t, fmt.Sprintf("%s, from %d", what, i), got.To[i:i+1], want.To[i:i+1])
					case in >= padded(cols) || i%p.Step >= rows*p.Row:
						wantSame(t, fmt.Sprintf("%s, between rows, from %d", what, i), got.To[i:i+1], to[i:i+1])
					}
				}
			}
		}
	}
}

// randomPooled returns rows of a pooled map, a part of which is dead.
func randomPooled(r *rand.Rand, rows, pixels, channels int) *Pooled[float32] {
	p := &Pooled[float32]{Rows: rows, Pixels: pixels, Channels: channels, Pitch: pixels*channels + r.IntN(9)}
	p.Gy, p.Arg = numbers(r, (rows-1)*p.Pitch+pixels*channels, 20), make([]uint8, rows*pixels*channels)
	most := 4 + r.IntN(6)
	for i := range p.Arg {
		p.Arg[i] = uint8(min(r.IntN(most), Dead))
	}
	return p
}

// eachPooled runs test for rows of many sizes, with the same rows in buffers of a place.
func eachPooled(
	t *testing.T, test func(t *testing.T, what string, k Kernels[float32], p *place, want, got *Pooled[float32]),
) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, channels := range channelCounts {
			for _, pixels := range []int{1, 2, 5, 8, 9, 16, 20} {
				want := randomPooled(r, 1+r.IntN(3), pixels, channels)
				p.Reset()
				got := *want
				got.Gy, got.Arg = lend(p, want.Gy), lend(p, want.Arg)
				what := fmt.Sprintf("%d rows, pixels=%d channels=%d", want.Rows, pixels, channels)
				test(t, what, k, p, want, &got)
			}
		}
	})
}

func TestPixelWinners(t *testing.T) {
	eachPooled(t, func(t *testing.T, what string, k Kernels[float32], p *place, pooled, lent *Pooled[float32]) {
		var want, got PixelLists[float32]
		for _, l := range []*PixelLists[float32]{&want, &got} {
			l.ensure(pooled.Pixels, pooled.Channels)
			l.Depth, l.Ends = 3, [2][]int32{make([]int32, 2*pooled.Pixels), make([]int32, 2*pooled.Pixels)}
		}
		for i := range 2 {
			got.Values[i], got.Places[i] = lend(p, got.Values[i]), lend(p, got.Places[i])
			got.Ends[i] = lend(p, got.Ends[i])
		}
		generic[float32]{}.PixelWinners(&want, pooled)
		k.PixelWinners(&got, lent)
		p.Intact(t, what)
		for i := range 2 {
			wantEqual(t, what+": ends", got.Ends[i], want.Ends[i])
			n := want.Ends[i][2*pooled.Pixels-1]
			wantSame(t, what+": values", got.Values[i][:n], want.Values[i][:n])
			wantEqual(t, what+": places", got.Places[i][:n], want.Places[i][:n])
		}
		got.Values[1] = got.Values[1][:pooled.Pixels*pooled.Channels]
		wantPanic(t, what+": no room", func() { k.PixelWinners(&got, lent) })
	})
}

// wantEqual fails unless got and want are the same.
func wantEqual(t *testing.T, what string, got, want []int32) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func TestChannelWinners(t *testing.T) {
	eachPooled(t, func(t *testing.T, what string, k Kernels[float32], p *place, pooled, lent *Pooled[float32]) {
		var want, got ChannelLists[float32]
		for _, l := range []*ChannelLists[float32]{&want, &got} {
			l.ensure(pooled.Rows, pooled.Pixels, pooled.Channels)
			l.Row, l.Pixel = 1000, 3
		}
		got.Values, got.Places, got.room = lend(p, got.Values), lend(p, got.Places), lend(p, got.room)
		got.Starts, got.Stops = lend(p, got.Starts), lend(p, got.Stops)
		generic[float32]{}.ChannelWinners(&want, pooled)
		k.ChannelWinners(&got, lent)
		p.Intact(t, what)
		wantEqual(t, what+": stops", got.Stops, want.Stops)
		for o, from := range want.Starts {
			wantSame(t, what+": values", got.Values[from:want.Stops[o]], want.Values[from:want.Stops[o]])
			wantEqual(t, what+": places", got.Places[from:want.Stops[o]], want.Places[from:want.Stops[o]])
		}
		got.Values = got.Values[:len(got.Values)-1]
		wantPanic(t, what+": no room", func() { k.ChannelWinners(&got, lent) })
	})
}

func TestNonZeros(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := 1; n <= 70; n++ {
			rows, ld := 1+r.IntN(4), padded(n)+r.IntN(9)
			x := numbers(r, (rows-1)*ld+padded(n), 9) // a zero of either sign is one in 20
			for i := range x {
				if r.IntN(3) == 0 {
					x[i] = 0
				}
			}
			var want, got RowLists[float32]
			want.ensure(rows, n)
			got.ensure(rows, n)
			p.Reset()
			got.Values, got.Places = lend(p, got.Values), lend(p, got.Places)
			got.Starts, got.Stops = lend(p, got.Starts), lend(p, got.Stops)
			generic[float32]{}.NonZeros(&want, x, rows, ld, n, 5)
			k.NonZeros(&got, lend(p, x), rows, ld, n, 5)
			what := fmt.Sprintf("%d rows of %d", rows, n)
			p.Intact(t, what)
			wantEqual(t, what+": stops", got.Stops, want.Stops)
			for i, from := range want.Starts {
				wantSame(t, what+": values", got.Values[from:want.Stops[i]], want.Values[from:want.Stops[i]])
				wantEqual(t, what+": places", got.Places[from:want.Stops[i]], want.Places[from:want.Stops[i]])
			}
			wantPanic(t, what+": short x", func() { k.NonZeros(&got, x[:len(x)-1], rows, ld, n, 5) })
		}
	})
}

func TestAddWinners(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	eachPooled(t, func(t *testing.T, what string, k Kernels[float32], p *place, pooled, lent *Pooled[float32]) {
		db := fractions(r, pooled.Channels)
		got := lend(p, db)
		k.AddWinners(got, lent)
		p.Intact(t, what)
		generic[float32]{}.AddWinners(db, pooled)
		wantSame(t, what+": db", got, db)
		lent.Arg = lent.Arg[:len(lent.Arg)-1]
		wantPanic(t, what+": short arg", func() { k.AddWinners(got, lent) })
	})
}

// TestPixelRows has numbers whose sums are exact in float32.
func TestPixelRows(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(9, 10))
		for outputs := 1; outputs <= 14; outputs++ {
			for _, cols := range []int{1, 15, 16, 28, 32, 33, 60} {
				task := Pixels[float32]{
					R: 1 + r.IntN(5), S: 1 + r.IntN(5), C: 1 + r.IntN(4), O: outputs, Rows: 2 + 2*r.IntN(2), Cols: cols,
				}
				pitch := blocks(cols, PanelCols) * PanelCols
				task.Width = cols + task.S + r.IntN(3)
				task.Plane = task.Width*(task.Rows+task.R) + r.IntN(3)
				task.Outputs = pitch + r.IntN(3)
				task.Row = outputs*task.Outputs + r.IntN(3)
				x := numbers(r, (task.C-1)*task.Plane+(task.Rows+task.R-2)*task.Width+task.S-1+pitch, 0)
				w := numbers(r, task.R*task.S*task.C*outputs, 0)
				y := make([]float32, (task.Rows-1)*task.Row+(outputs-1)*task.Outputs+pitch)
				want, got := task, task
				want.X, want.W, want.Y = x, w, slices.Clone(y)
				generic[float32]{}.PixelRows(&want)
				p.Reset()
				got.X, got.W, got.Y = lend(p, x), lend(p, w), lend(p, y)
				k.PixelRows(&got)
				what := fmt.Sprintf("R=%d S=%d C=%d O=%d, %d × %d", task.R, task.S, task.C, outputs, task.Rows, cols)
				p.Intact(t, what)
				for i := range task.Rows {
					for o := range outputs {
						at := i*task.Row + o*task.Outputs
						wantSame(t, what+": Y", got.Y[at:][:cols], want.Y[at:][:cols])
					}
				}
			}
		}
	})
}

func TestPoolPixels(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(17, 18))
		for outputs := 1; outputs <= 20; outputs++ {
			for _, pixels := range []int{1, 2, 7, 8, 9, 14, 16, 17} {
				for _, oneIn := range []int{0, 4, 100} {
					ld := 2*padded(pixels) + r.IntN(4)
					n := (outputs-1)*ld + 2*padded(pixels)
					top, bottom, bias := numbers(r, n, oneIn), numbers(r, n, oneIn), numbers(r, outputs, oneIn)
					want, wantArg := make([]float32, pixels*outputs), make([]uint8, pixels*outputs)
					generic[float32]{}.PoolPixels(want, wantArg, top, bottom, bias, ld, nil)
					p.Reset()
					got := lend(p, numbers(r, len(want), 0))
					arg := lend(p, slices.Repeat([]uint8{99}, len(want)))
					room := lend(p, make([]uint8, pooledRoom))
					k.PoolPixels(got, arg, lend(p, top), lend(p, bottom), lend(p, bias), ld, room)
					what := fmt.Sprintf("O=%d W/2=%d ld=%d NaN or Inf 1 in %d", outputs, pixels, ld, oneIn)
					p.Intact(t, what)
					wantSame(t, what+": y", got, want)
					wantSameBytes(t, what+": arg", arg, wantArg)
				}
			}
		}
	})
}

func TestPlanes(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, channels := range []int{1, 2, 3, 4, 9} {
			for _, pixels := range []int{1, 7, 8, 9, 24, 31} {
				plane := pixels + r.IntN(3)
				src, dst := numbers(r, pixels*channels, 9), numbers(r, (channels-1)*plane+pixels, 0)
				p.Reset()
				got := lend(p, dst)
				k.Planes(got, plane, lend(p, src), channels)
				what := fmt.Sprintf("%d pixels, %d channels", pixels, channels)
				p.Intact(t, what)
				generic[float32]{}.Planes(dst, plane, src, channels)
				wantSame(t, what, got, dst)
			}
		}
	})
}

func TestNarrow(t *testing.T) {
	everywhere(t, func(t *testing.T, k Kernels[float32], p *place) {
		r := rand.New(rand.NewPCG(13, 14))
		for channels := 1; channels <= 20; channels++ {
			for _, pixels := range []int{1, 2, 7} {
				ld := padded(channels)
				src, dst := numbers(r, pixels*ld, 9), numbers(r, pixels*channels, 0)
				p.Reset()
				got := lend(p, dst)
				k.Narrow(got, lend(p, src), pixels, channels, ld)
				what := fmt.Sprintf("%d pixels, %d channels", pixels, channels)
				p.Intact(t, what)
				generic[float32]{}.Narrow(dst, src, pixels, channels, ld)
				wantSame(t, what, got, dst)
			}
		}
	})
}

func TestSparsePanics(t *testing.T) {
	p, nm, nto := randomSparse(rand.New(rand.NewPCG(15, 16)), 3, 20)
	pixels := Pixels[float32]{R: 2, S: 2, C: 2, O: 2, Rows: 2, Cols: 9, Width: 40, Plane: 160, Outputs: 32, Row: 64}
	for _, k := range fast(t) {
		sparse := func(change func(*Sparse[float32])) func() {
			u := p
			u.M, u.To = make([]float32, nm), make([]float32, nto)
			change(&u)
			return func() { k.Sparse(&u) }
		}
		rows := func(change func(*Pixels[float32])) func() {
			u := pixels
			u.X, u.W, u.Y = make([]float32, 160+2*40+1+32), make([]float32, 16), make([]float32, 64+32+32)
			change(&u)
			return func() { k.PixelRows(&u) }
		}
		sparse(func(*Sparse[float32]) {})()
		rows(func(*Pixels[float32]) {})()
		f := func(n int) []float32 { return make([]float32, n) }
		u := func(n int) []uint8 { return make([]uint8, n) }
		for what, run := range map[string]func(){
			"sparse: no items":    sparse(func(u *Sparse[float32]) { u.Items = 0 }),
			"sparse: Rows=0":      sparse(func(u *Sparse[float32]) { u.Rows = 0 }),
			"sparse: Row=-1":      sparse(func(u *Sparse[float32]) { u.Row = -1 }),
			"sparse: short To":    sparse(func(u *Sparse[float32]) { u.To = u.To[:nto-1] }),
			"sparse: short Stops": sparse(func(u *Sparse[float32]) { u.Stops = u.Stops[:p.Items-1] }),
			"sparse: nil M":       sparse(func(u *Sparse[float32]) { u.M = nil }),
			"pixels: O=0":         rows(func(u *Pixels[float32]) { u.O = 0 }),
			"pixels: Rows=1":      rows(func(u *Pixels[float32]) { u.Rows = 1 }),
			"pixels: Plane=-1":    rows(func(u *Pixels[float32]) { u.Plane = -1 }),
			"pixels: short X":     rows(func(u *Pixels[float32]) { u.X = u.X[:160+2*40+32] }),
			"pixels: short W":     rows(func(u *Pixels[float32]) { u.W = u.W[:15] }),
			"pixels: short Y":     rows(func(u *Pixels[float32]) { u.Y = u.Y[:127] }),
			"pool: short arg":     func() { k.PoolPixels(f(12), u(11), f(112), f(112), f(6), 16, u(320)) },
			"pool: short top":     func() { k.PoolPixels(f(12), u(12), f(95), f(112), f(6), 16, u(320)) },
			"pool: short bottom":  func() { k.PoolPixels(f(12), u(12), f(112), f(95), f(6), 16, u(320)) },
			"pool: short room":    func() { k.PoolPixels(f(12), u(12), f(112), f(112), f(6), 16, u(319)) },
			"pool: ld=15":         func() { k.PoolPixels(f(12), u(12), f(112), f(112), f(6), 15, u(320)) },
			"planes: short dst":   func() { k.Planes(f(47), 16, f(48), 3) },
			"narrow: short src":   func() { k.Narrow(f(12), f(15), 2, 6, 8) },
			"narrow: short dst":   func() { k.Narrow(f(11), f(16), 2, 6, 8) },
		} {
			wantPanic(t, k.Name()+": "+what, run)
		}
	}
}
