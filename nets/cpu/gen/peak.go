package main

// peak: n rounds of 12 independent fused multiply-adds without memory, the most a core can do; for benchmarks.
func peak(a *asm) {
	a.begin("FMAPeak", "func(n int)")
	n := a.arg("n")
	x, y := a.vec(), a.vec()
	a.zero(x)
	a.zero(y)
	sums := a.vecs(12)
	for _, s := range sums {
		a.zero(s)
	}
	a.Label("loop")
	for _, s := range sums {
		a.VFMADD231PS(x, y, s)
	}
	a.countDown(n, "loop")
	a.end()
}
