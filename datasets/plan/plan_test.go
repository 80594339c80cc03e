package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rollcall/datasets/rng"
)

// own returns n sample numbers that start at first and leave gaps, as a split does.
func own(first, n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(first + 3*i)
	}
	return x
}

// steps returns the batches of `total` steps of one client, planned round by round with E steps each.
func steps(t *testing.T, p *Planner, client, total int) [][]int32 {
	t.Helper()
	var all [][]int32
	for round := 0; len(all) < total; round++ {
		l := p.Client(round, client, len(all))
		if len(l.Index) != p.E*p.B || len(l.Crop) != 2*p.E*p.B || len(l.Flip) != p.E*p.B {
			t.Fatalf("round %d: plan of %d, %d, %d values, want [E,B]=%d, [E,B,2]=%d, [E,B]=%d",
				round, len(l.Index), len(l.Crop), len(l.Flip), p.E*p.B, 2*p.E*p.B, p.E*p.B)
		}
		for e := range p.E {
			batch := l.Index[e*p.B : (e+1)*p.B]
			if alone := p.Batch(client, len(all)); !slices.Equal(alone, batch[:len(alone)]) ||
				len(alone) < p.B && batch[len(alone)] != -1 {
				t.Errorf("step %d: batch %v by itself, %v in its round's plan", len(all), alone, batch)
			}
			all = append(all, batch)
		}
	}
	return all[:total]
}

// An epoch is n/B whole batches without repetition, continues from round to round, and the rest of n is dropped; the
// next epoch is another order, so that what is dropped changes.
func TestEpochs(t *testing.T) {
	for _, c := range []struct{ n, b, e int }{
		{12, 4, 3},   // an epoch is a round
		{12, 4, 2},   // epochs end inside a round
		{14, 4, 5},   // two samples dropped, several epochs a round
		{4, 4, 3},    // one batch is all
		{128, 1, 10}, // batches of one
	} {
		t.Run(fmt.Sprintf("n=%d_B=%d_E=%d", c.n, c.b, c.e), func(t *testing.T) {
			p := &Planner{Seed: 3, Parts: [][]int32{nil, own(5, c.n)}, E: c.e, B: c.b}
			perEpoch := c.n / c.b
			const epochs = 6
			batches := steps(t, p, 1, epochs*perEpoch)
			used := map[int32]int{}
			orders := map[string]bool{}
			for epoch := range epochs {
				flat := slices.Concat(batches[epoch*perEpoch : (epoch+1)*perEpoch]...)
				orders[fmt.Sprint(flat)] = true
				sorted := slices.Clone(flat)
				slices.Sort(sorted)
				if u := len(slices.Compact(slices.Clone(sorted))); u != perEpoch*c.b {
					t.Errorf("epoch %d: %d different samples in %d batches of %d, want %d: %v",
						epoch, u, perEpoch, c.b, perEpoch*c.b, flat)
				}
				for _, s := range flat {
					if !slices.Contains(p.Parts[1], s) {
						t.Fatalf("epoch %d: sample %d, want one of the client's %v", epoch, s, p.Parts[1])
					}
					used[s]++
				}
			}
			if c.n%c.b == 0 && len(used) != c.n {
				t.Errorf("%d of %d samples used", len(used), c.n)
			}
			if len(orders) < epochs-1 { // orders of 4 samples: a second of 24 may turn up again by chance
				t.Errorf("%d different orders in %d epochs", len(orders), epochs)
			}
		})
	}
}

// A client with fewer than B samples has one ragged batch, all of them, padded by −1 at its end.
func TestRagged(t *testing.T) {
	const n, b = 5, 8
	p := &Planner{Seed: 3, Parts: [][]int32{own(2, n)}, E: 3, B: b, Augment: AugmentPerSample, Flip: true}
	orders := map[string]bool{}
	for step, batch := range steps(t, p, 0, 9) {
		if !slices.Equal(batch[n:], []int32{-1, -1, -1}) {
			t.Errorf("step %d: padding %v, want three times -1 at the end", step, batch[n:])
		}
		orders[fmt.Sprint(batch[:n])] = true
		sorted := slices.Clone(batch[:n])
		slices.Sort(sorted)
		if !slices.Equal(sorted, p.Parts[0]) {
			t.Errorf("step %d: samples %v, want %v", step, sorted, p.Parts[0])
		}
	}
	if len(orders) < 6 { // 9 draws of 120 orders: two coincide one time in four, four of them hardly ever
		t.Errorf("%d different orders in 9 steps, want the client reshuffled every step", len(orders))
	}
}

