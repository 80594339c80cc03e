package datasets

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"rollcall/datasets/rng"
)

// natural returns the split of a set in which each client is one writer: it trains on the writer's training samples,
// and is tested on the writer's own test samples, of which there may be none, as LEAF does. With as many clients as
// writers, client i is writer i. With fewer, stream (5, 0, 0) of rng.Split draws which writers are clients; they keep
// their order, and nobody has the samples of the others.
func natural(data *Set, clients int, seed uint32) (*Split, error) {
	all := data.Natural
	if all == nil {
		return nil, fmt.Errorf("datasets: split: %s: who has made which sample of %s is not known",
			SplitNatural, data.Name)
	}
	if clients < 1 || clients > len(all.Train) {
		return nil, fmt.Errorf("datasets: split: %s: %d clients, want 1 … %d, the writers of %s",
			SplitNatural, clients, len(all.Train), data.Name)
	}
	writers := indices(len(all.Train))
	if clients < len(writers) {
		rng.Key{Seed: seed, Purpose: rng.Split}.Stream(rng.SplitRoundWriters, 0, 0).Shuffle(writers)
		slices.Sort(writers[:clients])
	}
	split := &Split{}
	for _, w := range writers[:clients] {
		split.Train, split.Test = append(split.Train, all.Train[w]), append(split.Test, all.Test[w])
	}
	return split, nil
}

// sum writes who has which sample to a checksum; nothing of a set that does not say.
func (s *Split) sum(h io.Writer) {
	if s == nil {
		return
	}
	var bytes []byte
	for _, parts := range [][][]int32{s.Train, s.Test} {
		for _, own := range parts {
			bytes = binary.LittleEndian.AppendUint32(bytes[:0], uint32(len(own)))
			bytes, _ = binary.Append(bytes, binary.LittleEndian, own) // never fails for numbers
			_, _ = h.Write(bytes)                                     // of a hash, which takes all
		}
	}
}
