// Package rng is the counter-based random number generator from which all draws of the suite come.
//
// A draw is a pure function of (seed, purpose, round, client, step, index). So the order of the clients, the number of
// threads and a restart change nothing, and every engine draws the same numbers.
package rng

import "math"

// Key names the streams of one seed and one purpose.
type Key struct {
	Seed    uint32
	Purpose Purpose
}

// The multipliers and the key increments of Philox4x32 (Salmon et al., SC 2011).
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

// Block returns the four words of Philox4x32-10 (Salmon et al., SC 2011) at counter (round, client, step, index).
func (k Key) Block(round, client, step, index uint32) [4]uint32 {
	c0, c1, c2, c3 := round, client, step, index
	k0, k1 := k.Seed, uint32(k.Purpose)
	for range 10 {
		p0 := uint64(philoxM0) * uint64(c0)
		p1 := uint64(philoxM1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += philoxW0
		k1 += philoxW1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// Stream returns the numbers at (round, client, step) in the order of index. It is not safe for concurrent use.
type Stream struct {
	key                 Key
	round, client, step uint32
	index               uint32 // index of the next block
	block               [4]uint32
	left                int // number of unused words in block
}

// Stream returns the stream of (round, client, step), at its start.
func (k Key) Stream(round, client, step int) *Stream {
	return &Stream{key: k, round: uint32(round), client: uint32(client), step: uint32(step)}
}

// Uint32 returns the next 32 random bits.
func (s *Stream) Uint32() uint32 {
	if s.left == 0 {
		s.block = s.key.Block(s.round, s.client, s.step, s.index)
		s.index++
		s.left = 4
	}
	s.left--
	return s.block[3-s.left]
}

// Float64 returns a number in [0, 1) with 53 random bits.
func (s *Stream) Float64() float64 {
	hi, lo := uint64(s.Uint32()), uint64(s.Uint32())
	return float64((hi<<32|lo)>>11) * 0x1p-53
}

// IntN returns an unbiased number in [0, n), where n is 1 … 2³²−1 (Lemire 2019).
func (s *Stream) IntN(n int) int {
	bound := uint32(n)
	m := uint64(s.Uint32()) * uint64(bound)
	if low := uint32(m); low < bound {
		for threshold := -bound % bound; low < threshold; low = uint32(m) {
			m = uint64(s.Uint32()) * uint64(bound)
		}
	}
	return int(m >> 32)
}

// Normal returns a standard normal number (Box and Muller 1958). It does not use the second number of the pair, so that
// it always takes the same number of words.
func (s *Stream) Normal() float64 {
	u, v := 1-s.Float64(), s.Float64() // u in (0, 1]
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// LogGamma returns the logarithm of a Gamma(shape, 1) number (Marsaglia and Tsang 2000); shape must be positive. With a
// small shape, many of the numbers themselves would be rounded to 0.
func (s *Stream) LogGamma(shape float64) float64 {
	if shape < 1 { // G(a) = G(a+1)·U^(1/a)
		g := s.LogGamma(shape + 1)
		return g + math.Log(1-s.Float64())/shape
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-s.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return math.Log(d) + math.Log(v)
		}
	}
}

// Shuffle permutes x uniformly at random (Fisher and Yates).
func (s *Stream) Shuffle(x []int32) {
	for i := len(x) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}
