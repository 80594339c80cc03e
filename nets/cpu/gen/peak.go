package main

// peak emits FMAPeak: n rounds of 12 independent fused multiply-adds that touch no memory, the most arithmetic a core
// can do. Benchmarks compare the other kernels with it.
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
