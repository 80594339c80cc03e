package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// cycles are devices each of which starts again after a time of its own. Times are whole microseconds, so that what is
// computed with them is exact. Device i is active at time x if (x + phase[i]) mod period[i] is in one of the closed
// intervals [start[k], end[k]], for k of from[i] … from[i+1]−1, which are in order and apart.
type cycles struct {
	offset, step  int64 // round t begins at offset + t·step
	from          []int32
	start, end    []int64
	period, phase []int64 // [N]; 0 ≤ phase < period

	open     [][2]int64 // the intervals of the device that is being added
	reversed int        // intervals that were left out
}

// second is one in the unit of cycles, and mostSeconds bounds times: sums of two fit in an int64.
const (
	second      = 1_000_000
	mostSeconds = 1e12
)

// micros returns seconds in microseconds, and whether they are a time from 0 on.
func micros(seconds float64) (int64, bool) {
	if !(seconds >= 0 && seconds <= mostSeconds) {
		return 0, false
	}
	return int64(math.Round(seconds * second)), true
}

func newCycles(o Options) (*cycles, error) {
	step, fits := micros(o.RoundSeconds)
	if !fits || step == 0 {
		return nil, fmt.Errorf("rounds of %g s, want 1e-06 to %g", o.RoundSeconds, mostSeconds)
	}
	offset, fits := micros(o.Offset)
	if !fits {
		return nil, fmt.Errorf("offset %g, want at most %g s", o.Offset, mostSeconds)
	}
	return &cycles{offset: offset, step: step, from: []int32{0}}, nil
}

// add adds an interval to the device that is being added; what is at or after its period is never reached.
func (c *cycles) add(start, end, period int64) {
	switch {
	case end < start:
		c.reversed++
	case start < period:
		c.open = append(c.open, [2]int64{start, min(end, period-1)})
	}
}

var errCycles = errors.New("more than 2^31 intervals")

// done ends the device that is being added.
func (c *cycles) done(period, phase int64) error {
	slices.SortFunc(c.open, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	first := len(c.start)
	for _, v := range c.open {
		if last := len(c.end) - 1; last >= first && v[0] <= c.end[last] {
			c.end[last] = max(c.end[last], v[1])
			continue
		}
		c.start, c.end = append(c.start, v[0]), append(c.end, v[1])
	}
	if len(c.start) > math.MaxInt32 {
		return errCycles
	}
	c.open = c.open[:0]
	c.from = append(c.from, int32(len(c.start)))
	c.period, c.phase = append(c.period, period), append(c.phase, phase)
	return nil
}

// mostSearched is how many blocks are searched for the first round with somebody active.
const mostSearched = 1 << 10

func (c *cycles) first() int {
	if len(c.start) == 0 {
		return Never
	}
	words := make([]uint64, len(c.period))
	for block := range mostSearched {
		c.block(block, words)
		if round := lowest(words); round < 64 {
			return block*64 + round
		}
	}
	return Never
}

// lowest returns the lowest bit that any word has, or 64.
func lowest(words []uint64) int {
	var any uint64
	for _, word := range words {
		any |= word
	}
	return bits.TrailingZeros64(any)
}

func (c *cycles) block(block int, words []uint64) {
	clear(words)
	if block < 0 || block >= lastRound/64 {
		return
	}
	for i := range words {
		if c.from[i] < c.from[i+1] {
			words[i] = c.word(i, uint64(block)*64)
		}
	}
}

// word returns the rounds begin … begin+63 of device i. It goes from one round in which something changes to the next.
func (c *cycles) word(i int, begin uint64) (word uint64) {
	start, end := c.start[c.from[i]:c.from[i+1]], c.end[c.from[i]:c.from[i+1]]
	period := c.period[i]
	x := int64(bits.Rem64(0, uint64(c.offset+c.phase[i]), uint64(period)))
	high, low := bits.Mul64(begin, uint64(c.step))
	x += int64(bits.Rem64(high, low, uint64(period)))
	if x >= period {
		x -= period
	}
	k := search(end, x)
	for round := 0; round < 64; {
		for k < len(end) && end[k] < x {
			k++
		}
		steps := 1
		switch {
		case k == len(end): // up to the end of the period
			steps = upTo(period-x, c.step)
		case x < start[k]:
			steps = upTo(start[k]-x, c.step)
		default: // all rounds that begin up to end[k]
			if left := end[k] - x; left >= c.step {
				steps = int(min(left/c.step, 63)) + 1
			}
			word |= ones(round, min(round+steps, 64))
		}
		round += steps
		if x += int64(steps) * c.step; x >= period {
			if x -= period; x >= period {
				x %= period
			}
			k = search(end, x)
		}
	}
	return word
}

// upTo returns after how many steps a distance above 0 is covered, at most 64.
func upTo(distance, step int64) int {
	if distance <= step {
		return 1
	}
	return int(min((distance-1)/step+1, 64))
}

// search returns the first interval that ends at x or later.
func search(end []int64, x int64) int {
	if len(end) == 0 || x <= end[0] {
		return 0
	}
	return sort.Search(len(end), func(k int) bool { return end[k] >= x })
}

func (c *cycles) probabilities(int, []float64) bool { return false }

func (c *cycles) take(index []int32) source {
	taken := &cycles{offset: c.offset, step: c.step, from: []int32{0}}
	for _, i := range index {
		taken.start = append(taken.start, c.start[c.from[i]:c.from[i+1]]...)
		taken.end = append(taken.end, c.end[c.from[i]:c.from[i+1]]...)
		taken.from = append(taken.from, int32(len(taken.start)))
	}
	taken.period, taken.phase = at(c.period, index), at(c.phase, index)
	return taken
}
