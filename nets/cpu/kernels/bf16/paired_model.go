package bf16

import "math"

// Modelled returns the variant avx512bf16 with a model of its instructions in plain Go. Tests run it on processors that
// lack them.
func Modelled(split bool) Kernels[float32] { return paired{split, modelled{}} }

// modelled is the model.
type modelled struct{}

func (modelled) name() string { return "avx512bf16, modelled" }

// halves returns x, rounded to bfloat16, in the upper half, and next in the lower one; and the same for what rounding
// leaves.
func halves(x, next float32) (high, low uint32) {
	h, n := round(x), round(next)
	return upperHalf(h) | upperHalf(n)>>16, upperHalf(round(x-h)) | upperHalf(round(next-n))>>16
}

// upperHalf returns the bits of a rounded number.
func upperHalf(x float32) uint32 {
	if x != x {
		return 0x7fc00000
	}
	return math.Float32bits(x)
}

// put sets element i of the parts of an operand to a pair.
func (modelled) put(dst, low []uint32, i int, x, next float32) {
	var rest uint32
	if dst[i], rest = halves(x, next); low != nil {
		low[i] = rest
	}
}

func (m modelled) pair(dst, low []uint32, src, next []float32) {
	for i, x := range src {
		var y float32
		if i < len(next) {
			y = next[i]
		}
		m.put(dst, low, i, x, y)
	}
}

func (m modelled) pairRows(dst, low []uint32, src []float32, ld, rows, cols int) {
	for p := range rows {
		for j := range cols {
			m.put(dst, low, p*cols+j, src[p*ld+j], rowBehind(src, ld, rows, p, j))
		}
	}
}

func (m modelled) transpose(dst, low []uint32, ldDst int, src []float32, ldSrc, rows, cols int) {
	for p := range rows {
		for j := range cols {
			m.put(dst, low, j*ldDst+p, src[p*ldSrc+j], rowBehind(src, ldSrc, rows, p, j))
		}
	}
}

// rowBehind returns element j of row p+2 of a matrix, or 0 if there is no such row.
func rowBehind(x []float32, ld, rows, p, j int) float32 {
	if p+2 >= rows {
		return 0
	}
	return x[(p+2)*ld+j]
}

func (m modelled) multiply(p *Product[float32]) {
	a, b := p.A.pairs(), p.B.pairs()
	p.eachChunk(a[1] != nil, func(c []float32, partA, atA, partB, atB int) {
		m.addChunk(c, a[partA][atA:][:p.Size], b[partB][atB:])
	})
}

// addChunk adds a chunk to one row of C.
func (modelled) addChunk(c []float32, a, b []uint32) {
	n := len(c)
	for j, v := range c {
		var sums [2]float32
		for parity := range sums {
			for p := parity; p < len(a); p += 4 {
				x, y := a[p], b[p*n+j]
				if p+2 >= len(a) { // no second term: only the first is added
					x, y = x&^0xffff, y&^0xffff|0x8000
				}
				sums[parity] = dot(sums[parity], x, y)
			}
		}
		c[j] = flush(flush(v) + flush(sums[0]+sums[1]))
	}
}
