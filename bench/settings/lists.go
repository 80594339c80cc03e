package settings

import (
	"math"
	"slices"
)

// SeedList returns the seeds of --seeds, each once, because a run counts once in a mean.
func SeedList(given []uint) (seeds []uint32, err error) {
	for _, s := range given {
		if s > math.MaxUint32 {
			return nil, Usagef("--seeds %d: want 0 … %d", s, uint32(math.MaxUint32))
		}
		if !slices.Contains(seeds, uint32(s)) {
			seeds = append(seeds, uint32(s))
		}
	}
	if len(seeds) == 0 {
		return nil, Usagef("--seeds: empty, want at least one")
	}
	return seeds, nil
}
