package plan

import (
	"fmt"
	"slices"
	"testing"

	"rollcall/datasets/rng"
)

// The words of a draw are part of what a seed means: other engines and other versions draw the same. Rows and columns
// are 0 … 8, from one draw for a batch or one for each sample. Without Flip nothing is mirrored, and without
// augmentation the images stay as they are.
func TestAugment(t *testing.T) {
	for _, c := range []struct {
		augment Augment
		flip    bool
	}{
		{AugmentNone, true},
		{AugmentPerBatch, true},
		{AugmentPerBatch, false},
		{AugmentPerSample, true},
		{AugmentPerSample, false},
	} {
		t.Run(fmt.Sprintf("augment=%d_flip=%t", c.augment, c.flip), func(t *testing.T) {
			const seed, client, b = 6, 3, 16
			parts := [][]int32{nil, nil, nil, own(0, 2*b)}
			p := &Planner{Seed: seed, Parts: parts, E: 2, B: b, Augment: c.augment, Flip: c.flip}
			for round := range uint32(20) {
				l := p.Client(int(round), client, 2) // the second epoch
				order := slices.Clone(parts[client])
				rng.Key{Seed: seed, Purpose: rng.Batches}.Stream(1, client, 0).Shuffle(order)
				if !slices.Equal(l.Index, order) {
					t.Errorf("samples %v, want %v: epoch 1 of client %d", l.Index, order, client)
				}
				for at := range 2 * b {
					index := at % b
					if c.augment == AugmentPerBatch {
						index = 0
					}
					key := rng.Key{Seed: seed, Purpose: rng.Augmentation}
					w := key.Block(round, client, uint32(at/b), uint32(index))
					want := [3]uint8{uint8(uint64(w[0]) * 9 >> 32), uint8(uint64(w[1]) * 9 >> 32), uint8(w[2] >> 31)}
					if c.augment == AugmentNone {
						want = [3]uint8{Pad, Pad, 0}
					}
					if !c.flip {
						want[2] = 0
					}
					if got := [3]uint8{l.Crop[2*at], l.Crop[2*at+1], l.Flip[at]}; got != want {
						t.Errorf("round %d step %d sample %d: row, column, flip %d, want %d",
							round, at/b, at%b, got, want)
					}
				}
			}
		})
	}
}
