package reference

// generic is the loop in plain Go, for processors without AVX2.
var generic = code{run: plain, rounds: 1 << 17, flopInRound: 16}

// plain runs n rounds of eight independent multiply-adds. The sums go from 0 to 1: none overflows, or becomes
// subnormal, which processors are slow with.
func plain(n int) {
	const x, y = 0.999, 1e-3
	var a, b, c, d, e, f, g, h float32
	for range n {
		a = a*x + y
		b = b*x + y
		c = c*x + y
		d = d*x + y
		e = e*x + y
		f = f*x + y
		g = g*x + y
		h = h*x + y
	}
	if a+b+c+d+e+f+g+h < 0 { // never, but the compiler must add up to know
		panic("reference: a sum of positive numbers is below 0")
	}
}
