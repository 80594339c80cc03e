package settings

import (
	"math"
	"slices"
	"strings"
)

// Narrow returns which names a list flag leaves: all, if it was not given, and wanted is nil.
func Narrow(flag string, wanted, known []string) (func(name string) bool, error) {
	if wanted == nil {
		return func(string) bool { return true }, nil
	}
	known = Unique(known)
	for _, name := range wanted {
		if err := OneOf(flag, name, known); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, Usagef("--%s: empty, want at least one of %s", flag, strings.Join(known, ", "))
	}
	return func(name string) bool { return slices.Contains(wanted, name) }, nil
}

// Unique returns the different names, in order.
func Unique(names []string) (different []string) {
	for _, name := range names {
		if !slices.Contains(different, name) {
			different = append(different, name)
		}
	}
	return different
}

// SeedList returns the value of --seeds, each seed once.
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
