package main

import "github.com/mmcloughlin/avo/reg"

// peak emits FMAPeak: n rounds of 24 fused multiply-adds that touch no memory, the most arithmetic a core can do. The
// reference loop is made of it, and benchmarks compare the other kernels with it.
//
// Two units with a latency of 4 cycles are busy with 8 independent sums. There are 12, the most that 16 registers leave
// room for in whole halves of 24; AVX-512 has registers for 24. A round of 12 multiply-adds is too short: counting
// rounds takes one of their places. With AVX512_BF16 it emits DotPeak, the same with products of pairs.
func peak(a *asm) {
	const round = 24
	name, add := "FMAPeak", func(x, y, sum reg.Register) { a.VFMADD231PS(x, y, sum) }
	if a.isa == dots {
		name, add = "DotPeak", a.dot
	}
	a.begin(name, "func(n int)")
	n := a.arg("n")
	x, y := a.vec(), a.vec()
	a.zero(x)
	a.zero(y)
	sums := a.vecs(round * a.lanes / avx512.lanes)
	for _, s := range sums {
		a.zero(s)
	}
	a.Label("loop")
	for i := range round {
		add(x, y, sums[i%len(sums)])
	}
	a.countDown(n, "loop")
	a.end()
}
