package ab

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"

	"rollcall/results/stats"
)

// Bisect looks for the first slow one of a series of builds, in the order in which they were made. The first is fast,
// the last is slow, and in between the speed changes once.
type Bisect struct {
	Rule   Rule
	Passes int // in which the first and the last are compared
	Most   int // passes in which one between them is compared with both; more if these are too few for the level

	// Measure measures builds in turn, in one pass, and returns one number of each, above 0; less is better. If the
	// error is a *[ProgramError], the program of this index cannot be measured.
	Measure func(ctx context.Context, builds ...int) ([]float64, error)
	// Say is told of every pass: of the ends, for which build is 0, or of a build between them.
	Say func(build, pass int)
}

// Side says which end of the series a build is like.
type Side string

// The sides.
const (
	Fast    Side = "fast"
	Slow    Side = "slow"
	HalfWay Side = "cannot tell" // after the most passes
	Skipped Side = "skipped"     // it cannot be measured
)

// Probe is what is known about a measured build.
type Probe struct {
	Build  int
	Side   Side
	Passes int
	Change float64 // to the first one, as a fraction
	Low    float64 // the interval of the change
	High   float64
	Err    error // of a skipped one
}

// Found is the answer of a search. The first slow build is one of Fast+1 … Slow, and if these are one it is found.
type Found struct {
	Fast, Slow int     // the last build known to be fast, and the first known to be slow
	Probes     []Probe // in the order in which they were measured
}

// Alone reports whether the first slow build is found.
func (f *Found) Alone() bool { return f.Slow == f.Fast+1 }

// ErrNoDifference is the error of a search whose last build is not shown to be slower than the first.
var ErrNoDifference = errors.New("the last one is not shown to be slower")

// Find searches n builds, at least 2. In place of a build that cannot be measured it takes a neighbour, as long as
// there is one. It ends at a build that is nearer to neither end after the most passes. If every build is as fast as
// one of the ends and none is skipped, the answer is wrong with a probability of at most [Rule.Level].
func (b Bisect) Find(ctx context.Context, n int) (found *Found, err error) {
	found = &Found{Slow: n - 1}
	ends, err := b.ends(ctx, n-1)
	if err != nil {
		return found, err
	}
	change := b.Rule.Change(ends)
	found.Probes = []Probe{
		{Build: 0, Side: Fast, Passes: b.Passes},
		{Build: n - 1, Side: Slow, Passes: b.Passes, Change: change.Change, Low: change.Low, High: change.High},
	}
	if change.Verdict != Worse {
		found.Probes[1].Side = HalfWay
		return found, ErrNoDifference
	}
	// So many of the n−2 builds between the ends are measured at most, each with a number of looks. The level is
	// divided among all looks (Bonferroni).
	level := b.Rule.Level / float64(max(1, bits.Len(uint(n-2))*looks))
	skipped := map[int]bool{}
	for {
		middle, any := between(found.Fast, found.Slow, skipped)
		if !any {
			return found, nil
		}
		probe, err := b.compare(ctx, middle, n-1, level)
		if err != nil {
			return found, err
		}
		found.Probes = append(found.Probes, probe)
		switch probe.Side {
		case Fast:
			found.Fast = middle
		case Slow:
			found.Slow = middle
		case HalfWay:
			return found, nil
		case Skipped:
			skipped[middle] = true
		}
	}
}

// ends measures the first and the last build in turn.
func (b Bisect) ends(ctx context.Context, last int) (s Series, err error) {
	for pass := range b.Passes {
		x, err := b.Measure(ctx, 0, last)
		if err != nil {
			return s, err
		}
		s.Old, s.New = append(s.Old, x[0]), append(s.New, x[1])
		b.Say(0, pass+1)
	}
	return s, nil
}

// looks is how often the passes of a build are looked at.
const looks = 4

// lookAfter returns the numbers of passes after which they are looked at, in ascending order: first when so small a
// p-value as level is possible, last after the most passes, and in between in equal ratios.
func (b Bisect) lookAfter(level float64) (passes [looks]int) {
	first := 1 + int(math.Ceil(math.Log2(1/level)))
	ratio := math.Max(1, float64(b.Most)/float64(first))
	for i := range passes {
		passes[i] = int(math.Round(float64(first) * math.Pow(ratio, float64(i)/(looks-1))))
	}
	return passes
}

// compare measures a build in turn with the first and the last until it is known to which it is nearer.
func (b Bisect) compare(ctx context.Context, build, last int, level float64) (p Probe, err error) {
	p = Probe{Build: build, Side: HalfWay}
	var above []float64 // logarithm of the number over that of the half-way point
	var change []float64
	after := b.lookAfter(level)
	for p.Passes < after[looks-1] {
		x, err := b.Measure(ctx, 0, build, last)
		switch skip, is := errors.AsType[*ProgramError](err); {
		case ctx.Err() != nil:
			return p, ctx.Err()
		case is && skip.Program == 1:
			return Probe{Build: build, Side: Skipped, Passes: p.Passes, Err: skip.Err}, nil
		case err != nil:
			return p, err
		}
		first, middle, slow := math.Log(x[0]), math.Log(x[1]), math.Log(x[2])
		above, change = append(above, middle-(first+slow)/2), append(change, middle-first)
		p.Passes++
		b.Say(build, p.Passes)
		if !slices.Contains(after[:], p.Passes) {
			continue
		}
		center, low, high := stats.SignedRankInterval(change, b.Rule.Level)
		p.Change, p.Low, p.High = math.Expm1(center), math.Expm1(low), math.Expm1(high)
		switch _, low, high := stats.SignedRankInterval(above, level); {
		case high < 0:
			p.Side = Fast
			return p, nil
		case low > 0:
			p.Side = Slow
			return p, nil
		}
	}
	return p, nil
}

// between returns the build nearest to the middle of two that was not skipped; ok is false if there is none.
func between(fast, slow int, skipped map[int]bool) (middle int, ok bool) {
	center := (fast + slow) / 2
	for away := range slow - fast {
		for _, i := range []int{center - away, center + away} {
			if i > fast && i < slow && !skipped[i] {
				return i, true
			}
		}
	}
	return 0, false
}
