package plan

import "rollcall/datasets/rng"

// Augment says for which samples new crops and flips are drawn.
type Augment int

// The ways to augment.
const (
	AugmentNone      Augment = iota // images as they are
	AugmentPerBatch                 // one crop and one flip for a whole batch, as in FedAWE's released code
	AugmentPerSample                // a crop and a flip for every sample, as is usual
)

// Pad is the width of the border of zeros around an image, in pixels. A crop has the size of the image and starts at 0
// … 2·Pad in the padded image.
const Pad = 4

// augment draws the crops and flips of one step. The index of the counter is the position of the sample in the batch,
// or 0 for a whole batch. Word 0 of the block gives the row, word 1 the column, and word 2 the flip.
func (p *Planner) augment(l *Local, round, client, e int) {
	key := rng.Key{Seed: p.Seed, Purpose: rng.Augmentation}
	crop, flip := [2]uint8{Pad, Pad}, uint8(0)
	draw := func(i int) {
		w := key.Block(uint32(round), uint32(client), uint32(e), uint32(i))
		const places = 2*Pad + 1
		crop = [2]uint8{uint8(uint64(w[0]) * places >> 32), uint8(uint64(w[1]) * places >> 32)}
		if p.Flip {
			flip = uint8(w[2] >> 31)
		}
	}
	if p.Augment == AugmentPerBatch {
		draw(0)
	}
	for i := range p.B {
		if p.Augment == AugmentPerSample {
			draw(i)
		}
		at := e*p.B + i
		l.Crop[2*at], l.Crop[2*at+1], l.Flip[at] = crop[0], crop[1], flip
	}
}
