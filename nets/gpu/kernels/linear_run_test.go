//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"rollcall/nets/gpu/gputest"
)

type linearSize struct{ K, B, I, O int }

// linearSizes are the layers of the tests. They meet every way to copy (16 bytes, 4 bytes, single bf16), tiles filled
// to every degree and layers of one output.
var linearSizes = []linearSize{
	{1, 1, 1, 1},
	{3, 5, 7, 3},
	{1, 5, 64, 10},
	{3, 1, 84, 10},
	{1, 33, 65, 16},
	{1, 5, 63, 17},
	{3, 5, 30, 18},
	{1, 5, 120, 84},
	{1, 70, 258, 66},
	{3, 129, 36, 68},
	{1, 130, 132, 130},
	{1, 5, 784, 2},
	{1, 3, 4096, 20},
	{1, 512, 8, 24},
	{1, 2, 16, 2048},
	{3, 33, 1300, 68},
	{1, 128, 256, 64},
	{1, 128, 2048, 256},
}

// linearRun is a layer on the device, with random numbers in its row, x and gy.
type linearRun struct {
	linearSize
	p     precision
	r     *rig
	wave  wave
	args  LinearArgs
	rows  [][]float32 // [K][P]
	x, gy []float32   // [K+1,B,I], [K+1,B,O], as stored; the last is of the slot that is not in use
}

// newLinearRun uploads a layer, whose w and bias lie somewhere in a longer row.
func newLinearRun(t *testing.T, p precision, K, B, I, O int) *linearRun {
	t.Helper()
	l := &linearRun{linearSize: linearSize{K, B, I, O}, p: p, r: newRig(t)}
	rnd := rand.New(rand.NewPCG(uint64(K*B), uint64(I*O)))
	whole := func(n int) int { return (n + 63) / 64 * 64 }
	const before = 128
	bias := before + whole(I*O) + 64
	P := bias + whole(O) + 64
	for range K {
		l.rows = append(l.rows, numbers(rnd, P))
	}
	l.x, l.gy = p.rounded(numbers(rnd, (K+1)*B*I)), p.rounded(numbers(rnd, (K+1)*B*O))
	l.args = LinearArgs{
		WOffset: before, BOffset: uint32(bias), B: uint32(B), I: uint32(I), O: uint32(O), P: uint32(P), E: 1,
	}
	l.load()
	return l
}

// load uploads what the kernels read, and makes room for what they write.
func (l *linearRun) load() {
	l.wave = wave{Slots: l.r.slots(l.p, l.rows...), E: 1, B: l.B}
	all := l.K + 1
	l.args.Work, l.args.X, l.args.GY = l.r.work(l.wave), l.p.upload(l.r, l.x), l.p.upload(l.r, l.gy)
	l.args.Y, l.args.DX = l.r.alloc(all*l.B*l.O*4), l.p.blank(l.r, all*l.B*l.I)
	l.args.Grad = blank[float32](l.r, all*int(l.args.P))
}

// forward, data and filter launch a kernel and return what it wrote, [K,B,O], [K,B,I] and [K,P].
func (l *linearRun) forward() []float32 {
	n := l.K * l.B * l.O
	args := l.args
	args.Parts = args.ForwardParts(l.p.kind())
	if args.Parts > 1 {
		args.Partial = blank[float32](l.r, (l.K+1)*int(args.Parts)*l.B*l.O)
	}
	launch(l.r, "linear_forward_"+l.p.name, args.Forward(l.p.kind()), l.wave.room(), &args)
	if args.Parts > 1 {
		launch(l.r, "linear_reduce_"+l.p.name, args.Reduce(l.p.kind()), l.wave.room(), &args)
	}
	if l.args.YFloat == 1 {
		l.r.untouched("y of the slot not in use", l.args.Y+uint64(n*4), l.B*l.O*4)
		return download[float32](l.r, l.args.Y, n)
	}
	l.r.untouched("y of the slot not in use", l.args.Y+uint64(n*l.p.bytes), l.B*l.O*l.p.bytes)
	return l.p.download(l.r, l.args.Y, n)
}

func (l *linearRun) data() []float32 {
	n := l.K * l.B * l.I
	args := l.args
	launch(l.r, "linear_backward_data_"+l.p.name, args.BackwardData(l.p.kind()), l.wave.room(), &args)
	l.r.untouched("dx of the slot not in use", l.args.DX+uint64(n*l.p.bytes), l.B*l.I*l.p.bytes)
	return l.p.download(l.r, l.args.DX, n)
}

func (l *linearRun) filter() []float32 {
	n := l.K * int(l.args.P)
	args := l.args
	launch(l.r, "linear_backward_filter_"+l.p.name, args.BackwardFilter(l.p.kind()), l.wave.room(), &args)
	l.r.untouched("grad of the slot not in use", l.args.Grad+uint64(n*4), int(l.args.P)*4)
	return download[float32](l.r, l.args.Grad, n)
}

// weights returns w of slot k as the products read it; bias returns its bias.
func (l *linearRun) weights(k int) []float32 {
	return l.p.rounded(l.rows[k][l.args.WOffset:][:l.I*l.O])
}

func (l *linearRun) bias(k int) []float32 { return l.rows[k][l.args.BOffset:][:l.O] }

// product returns c[m,n] = Σ_d a(m,d)·b(d,n) in float64, and size[m,n], the same sum of absolute values.
func product(M, N, depth int, a, b func(i, j int) float64) (c, size []float64) {
	c, size = make([]float64, M*N), make([]float64, M*N)
	for m := range M {
		for d := range depth {
			v := a(m, d)
			for n := range N {
				p := v * b(d, n)
				c[m*N+n] += p
				size[m*N+n] += math.Abs(p)
			}
		}
	}
	return c, size
}

// rowsOf returns element (i,j) of a matrix of `columns` columns, columnsOf element (j,i).
func rowsOf(x []float32, columns int) func(i, j int) float64 {
	return func(i, j int) float64 { return float64(x[i*columns+j]) }
}

func columnsOf(x []float32, columns int) func(i, j int) float64 {
	return func(i, j int) float64 { return float64(x[j*columns+i]) }
}

// storeHalf returns the relative error of storing an activation. bf16 has 8 bits of mantissa, the first included.
func (l *linearRun) storeHalf() float64 {
	switch l.p.name {
	case "bf16":
		return 0x1p-8
	case "tf32":
		return 0x1p-11
	}
	return 0
}

const sumReason = "2⁻²⁴ of the sum of absolute terms for each of depth+2 roundings, which bounds tensor cores too, " +
	"that drop bits but once in 8 terms; then the rounding of what is stored"

// sumTolerance returns a bound of |got − want| for a sum whose exact value is want and whose absolute terms sum up to
// size. half is the relative error of storing the result.
func sumTolerance(want, size []float64, depth int, half float64) func(i int) float64 {
	return func(i int) float64 {
		sum := float64(depth+2) * 0x1p-24 * size[i]
		return sum + half*(math.Abs(want[i])+sum)
	}
}

// eachLinear runs a test for every precision and size.
func eachLinear(t *testing.T, test func(t *testing.T, l *linearRun)) {
	for _, p := range precisions {
		for _, s := range linearSizes {
			if s.B*s.I*s.O > 1e7 && !gputest.Long() {
				continue // takes seconds on the emulator
			}
			t.Run(fmt.Sprintf("%s/K=%d_B=%d_I=%d_O=%d", p.name, s.K, s.B, s.I, s.O), func(t *testing.T) {
				test(t, newLinearRun(t, p, s.K, s.B, s.I, s.O))
			})
		}
	}
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