// With epochs every round reads every sample as often as it has epochs, in batches of B and a ragged last one, each
// epoch and each round in an order of its own; clients differ in their steps.
func TestWholeEpochs(t *testing.T) {
	const b, epochs = 32, 2
	sizes := []int{50, 64, 5, 0, 33}
	p := &Planner{Seed: 3, B: b, Epochs: epochs}
	for _, n := range sizes {
		p.Parts = append(p.Parts, own(5, n))
	}
	for client, n := range sizes {
		perEpoch := max(1, (n+b-1)/b)
		if got := p.Steps(client); got != epochs*perEpoch {
			t.Errorf("%d samples: %d steps, want %d", n, got, epochs*perEpoch)
		}
		orders := map[string]bool{}
		for round := range 2 {
			l := p.Client(round, client, round*p.Steps(client))
			if len(l.Index) != l.E*b || l.E != p.Steps(client) || len(l.Crop) != 2*len(l.Index) ||
				len(l.Flip) != len(l.Index) {
				t.Fatalf("%d samples: plan of E=%d with %d indices, %d crops, %d flips, want E=%d",
					n, l.E, len(l.Index), len(l.Crop), len(l.Flip), p.Steps(client))
			}
			for epoch := range epochs {
				read := l.Index[epoch*perEpoch*b : (epoch+1)*perEpoch*b]
				sample := func(i int32) bool { return i != -1 }
				if pad := read[n:]; slices.Contains(read[:n], -1) || slices.ContainsFunc(pad, sample) {
					t.Fatalf("%d samples: epoch %v, want padding at its end alone", n, read)
				}
				orders[fmt.Sprint(read[:n])] = true
				sorted := slices.Clone(read[:n])
				slices.Sort(sorted)
				if !slices.Equal(sorted, p.Parts[client]) {
					t.Errorf("%d samples: epoch of %v, want every sample once", n, sorted)
				}
			}
		}
		if n > 5 && len(orders) != 2*epochs {
			t.Errorf("%d samples: %d different orders in %d epochs, want every one another", n, len(orders), 2*epochs)
		}
	}
}

func TestEmptyClient(t *testing.T) {
	p := &Planner{Parts: [][]int32{own(0, 9), nil}, E: 2, B: 4, Augment: AugmentPerBatch}
	l := p.Client(7, 1, 0)
	if want := slices.Repeat([]int32{-1}, 8); !slices.Equal(l.Index, want) {
		t.Errorf("index %v, want %v", l.Index, want)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		p    Planner
		want string
	}{
		{Planner{E: 1, B: 1}, "<nil>"},
		{Planner{E: 0, B: 8}, "plan: E=0 B=8, want both at least 1"},
		{Planner{E: 8, B: -1}, "plan: E=8 B=-1, want both at least 1"},
		{Planner{Epochs: 2, B: 8}, "<nil>"},
		{Planner{Epochs: 2, B: 0}, "plan: E=0 B=0, want both at least 1"},
		{Planner{Epochs: -1, E: 1, B: 8}, "plan: -1 epochs, want 0 or more"},
	} {
		if got := fmt.Sprint(c.p.Validate()); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

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

func TestSamplesValidate(t *testing.T) {
	valid := func() Samples {
		return Samples{
			Name: "toy/train", H: 2, W: 3, C: 1, Images: make([]uint8, 12), Labels: []uint8{0, 1}, Classes: 2,
			Mean: []float32{0.5}, Std: []float32{0.25},
		}
	}
	features := func(s *Samples) {
		s.Images, s.Mean, s.Std, s.Features = nil, nil, nil, make([]float32, 12)
	}
	for _, c := range []struct {
		name   string
		change func(*Samples)
		want   string
	}{
		{"valid", func(*Samples) {}, "<nil>"},
		{"no height", func(s *Samples) { s.H = 0 }, "plan: toy/train: image 0×3×1, want every dimension positive"},
		{
			"short", func(s *Samples) { s.Images = s.Images[:11] },
			"plan: toy/train: 11 image bytes, want 12 (2 labels × 6)",
		},
		{"means", func(s *Samples) { s.Mean = nil }, "plan: toy/train: 0 means and 1 deviations, want 1 of each"},
		{"label", func(s *Samples) { s.Labels[1] = 2 }, "plan: toy/train: sample 1: label 2, want 0 … 1"},
		{
			"deviation", func(s *Samples) { s.Std[0] = 0 },
			"plan: toy/train: channel 0: standard deviation 0, want positive",
		},
		{"neither", func(s *Samples) { s.Images = nil }, "plan: toy/train: 0 image bytes, want 12 (2 labels × 6)"},
		{
			"both", func(s *Samples) { s.Features = make([]float32, 12) },
			"plan: toy/train: 12 image bytes and 12 features, want one of the two",
		},
		{"features", features, "<nil>"},
		{
			"short features", func(s *Samples) { features(s); s.Features = s.Features[:11] },
			"plan: toy/train: 11 features, want 12 (2 labels × 6)",
		},
		{
			"normalised features", func(s *Samples) { features(s); s.Mean, s.Std = []float32{0}, []float32{1} },
			"plan: toy/train: 1 means and 1 deviations, want 0 of each",
		},
		{
			"not a number", func(s *Samples) { features(s); s.Features[7] = float32(math.NaN()) },
			"plan: toy/train: sample 1: feature 1 is NaN, want a finite number",
		},
		{
			"infinite", func(s *Samples) { features(s); s.Features[5] = float32(math.Inf(-1)) },
			"plan: toy/train: sample 0: feature 5 is -Inf, want a finite number",
		},
		{
			"label of features", func(s *Samples) { features(s); s.Labels[1] = 2 },
			"plan: toy/train: sample 1: label 2, want 0 … 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := valid()
			c.change(&s)
			if got := fmt.Sprint(s.Validate()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
