package settings

import (
	"encoding/csv"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/internal/files"
)

// mostSeeds is the largest number of seeds in a list: far more than a mean needs, few enough to plan their runs.
const mostSeeds = 100_000

// AddSeeds adds the flag --seeds: seeds and ranges of seeds, 3-5,9. The default is what seeds has.
func AddSeeds(fs *pflag.FlagSet, seeds *[]uint32, usage string) {
	fs.Var(&listValue[uint32]{
		values: seeds, kind: "seeds", add: addSeeds,
		format: func(seed uint32) string { return strconv.FormatUint(uint64(seed), 10) },
	}, "seeds", usage+", such as 3,4,6 or 3-5,9")
}

// addSeeds appends the seeds of one element of a list: 9 or 3-5.
func addSeeds(seeds []uint32, text string) ([]uint32, error) {
	first, last, ranges := strings.Cut(text, "-")
	if !ranges {
		last = first
	}
	from, errFrom := strconv.ParseUint(strings.TrimSpace(first), 10, 32)
	to, errTo := strconv.ParseUint(strings.TrimSpace(last), 10, 32)
	if err := errors.Join(errFrom, errTo); err != nil {
		return nil, err
	}
	if from > to {
		return nil, Usagef("%s counts down, want %d-%d", text, to, from)
	}
	if n := uint64(len(seeds)) + to - from + 1; n > mostSeeds {
		return nil, Usagef("%d seeds, want at most %d", n, mostSeeds)
	}
	for seed := from; seed <= to; seed++ {
		seeds = append(seeds, uint32(seed))
	}
	return seeds, nil
}

// AddRates adds a flag that lists learning rates. The default is what rates has.
func AddRates(fs *pflag.FlagSet, rates *[]float64, name, usage string) {
	fs.Var(&listValue[float64]{
		values: rates, kind: "floats",
		add: func(rates []float64, text string) ([]float64, error) {
			rate, err := files.ParseNumber(text, 64)
			return append(rates, rate), err
		},
		// All digits, and not the six of pflag's lists of numbers: tasks of --slurm read them again.
		format: func(rate float64) string { return strconv.FormatFloat(rate, 'g', -1, 64) },
	}, name, usage)
}

// listValue is the value of a flag with commas between its elements, and any spaces around them. It implements
// [pflag.SliceValue], as pflag's own lists do.
type listValue[T any] struct {
	values *[]T
	given  bool // the values are of the command line: the flag once more adds to them
	whole  bool // a comma is a part of a value, and several values are several flags
	kind   string
	add    func(values []T, text string) ([]T, error) // appends an element, which may stand for several values
	format func(T) string
}

// Set implements [pflag.Value].
func (l *listValue[T]) Set(text string) error {
	if !l.given {
		*l.values, l.given = nil, true
	}
	return l.Append(text)
}

// Type implements [pflag.Value].
func (l *listValue[T]) Type() string { return l.kind }

// String implements [pflag.Value].
func (l *listValue[T]) String() string { return "[" + strings.Join(l.GetSlice(), ",") + "]" }

// GetSlice implements [pflag.SliceValue].
func (l *listValue[T]) GetSlice() (texts []string) {
	for _, x := range *l.values {
		texts = append(texts, l.format(x))
	}
	return texts
}

// Append implements [pflag.SliceValue].
func (l *listValue[T]) Append(text string) error {
	if l.whole {
		return l.put(*l.values, text)
	}
	return l.put(*l.values, SplitList(text)...)
}

// Replace implements [pflag.SliceValue]: a comma in one of the elements is a part of it.
func (l *listValue[T]) Replace(elements []string) error { return l.put(nil, elements...) }

// put makes the values those that are given and the ones of some elements.
func (l *listValue[T]) put(values []T, elements ...string) (err error) {
	for _, element := range elements {
		if values, err = l.add(values, strings.TrimSpace(element)); err != nil {
			return err
		}
	}
	*l.values = values
	return nil
}

// Once returns a usage error if a list has a value twice, which would train or print it twice, or once without a word.
func Once[T comparable](flag string, list []T) error {
	seen := map[T]bool{}
	for _, x := range list {
		if seen[x] {
			return Usagef("--%s: %v twice, want it once", flag, x)
		}
		seen[x] = true
	}
	return nil
}

// SplitList returns the values of a list as pflag reads it: a value in double quotes may have commas.
func SplitList(text string) []string {
	values, err := csv.NewReader(strings.NewReader(text)).Read()
	if err == nil && !strings.ContainsAny(text, "\r\n") { // after which there would be more
		return values
	}
	return strings.Split(text, ",")
}

// JoinList is the inverse of [SplitList].
func JoinList(values []string) string {
	if len(values) == 1 && !strings.ContainsAny(values[0], ",\"") {
		return values[0]
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(values) // a strings.Builder has no errors
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
