package many

import (
	"math"
	"math/big"
	"strconv"

	"rollcall/bench/settings"
)

// The numbers of seeds that can be crossed. The five parts of the draws need at least 5, and 31² runs take long enough.
const (
	fewestCrossed = 5
	mostCrossed   = 31
)

// validateSeeds reports seeds that cannot be crossed.
func (w *Sweep) validateSeeds() error {
	if w.Crossed == nil {
		return nil
	}
	q := *w.Crossed
	if q < fewestCrossed || q > mostCrossed || !big.NewInt(int64(q)).ProbablyPrime(0) { // exact for small numbers
		return settings.Usagef("--crossed %d: want a prime, %d … %d", q, fewestCrossed, mostCrossed)
	}
	if len(w.Seeds) != 1 {
		return settings.Usagef("--crossed %d --seeds: %d seeds, want one, the first of each part of the draws",
			q, len(w.Seeds))
	}
	if most := uint32(math.MaxUint32 - q + 1); w.Seeds[0] > most {
		return settings.Usagef("--crossed %d --seeds %d: want at most %d, the first of each part of the draws",
			q, w.Seeds[0], most)
	}
	return nil
}

// crossed returns the settings of the runs of a cell with a seed: s alone, or with --crossed those of a design in which
// every two seeds of two parts of the draws meet in one run. The seeds that are given in s stay as they are, and the
// others count from the sweep's seed.
//
// With q seeds of each part, run (i, j) of q² has seed i of the first part, seed j of the second, and seed i + k·j mod
// q, k = 1, 2, 3, of the others: an orthogonal array of strength 2, because q is a prime above 3.
func (w *Sweep) crossed(s settings.Settings) (list []settings.Settings, err error) {
	parts := s.UngivenSeeds()
	if w.Crossed == nil {
		if len(parts) == 0 && len(w.Seeds) > 1 {
			return nil, settings.Usagef("--seeds: %d seeds, want one: every draw of %s has its own seed, "+
				"so that all runs would be the same", len(w.Seeds), s.Method)
		}
		return []settings.Settings{s}, nil
	}
	q := *w.Crossed
	if len(parts) < 2 {
		return nil, settings.Usagef("--crossed %d: with all seeds of %s given but %d, want two or more to cross",
			q, s.Method, len(parts))
	}
	for i := range q {
		for j := range q {
			one, levels := s, [...]int{i, j, i + j, i + 2*j, i + 3*j}
			for k, name := range parts {
				seed := uint64(w.Seeds[0]) + uint64(levels[k]%q)
				if err := one.Set(name, strconv.FormatUint(seed, 10)); err != nil {
					return nil, err
				}
			}
			if err := one.Validate(); err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	}
	return list, nil
}
