package kernels

import "rollcall/datasets/rng"

// Draw says where the random numbers of one client's step are in the generator: the same Draw gives the same masks.
type Draw struct{ Seed, Round, Client, Step uint32 }

// DropThreshold returns the number below which a 32-bit draw drops an element, for a drop probability rate in [0, 1).
func DropThreshold(rate float64) uint32 { return uint32(rate * (1 << 32)) }

// keepScale returns the factor of kept elements, which leaves the expected value of an element unchanged.
func keepScale[T Float](rate float64) T { return T(1 / (1 - rate)) }

// DropoutMask fills mask with 1 (kept) or 0 (dropped) for elements lo … lo+len(mask) of one client's batch [B,F],
// counted in row-major order. layer numbers the dropout layers of the net. Element e takes word e mod 4 of the block at
// index ⌊e/4⌋.
func DropoutMask(mask []uint8, lo int, d Draw, layer int, rate float64) {
	key, threshold := rng.Key{Seed: d.Seed, Purpose: rng.Layer(layer)}, DropThreshold(rate)
	var block [4]uint32
	for i := range mask {
		e := lo + i
		if i == 0 || e%4 == 0 {
			block = key.Block(d.Round, d.Client, d.Step, uint32(e/4))
		}
		mask[i] = 0
		if block[e%4] >= threshold {
			mask[i] = 1
		}
	}
}

func (g generic[T]) Dropout(y []T, mask []uint8, x []T, lo int, d Draw, layer int, rate float64) {
	DropoutMask(mask[:len(x)], lo, d, layer, rate)
	g.ApplyMask(y, x, mask, keepScale[T](rate))
}

func (generic[T]) ApplyMask(y, x []T, mask []uint8, scale T) {
	for i, v := range x {
		y[i] = 0
		if mask[i] != 0 {
			y[i] = v * scale
		}
	}
}

// Dropout computes y = x·mask/(1−rate) for x [K,N], and its gradient.
type Dropout[T Float] struct {
	n     int
	y, x  []T
	mask  []uint8
	draws []Draw // [K]
	layer int
	rate  float64
}

// dropChunk is the number of elements per chunk, a multiple of the 32 that the vector kernels take at a time.
const dropChunk = 1 << 14

// Forward computes y [K,N] and mask [K,N] with K = len(draws).
func (t *Dropout[T]) Forward(e *Exec[T], y []T, mask []uint8, x []T, draws []Draw, layer int, rate float64) {
	t.y, t.mask, t.x, t.draws, t.layer, t.rate, t.n = y, mask, x, draws, layer, rate, len(x)/len(draws)
	e.For(t, forward, len(draws)*blocks(t.n, dropChunk))
}

// Backward computes dx = gy·mask/(1−rate). dx, gy and mask have the same length.
func (t *Dropout[T]) Backward(e *Exec[T], dx, gy []T, mask []uint8, rate float64) {
	t.y, t.mask, t.x, t.rate, t.n = dx, mask, gy, rate, len(gy)
	e.For(t, backward, blocks(t.n, dropChunk))
}

// Chunk implements [Task].
func (t *Dropout[T]) Chunk(phase, i int, s *Scratch[T]) {
	k, lo, hi := chunkOf(i, t.n, dropChunk)
	at, end := k*t.n+lo, k*t.n+hi
	y, mask, x := t.y[at:end], t.mask[at:end], t.x[at:end]
	if phase == forward {
		s.Dropout(y, mask, x, lo, t.draws[k], t.layer, t.rate)
	} else {
		s.ApplyMask(y, x, mask, keepScale[T](t.rate))
	}
}
