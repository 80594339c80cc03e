package many

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MostParts is the largest number of parts.
const MostParts = 10000

// Part is one of Of parts of the runs of a command, number Index from 1: the unit of work of schedulers, --part 2/8.
// All parts of one command line cover every run once. The zero value is the whole.
type Part struct{ Index, Of int }

// RunKey names a run among the runs of a command.
type RunKey struct {
	Cell string // the folder of the cell
	Seed uint32
}

// ParsePart reads "2/8".
func ParsePart(text string) (p Part, err error) {
	i, n, two := strings.Cut(text, "/")
	index, wrongIndex := strconv.ParseUint(i, 10, 31)
	of, wrongOf := strconv.ParseUint(n, 10, 31)
	p = Part{int(index), int(of)}
	if !two || wrongIndex != nil || wrongOf != nil || p.Index < 1 || p.Index > p.Of || p.Of > MostParts {
		return Part{}, fmt.Errorf("want i/n, part i of n, with i from 1 to n and n at most %d", MostParts)
	}
	return p, nil
}

// IsWhole reports whether the part is everything.
func (p Part) IsWhole() bool { return p.Of == 0 }

// String returns "2/8", and "" for the whole.
func (p Part) String() string {
	if p.IsWhole() {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Index, p.Of)
}

func (p *Part) Set(text string) (err error) {
	*p, err = ParsePart(text)
	return err
}

func (p *Part) Type() string { return "i/n" }

// Keys returns the keys that are in the part.
func (p Part) Keys(all []RunKey) map[RunKey]bool {
	in := map[RunKey]bool{}
	for key, index := range Deal(all, max(1, p.Of)) {
		if p.IsWhole() || index == p.Index {
			in[key] = true
		}
	}
	return in
}

// Deal returns in which of n parts each key is, from 1: once all keys are sorted by cell and seed, they are dealt out
// one by one. A key that is there twice counts once.
func Deal(all []RunKey, n int) map[RunKey]int {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b RunKey) int {
		return cmp.Or(strings.Compare(a.Cell, b.Cell), cmp.Compare(a.Seed, b.Seed))
	})
	in := map[RunKey]int{}
	for i, key := range slices.Compact(sorted) {
		in[key] = i%n + 1
	}
	return in
}
