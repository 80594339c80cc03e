package plan

import (
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
)

// augmented returns the crops (row·256 + column) and flips of many steps of one client, by step.
func augmented(p *Planner, rounds int) (crops [][]int, flips [][]uint8) {
	for round := range rounds {
		l := p.Client(round, 0, round*p.E)
		for e := range p.E {
			var crop []int
			for i := e * p.B; i < (e+1)*p.B; i++ {
				crop = append(crop, int(l.Crop[2*i])<<8|int(l.Crop[2*i+1]))
			}
			crops, flips = append(crops, crop), append(flips, l.Flip[e*p.B:(e+1)*p.B])
		}
	}
	return crops, flips
}

func TestAugmentNone(t *testing.T) {
	crops, flips := augmented(&Planner{Parts: [][]int32{own(0, 64)}, E: 4, B: 8, Flip: true}, 3)
	for step := range crops {
		for i, c := range crops[step] {
			if c != Pad<<8|Pad || flips[step][i] != 0 {
				t.Errorf("step %d sample %d: crop %d,%d flip %d, want %d,%d and 0",
					step, i, c>>8, c&255, flips[step][i], Pad, Pad)
			}
		}
	}
}

// Rows and columns are uniform in 0 … 8 and independent, flips fair; one draw a batch or one a sample.
// Tolerance: five standard errors of a binomial count.
func TestAugmentDraws(t *testing.T) {
	const e, b, rounds, places = 10, 16, 1000, 2*Pad + 1
	for name, augment := range map[string]Augment{"per batch": AugmentPerBatch, "per sample": AugmentPerSample} {
		t.Run(name, func(t *testing.T) {
			crops, flips := augmented(&Planner{
				Seed: 6, Parts: [][]int32{own(0, 640)}, E: e, B: b, Augment: augment, Flip: true,
			}, rounds)
			var rows, columns [places]int
			var pairs [places][places]int
			var flipped, draws, mixedCrops, mixedFlips int
			for step := range crops {
				mixedCrop, mixedFlip := false, false
				for i, c := range crops[step] {
					mixedCrop = mixedCrop || c != crops[step][0]
					mixedFlip = mixedFlip || flips[step][i] != flips[step][0]
					if i > 0 && augment == AugmentPerBatch {
						continue // the same draw
					}
					row, column := c>>8, c&255
					if row >= places || column >= places || flips[step][i] > 1 {
						t.Fatalf("step %d sample %d: crop %d,%d flip %d, want 0 … %d and 0 or 1",
							step, i, row, column, flips[step][i], places-1)
					}
					rows[row]++
					columns[column]++
					pairs[row][column]++
					flipped += int(flips[step][i])
					draws++
				}
				if mixedCrop {
					mixedCrops++
				}
				if mixedFlip {
					mixedFlips++
				}
			}
			check := func(what string, at, got int, probability float64) {
				n := float64(draws)
				if tol := 5 * math.Sqrt(n*probability*(1-probability)); math.Abs(float64(got)-n*probability) > tol {
					t.Errorf("%s %d: %d of %d, want %.0f ± %.0f", what, at, got, draws, n*probability, tol)
				}
			}
			for i := range places {
				check("row", i, rows[i], 1.0/places)
				check("column", i, columns[i], 1.0/places)
				for j := range places {
					check("row·9+column", i*places+j, pairs[i][j], 1.0/(places*places))
				}
			}
			check("flip", 1, flipped, 0.5)

			steps := len(crops)
			if augment == AugmentPerBatch && (mixedCrops != 0 || mixedFlips != 0) {
				t.Errorf("%d and %d of %d batches mix crops and flips, want none", mixedCrops, mixedFlips, steps)
			}
			// 16 equal draws of 81 crops or 2 flips: less than one batch in 30,000.
			if augment == AugmentPerSample && (mixedCrops < steps-3 || mixedFlips < steps-3) {
				t.Errorf("%d and %d of %d batches mix crops and flips, want nearly all", mixedCrops, mixedFlips, steps)
			}
		})
	}
}

// Without Flip nothing is mirrored, and the crops are those drawn with it.
func TestNoFlip(t *testing.T) {
	for name, augment := range map[string]Augment{"per batch": AugmentPerBatch, "per sample": AugmentPerSample} {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Seed: 6, Parts: [][]int32{own(0, 64)}, E: 4, B: 16, Augment: augment}
			crops, flips := augmented(p, 20)
			p.Flip = true
			same, _ := augmented(p, 20)
			for step := range crops {
				for i := range crops[step] {
					if flips[step][i] != 0 {
						t.Fatalf("step %d sample %d: flip %d, want 0", step, i, flips[step][i])
					}
					if crops[step][i] != same[step][i] {
						t.Fatalf("step %d sample %d: crop %#x without flips, %#x with, want the same",
							step, i, crops[step][i], same[step][i])
					}
				}
			}
		})
	}
}

// The words of a draw are part of what a seed means: other engines and other versions draw the same.
func TestDrawnWords(t *testing.T) {
	for name, augment := range map[string]Augment{"per batch": AugmentPerBatch, "per sample": AugmentPerSample} {
		t.Run(name, func(t *testing.T) {
			const seed, round, client, b = 6, 5, 3, 4
			p := &Planner{
				Seed: seed, Parts: [][]int32{nil, nil, nil, own(0, 8)}, E: 2, B: b, Augment: augment, Flip: true,
			}
			l := p.Client(round, client, 2) // the second epoch
			order := own(0, 8)
			rng.Key{Seed: seed, Purpose: rng.Batches}.Stream(1, client, 0).Shuffle(order)
			if !slices.Equal(l.Index, order) {
				t.Errorf("samples %v, want %v: epoch 1 of client %d", l.Index, order, client)
			}
			for at := range 2 * b {
				index := at % b
				if augment == AugmentPerBatch {
					index = 0
				}
				w := rng.Key{Seed: seed, Purpose: rng.Augmentation}.Block(round, client, uint32(at/b), uint32(index))
				row, column, flip := uint8(uint64(w[0])*9>>32), uint8(uint64(w[1])*9>>32), uint8(w[2]>>31)
				if l.Crop[2*at] != row || l.Crop[2*at+1] != column || l.Flip[at] != flip {
					t.Errorf("step %d sample %d: crop %d,%d flip %d, want %d,%d %d",
						at/b, at%b, l.Crop[2*at], l.Crop[2*at+1], l.Flip[at], row, column, flip)
				}
			}
		})
	}
}
