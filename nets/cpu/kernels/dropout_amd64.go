package kernels

import (
	"rollcall/datasets/rng"
	"rollcall/nets/cpu/kernels/asm"
)

// The two words of the key grow by these constants from round to round of the generator; see [rng.Key.Block].
const (
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

// newPhilox returns the stream that [DropoutMask] draws from, with the keys of all ten rounds worked out beforehand.
func newPhilox(d Draw, layer int, rate float64) asm.Philox {
	p := asm.Philox{Counter: [3]uint32{d.Round, d.Client, d.Step}, Threshold: DropThreshold(rate)}
	k0, k1 := d.Seed, uint32(rng.Layer(layer))
	for i := range p.Keys {
		p.Keys[i] = [2]uint32{k0, k1}
		k0 += philoxW0
		k1 += philoxW1
	}
	return p
}

// Dropout draws two registers of elements at a time, which are whole blocks of the generator. Plain Go does the
// elements in front of the first block and behind the last: at most 3 and 31 of a chunk.
func (c *code) Dropout(y []float32, mask []uint8, x []float32, lo int, d Draw, layer int, rate float64) {
	y, mask = y[:len(x)], mask[:len(x)]
	size := 2 * c.lanes
	head := min(-lo&3, len(x))
	blocks := (len(x) - head) / size
	tail := head + blocks*size
	plain := generic[float32]{}
	plain.Dropout(y[:head], mask[:head], x[:head], lo, d, layer, rate)
	if blocks > 0 {
		p, index, scale := newPhilox(d, layer, rate), (lo+head)/4, keepScale[float32](rate)
		if c.lanes == 16 { // a call by name: through a func value, p would escape to the heap
			asm.DropoutAVX512(&y[head], &mask[head], &x[head], &p, index, blocks, scale)
		} else {
			asm.DropoutAVX2(&y[head], &mask[head], &x[head], &p, index, blocks, scale)
		}
	}
	plain.Dropout(y[tail:], mask[tail:], x[tail:], lo+tail, d, layer, rate)
}
