package algos

import (
	"math"
	"strconv"
)

// Range is an interval of numbers. The zero Range holds every finite number.
type Range struct {
	low, high       float64
	lowEnd, highEnd end
}

// end is the kind of one end of an interval: none, closed (the number there belongs to the interval) or open.
type end int

const (
	noEnd end = iota
	closedEnd
	openEnd
)

// AtLeast returns the range x ≥ low.
func AtLeast(low float64) Range { return Range{low: low, lowEnd: closedEnd} }

// Above returns the range x > low.
func Above(low float64) Range { return Range{low: low, lowEnd: openEnd} }

// Between returns the range low ≤ x ≤ high.
func Between(low, high float64) Range { return Range{low, high, closedEnd, closedEnd} }

// AboveUpTo returns the range low < x ≤ high.
func AboveUpTo(low, high float64) Range { return Range{low, high, openEnd, closedEnd} }

// AtLeastBelow returns the range low ≤ x < high.
func AtLeastBelow(low, high float64) Range { return Range{low, high, closedEnd, openEnd} }

// Contains reports whether x is in r. NaN and the infinities are in no Range.
func (r Range) Contains(x float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case r.lowEnd == closedEnd && x < r.low, r.lowEnd == openEnd && x <= r.low:
		return false
	case r.highEnd == closedEnd && x > r.high, r.highEnd == openEnd && x >= r.high:
		return false
	}
	return true
}

// String describes r in the words that follow "want " in an error: "0 … 1", "a positive number".
func (r Range) String() string {
	low, high := decimal(r.low), decimal(r.high)
	switch {
	case r.lowEnd == noEnd && r.highEnd == noEnd:
		return "a finite number"
	case r.highEnd == noEnd && r.lowEnd == closedEnd:
		return low + " or more"
	case r.highEnd == noEnd && r.low == 0:
		return "a positive number"
	case r.highEnd == noEnd:
		return "a number above " + low
	case r.lowEnd == closedEnd && r.highEnd == closedEnd:
		return low + " … " + high
	case r.lowEnd == closedEnd:
		return "at least " + low + " and below " + high
	default:
		return "above " + low + " and at most " + high
	}
}

// decimal writes x without an exponent.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
