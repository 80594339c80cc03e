//go:build gpu && linux && cgo

package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	cpu "rollcall/nets/cpu/kernels"
)

// numbers returns n numbers in (−1, 1) that use every bit.
func numbers(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// oddNumbers returns n small multiples of 1/8, with ties; one in oneIn of them is NaN, ±Inf or −0.
func oddNumbers(r *rand.Rand, n, oneIn int) []float32 {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1))}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.IntN(33)-16) / 8
		if r.IntN(oneIn) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

// fma32 returns a·b + c, rounded once, for finite numbers.
func fma32(a, b, c float32) float32 {
	product := float64(a) * float64(b) // exact
	sum := new(big.Float).SetPrec(600).SetFloat64(product)
	f, _ := sum.Add(sum, big.NewFloat(float64(c))).Float32()
	return f
}

// rowSizes are sizes of rows around those that blocks and partial sums take. Like all sizes of rows they are multiples
// of 64.
var rowSizes = []int{64, 960, 1024, 1088, 4096, 4160, 9024}

// clientCounts are the numbers of clients in the tests.
var clientCounts = []int{1, 3}

func TestBegin(t *testing.T) {
	for _, p := range precisions {
		for _, K := range clientCounts {
			for _, P := range rowSizes {
				t.Run(fmt.Sprintf("%s/K=%d_P=%d", p.name, K, P), func(t *testing.T) {
					r, rnd := newRig(t), rand.New(rand.NewPCG(1, uint64(P)))
					start := make([][]float32, K)
					var slots []Slot
					for k := range K {
						start[k] = numbers(rnd, P)
						s := Slot{Row: blank[float32](r, P), Start: upload(r, start[k])}
						s.Weights = s.Row
						if p.kind() == BF16 {
							s.Weights = p.blank(r, P)
						}
						slots = append(slots, s)
					}
					w := wave{Slots: slots, E: 1, B: 1}
					a := RowsArgs{Work: r.work(w), P: uint32(P)}
					launch(r, "begin", a.Begin(p.kind()), w.room(), &a)
					for k, s := range slots {
						what := fmt.Sprintf("client %d: ", k)
						same(t, what+"row", download[float32](r, s.Row, P), start[k])
						same(t, what+"weights", p.download(r, s.Weights, P), p.copied(start[k]))
						same(t, what+"start", download[float32](r, s.Start, P), start[k])
					}
				})
			}
		}
	}
}

func TestRoundWeights(t *testing.T) {
	const P = 1088
	r, rnd := newRig(t), rand.New(rand.NewPCG(2, 3))
	rows := [][]float32{numbers(rnd, P), numbers(rnd, P)}
	slots := r.slots(bf16, rows...)
	for k := range slots {
		slots[k].Weights = bf16.blank(r, P)
	}
	w := wave{Slots: slots, E: 1, B: 1}
	a := RowsArgs{Work: r.work(w), P: P}
	launch(r, "round_weights", a.Round(), w.room(), &a)
	for k, s := range slots {
		same(t, fmt.Sprintf("weights of client %d", k), bf16.download(r, s.Weights, P), bf16.rounded(rows[k]))
		same(t, fmt.Sprintf("row of client %d", k), download[float32](r, s.Row, P), rows[k])
	}
}

// Combine gives the same bits as the vector kernels of the CPU, which fuse the same operations.
func TestCombine(t *testing.T) {
	for _, P := range rowSizes {
		for _, terms := range []int{0, 1, 2, 3, 5, 9} {
			for _, into := range []int{-1, 0, 1, 8} { // dst: a row of its own, or one of the terms
				if into >= terms {
					continue
				}
				t.Run(fmt.Sprintf("P=%d_terms=%d_into=%d", P, terms, into), func(t *testing.T) {
					r, rnd := newRig(t), rand.New(rand.NewPCG(uint64(P), uint64(terms)))
					c, src, at := numbers(rnd, terms), make([][]float32, terms), make([]uint64, terms)
					want := make([]float32, P)
					for i := range terms {
						src[i] = numbers(rnd, P)
						at[i] = upload(r, src[i])
						for j, v := range src[i] {
							if i == 0 {
								want[j] = c[0] * v
							} else {
								want[j] = fma32(c[i], v, want[j])
							}
						}
					}
					dst := uint64(0)
					if into >= 0 {
						dst = at[into]
					} else {
						dst = blank[float32](r, P)
					}
					a := CombineArgs{Dst: dst, C: upload(r, c), Src: upload(r, at), Terms: uint32(terms), P: uint32(P)}
					launch(r, "combine", a.Launch(), 1, &a)
					same(t, "dst", download[float32](r, dst, P), want)
					for i := range src {
						if i != into {
							same(t, fmt.Sprintf("src %d, which is only read", i),
								download[float32](r, at[i], P), src[i])
						}
					}
				})
			}
		}
	}
}

// The reference of TestCombine and TestSGD agrees with the CPU engine, where its vectors have fused multiply-adds.
func TestFusedReference(t *testing.T) {
	have := cpu.Variants()
	best := have[len(have)-1]
	if best.Name() == "generic" {
		t.Skip("left out: no AVX2 here")
	}
	rnd := rand.New(rand.NewPCG(4, 5))
	const n = 1000
	got, x, c := numbers(rnd, n), numbers(rnd, n), float32(-0.37)
	want := make([]float32, n)
	for i := range want {
		want[i] = fma32(c, x[i], got[i])
	}
	best.Axpy(got, c, x)
	same(t, "axpy of "+best.Name(), got, want)
	w, g, v, drift := numbers(rnd, n), numbers(rnd, n), numbers(rnd, n), numbers(rnd, n)
	wantW, wantV := sgdReference(w, g, v, drift, 0.3, 0.1, 0.01, 0.9)
	best.Step(w, g, v, drift, cpu.Step[float32]{LR: 0.1, Scale: 0.3, Decay: 0.01, Momentum: 0.9})
	same(t, "w after a step of "+best.Name(), w, wantW)
	same(t, "v after a step of "+best.Name(), v, wantV)
}

func TestDot(t *testing.T) {
	for _, n := range append([]int{1, 3, 5, 4095, 4097, 8190}, rowSizes...) {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			r := newRig(t)
			rnd := rand.New(rand.NewPCG(6, uint64(n)))
			x, y := numbers(rnd, n), numbers(rnd, n)
			X, Y := upload(r, x), upload(r, y)
			sums := func(X, Y uint64) []float64 {
				a := DotArgs{X: X, Y: Y, N: uint32(n)}
				a.Partial = blank[float64](r, Partials(a.N)+1)
				launch(r, "dot", a.Launch(), 1, &a)
				r.untouched("behind the sums", a.Partial+uint64(8*Partials(a.N)), 8)
				return download[float64](r, a.Partial, Partials(a.N))
			}
			tol := func(int) float64 { return 4096 * 0x1p-53 * 4096 }
			const why = "4096 roundings of a sum below 4096 in double, in another order"
			got := sums(X, Y)
			near(t, "x·y", got, chunkDot(x, y), tol, why)
			near(t, "x·x", sums(X, X), chunkDot(x, x), tol, why)
			if turned := sums(Y, X); !slices.Equal(turned, got) {
				t.Errorf("y·x: %v, want the bits of x·y, %v", turned, got)
			}
		})
	}
}

// chunkDot returns Σ x·y of every 4096 elements.
func chunkDot(x, y []float32) []float64 {
	sums := make([]float64, (len(x)+4095)/4096)
	for i, v := range x {
		sums[i/4096] += float64(v) * float64(y[i])
	}
	return sums
}
