package plan

import (
	"fmt"

	"rollcall/datasets/rng"
)

// Augment says how often crops and flips are drawn.
type Augment int

// The ways to augment.
const (
	AugmentNone      Augment = iota // images as they are
	AugmentPerBatch                 // one crop and one flip for a whole batch, as FedAWE's released code does
	AugmentPerSample                // one for every sample, as is usual
)

// Pad is the width of the zero border a crop may reach into: crops of the original size start at 0 … 2·Pad.
const Pad = 4

// Local is what one client reads in one round of E steps with batches of B.
type Local struct {
	E, B  int
	Index []int32 // [E,B] into the training samples; −1 pads a ragged batch, always at its end
	Crop  []uint8 // [E,B,2] row and column of the crop in the image padded by Pad; (Pad, Pad) is the image itself
	Flip  []uint8 // [E,B] 1: mirrored left to right, after the crop
}

// Planner makes the batch plans of a run.
//
// A client walks its own samples in shuffled epochs that go on across rounds. A last batch shorter than B is dropped,
// unless the client holds fewer than B samples in all: then its one batch is all of them (FedAWE's released code).
//
// With Epochs, a client takes as many whole epochs every round instead, each in a new order, and keeps the short last
// batch (CA-Fed's released code): clients then differ in their steps, see [Planner.Steps].
type Planner struct {
	Seed    uint32
	Parts   [][]int32 // [N][n_i] the samples of each client, by index into the training set
	E, B    int       // at least 1
	Epochs  int       // epochs a round, in place of E steps; 0: E steps
	Augment Augment
	Flip    bool // draw flips; without it only crops
}

// Validate reports the first setting that cannot be planned for.
func (p *Planner) Validate() error {
	if p.Epochs < 0 {
		return fmt.Errorf("plan: %d epochs, want 0 or more", p.Epochs)
	}
	if p.Epochs == 0 && p.E < 1 || p.B < 1 {
		return fmt.Errorf("plan: E=%d B=%d, want both at least 1", p.E, p.B)
	}
	return nil
}

// Steps returns how many steps a client takes in a round: E, or those of its epochs.
func (p *Planner) Steps(client int) int {
	if p.Epochs == 0 {
		return p.E
	}
	return p.Epochs * p.perEpoch(client)
}

// perEpoch returns the batches of one epoch, at least one; without samples it is empty.
func (p *Planner) perEpoch(client int) int {
	n := len(p.Parts[client])
	if p.Epochs > 0 {
		n += p.B - 1
	}
	return max(1, n/p.B)
}

// Client plans one round of one client, of which the client has taken `taken` steps in all earlier rounds.
// A client without samples gets a plan of padding, which trains nothing.
func (p *Planner) Client(round, client, taken int) Local {
	n := p.Steps(client) * p.B
	l := Local{E: p.Steps(client), B: p.B, Index: make([]int32, n), Crop: make([]uint8, 2*n), Flip: make([]uint8, n)}
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

// Batch returns the samples of one step of a client, of which it has taken so many before: at most B, none for a client
// without.
func (p *Planner) Batch(client, taken int) []int32 {
	var w walk
	return w.batch(p, client, taken)
}

// walk is a client's way through its samples.
type walk struct {
	order []int32 // of the epoch it is in
	epoch int
}

func (w *walk) batch(p *Planner, client, step int) []int32 {
	own, perEpoch := p.Parts[client], p.perEpoch(client)
	if epoch := step / perEpoch; w.order == nil || epoch != w.epoch {
		w.epoch, w.order = epoch, append(w.order[:0], own...)
		rng.Key{Seed: p.Seed, Purpose: rng.Batches}.Stream(epoch, client, 0).Shuffle(w.order)
	}
	at := step % perEpoch * p.B
	return w.order[at:min(at+p.B, len(w.order))]
}

// augment draws the crops and flips of one step: word 0 is the row, 1 the column, 2 the flip of the sample whose
// position in the batch is the counter's index (0 for the whole batch).
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
