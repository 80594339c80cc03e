// Package part cuts the runs of a command into parts, the unit of work of schedulers: --part 2/8 of table, sweep,
// figure and tune. All parts of one command line cover every run once.
package part

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Most is the largest number of parts.
const Most = 10000

// Part is one of Of parts, number Index from 1. The zero value is the whole.
type Part struct{ Index, Of int }

// Key names a run among the runs of a command.
type Key struct {
	Cell string // the folder of the cell
	Seed uint32
}

// Parse reads "2/8".
func Parse(text string) (p Part, err error) {
	i, n, two := strings.Cut(text, "/")
	index, wrongIndex := strconv.ParseUint(i, 10, 31)
	of, wrongOf := strconv.ParseUint(n, 10, 31)
	p = Part{int(index), int(of)}
	if !two || wrongIndex != nil || wrongOf != nil || p.Index < 1 || p.Index > p.Of || p.Of > Most {
		return Part{}, fmt.Errorf("want i/n, part i of n, with i from 1 to n and n at most %d", Most)
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

// Set implements pflag.Value.
func (p *Part) Set(text string) (err error) {
	*p, err = Parse(text)
	return err
}

// Type implements pflag.Value.
func (p *Part) Type() string { return "i/n" }

// Keys returns the keys that are in the part.
func (p Part) Keys(all []Key) map[Key]bool {
	in := map[Key]bool{}
	for key, index := range Deal(all, max(1, p.Of)) {
		if p.IsWhole() || index == p.Index {
			in[key] = true
		}
	}
	return in
}

// Deal returns in which of n parts each key is, from 1: once all keys are sorted by cell and seed, they are dealt out
// one by one. A key that is there twice counts once.
func Deal(all []Key, n int) map[Key]int {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Cell, b.Cell), cmp.Compare(a.Seed, b.Seed))
	})
	in := map[Key]int{}
	for i, key := range slices.Compact(sorted) {
		in[key] = i%n + 1
	}
	return in
}
