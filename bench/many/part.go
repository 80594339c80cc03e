package many

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
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

// Set reads "2/8". A Part is a pflag.Value.
func (p *Part) Set(text string) error {
	i, n, two := strings.Cut(text, "/")
	index, wrongIndex := strconv.ParseUint(i, 10, 31)
	of, wrongOf := strconv.ParseUint(n, 10, 31)
	if !two || wrongIndex != nil || wrongOf != nil || index < 1 || index > of || of > MostParts {
		return fmt.Errorf("want i/n, part i of n, with i from 1 to n and n at most %d", MostParts)
	}
	*p = Part{int(index), int(of)}
	return nil
}

// Type returns the kind of value, for usage texts.
func (p *Part) Type() string { return "i/n" }

// IsWhole reports whether the part is everything.
func (p Part) IsWhole() bool { return p.Of == 0 }

// String returns "2/8", and "" for the whole.
func (p Part) String() string {
	if p.IsWhole() {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Index, p.Of)
}

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

// OtherPartError says that runs are in other parts of a command, so that nobody waits for them here.
type OtherPartError struct {
	Part  Part // the part of this process
	Runs  int  // how many runs are in others
	Lines int  // how many lines of a figure lack them; 0: this is no figure
}

func (e *OtherPartError) Error() string {
	if e.Lines > 0 {
		return fmt.Sprintf("part %s leaves out %s of %s", e.Part, files.Count(e.Runs, "run"),
			files.Count(e.Lines, "line"))
	}
	return fmt.Sprintf("not in part %s", e.Part)
}

func isOfOtherPart(err error) bool {
	_, other := errors.AsType[*OtherPartError](err)
	return other
}
