// Package plan holds the samples in memory, and plans which samples a client reads in each step, with which crops and
// flips. Plans depend only on the seed, so that every engine trains on the same batches.
package plan

import (
	"fmt"
	"math"

	"rollcall/datasets/rng"
)

// Local is the batch plan of one client in one round: which samples it reads in E steps with batches of B.
type Local struct {
	E, B  int
	Index []int32 // [E,B] into the training samples; −1 fills the end of a batch with fewer than B samples
	Crop  []uint8 // [E,B,2] row and column of the crop in the image padded by Pad; (Pad, Pad) is the image itself
	Flip  []uint8 // [E,B] 1: the crop is mirrored left to right
}

// Planner makes the batch plans of a run.
//
// A client goes through its own samples in shuffled epochs, which continue from one round to the next. The last batch
// of an epoch is dropped if it has fewer than B samples. A client with fewer than B samples in all has one batch an
// epoch, with all of them (FedAWE's released code).
//
// With Epochs, a client trains that many whole epochs in every round, each in a new order, and keeps the last batch
// (CA-Fed's released code). The number of steps then differs between clients, see [Planner.Steps].
type Planner struct {
	Seed    uint32
	Parts   [][]int32 // [N][n_i] the samples of each client, by index into the training set
	E, B    int       // at least 1
	Epochs  int       // epochs in each round, in place of E steps; 0: E steps
	Augment Augment
	Flip    bool // draws flips as well as crops
}

// Validate returns an error for the first invalid setting.
func (p *Planner) Validate() error {
	if p.Epochs < 0 {
		return fmt.Errorf("plan: %d epochs, want 0 or more", p.Epochs)
	}
	if p.Epochs == 0 && p.E < 1 || p.B < 1 {
		return fmt.Errorf("plan: E=%d B=%d, want both at least 1", p.E, p.B)
	}
	return nil
}

// Steps returns the number of steps of a client in a round: E, or the batches of its epochs.
func (p *Planner) Steps(client int) int {
	if p.Epochs == 0 {
		return p.E
	}
	return p.Epochs * p.perEpoch(client)
}

// perEpoch returns the number of batches in one epoch, at least 1. The batch of a client without samples is empty.
func (p *Planner) perEpoch(client int) int {
	n := len(p.Parts[client])
	if p.Epochs > 0 {
		n += p.B - 1
	}
	return max(1, n/p.B)
}

// Client returns the plan of one client for one round, if the client took `taken` steps in all earlier rounds. The plan
// of a client without samples has only padding, and trains nothing.
func (p *Planner) Client(round, client, taken int) Local {
	return p.Of(round, client, taken, p.Steps(client))
}

// Of is Client with a number of steps, at least 1, in place of [Planner.Steps].
func (p *Planner) Of(round, client, taken, steps int) Local {
	n := steps * p.B
	l := Local{E: steps, B: p.B, Index: make([]int32, n), Crop: make([]uint8, 2*n), Flip: make([]uint8, n)}
	var w walk
	for e := range l.E {
		batch := l.Index[e*p.B : (e+1)*p.B]
		for i := copy(batch, w.batch(p, client, taken+e)); i < len(batch); i++ {
			batch[i] = -1
		}
		p.augment(&l, round, client, e)
	}
	return l
}

// Batch returns the samples of a client's next step, if the client took `taken` steps before. There are at most B, and
// none for a client without samples.
func (p *Planner) Batch(client, taken int) []int32 {
	var w walk
	return w.batch(p, client, taken)
}

// walk remembers the order of a client's samples in the current epoch, so that steps of one epoch share a shuffle.
type walk struct {
	order []int32 // the client's samples in the order of the epoch
	epoch int
}

// batch returns the samples of a client's step, counted from the first round.
func (w *walk) batch(p *Planner, client, step int) []int32 {
	own, perEpoch := p.Parts[client], p.perEpoch(client)
	if epoch := step / perEpoch; w.order == nil || epoch != w.epoch {
		w.epoch, w.order = epoch, append(w.order[:0], own...)
		rng.Key{Seed: p.Seed, Purpose: rng.Batches}.Stream(epoch, client, 0).Shuffle(w.order)
	}
	at := step % perEpoch * p.B
	return w.order[at:min(at+p.B, len(w.order))]
}

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

// Shape is what the samples of a data set look like: height, width and channels of an image, and how many classes there
// are. A vector of n features has 1, 1, n.
type Shape struct{ H, W, C, Classes int }

// String returns the shape as text: "28×28×1 in 10 classes".
func (s Shape) String() string {
	return fmt.Sprintf("%d×%d×%d in %d classes", s.H, s.W, s.C, s.Classes)
}

// Pixels returns the number of values of a sample.
func (s Shape) Pixels() int { return s.H * s.W * s.C }

// Samples is one part of a data set, train or test, in the form in which engines store it. A set has either images, as
// bytes, or features, as real numbers. Engines crop, flip and normalise images when they read them, and read features
// unchanged.
type Samples struct {
	Name     string    // "cifar10/train"
	H, W, C  int       // height, width and channels of an image; 1, 1 and the number of features for other samples
	Images   []uint8   // [n,H,W,C]
	Features []float32 // [n,H,W,C], finite
	Labels   []uint8   // [n], 0 … Classes−1
	Classes  int
	Mean     []float32 // [C] mean of the training set, of values scaled to [0, 1]; nil with features
	Std      []float32 // [C] standard deviation, likewise, positive; nil with features
}

// Len returns the number of samples.
func (s *Samples) Len() int { return len(s.Labels) }

// Validate returns an error if shapes disagree, or if a label or a value is out of range.
func (s *Samples) Validate() error {
	pixels, what, have, normals := s.H*s.W*s.C, "image bytes", len(s.Images), s.C
	if s.Features != nil {
		what, have, normals = "features", len(s.Features), 0
	}
	switch {
	case s.H < 1 || s.W < 1 || s.C < 1:
		return fmt.Errorf("plan: %s: image %d×%d×%d, want every dimension positive", s.Name, s.H, s.W, s.C)
	case s.Images != nil && s.Features != nil:
		return fmt.Errorf("plan: %s: %d image bytes and %d features, want one of the two",
			s.Name, len(s.Images), len(s.Features))
	case have != len(s.Labels)*pixels:
		return fmt.Errorf("plan: %s: %d %s, want %d (%d labels × %d)",
			s.Name, have, what, len(s.Labels)*pixels, len(s.Labels), pixels)
	case len(s.Mean) != normals || len(s.Std) != normals:
		return fmt.Errorf("plan: %s: %d means and %d deviations, want %d of each",
			s.Name, len(s.Mean), len(s.Std), normals)
	}
	for i, l := range s.Labels {
		if int(l) >= s.Classes {
			return fmt.Errorf("plan: %s: sample %d: label %d, want 0 … %d", s.Name, i, l, s.Classes-1)
		}
	}
	for c, d := range s.Std {
		if !(d > 0) {
			return fmt.Errorf("plan: %s: channel %d: standard deviation %g, want positive", s.Name, c, d)
		}
	}
	for i, v := range s.Features {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("plan: %s: sample %d: feature %d is %g, want a finite number",
				s.Name, i/pixels, i%pixels, v)
		}
	}
	return nil
}
