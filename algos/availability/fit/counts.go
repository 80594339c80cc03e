package fit

import "math/bits"

// counts is what one client does in the rounds 0 … T−1. State 0 is inactive, state 1 active.
type counts struct {
	rounds, active int
	n              [2][2]float64    // [before,after] transitions between two rounds
	triples        [2][2][2]float64 // [first,second,third] states of three rounds
}

// count counts the bits of a row, see [availability.Record].
func count(row []uint64, rounds int) counts {
	c := counts{rounds: rounds}
	for k, here := range row {
		// next and after hold, at the bit of round t, the states of rounds t+1 and t+2.
		var following uint64
		if k+1 < len(row) {
			following = row[k+1]
		}
		next, after := here>>1|following<<63, here>>2|following<<62
		valid := mask(rounds - 64*k)
		pairs, threes := mask(rounds-1-64*k), mask(rounds-2-64*k)
		c.active += bits.OnesCount64(here & valid)
		for a, x := range [2]uint64{^here, here} {
			for b, y := range [2]uint64{^next, next} {
				c.n[a][b] += float64(bits.OnesCount64(x & y & pairs))
				c.triples[a][b][1] += float64(bits.OnesCount64(x & y & after & threes))
				c.triples[a][b][0] += float64(bits.OnesCount64(x & y &^ after & threes))
			}
		}
	}
	return c
}

// mask returns a word whose lowest bits are 1, as many as a word has of the rounds left.
func mask(left int) uint64 {
	switch {
	case left <= 0:
		return 0
	case left >= 64:
		return ^uint64(0)
	}
	return 1<<left - 1
}

// changes returns how often the client comes or goes.
func (c *counts) changes() float64 { return c.n[0][1] + c.n[1][0] }

// from returns the rounds in a state that a round follows.
func (c *counts) from(state int) float64 { return c.n[state][0] + c.n[state][1] }
