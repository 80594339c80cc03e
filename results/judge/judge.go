// Package judge says whether a number of ours is the printed one: it agrees, it differs, or it cannot be told.
//
//	o := judge.Numbers(ours, printed, judge.Within(0.01)) // accuracies, with a margin of one point
//	fmt.Println(o.Verdict, o.Seeds)                       // cannot be told, and 14 seeds would tell
//
// Every verdict of the program comes from here: of tables and figures, of comparisons, exports, reports and pages.
package judge

import (
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

// Verdict is the answer to a question about a number or a sentence of a paper.
type Verdict string

// The verdicts.
const (
	Agrees    Verdict = "agrees"         // shown to be equal within the margin, or shown to hold
	Differs   Verdict = "differs"        // shown to be farther apart than the margin, or shown not to hold
	Untold    Verdict = "cannot be told" // our seeds, or the paper's, are too few for either
	NotJudged Verdict = ""               // of another size than the paper's, or not run, or shown and no more
)

// The levels of the tests. A wrong "agrees" has a probability of at most 5 % (two one-sided tests, Schuirmann 1987:
// the interval of 90 % lies within the margin), and so has a wrong "differs" (the interval of 95 % lies outside of it).
const (
	equalLevel  = 0.05 // one-sided
	differLevel = 0.05 // two-sided
	seedsPower  = 0.8  // with which the numbers of seeds that we print would tell
)

// mostSeeds is the largest number of seeds that is printed.
const mostSeeds = 1000

// Margin is how far apart two numbers may be and count as the same.
type Margin struct {
	Width float64 // above 0; of the difference, or of the difference of the logarithms
	Log   bool
}

// Within returns a margin in the unit of the numbers.
func Within(width float64) Margin { return Margin{Width: width} }

// Ratio returns a margin of a share: 0.1 allows 10 % more, and as much less on the logarithmic scale.
func Ratio(share float64) Margin { return Margin{math.Log1p(share), true} }

// back returns a difference on the scale of the margin in the unit of the numbers.
func (m Margin) back(difference, printed float64) float64 {
	if m.Log {
		return printed * math.Expm1(difference)
	}
	return difference
}

// Outcome is how a number of ours compares with a printed one.
type Outcome struct {
	Difference files.Optional `csv:"difference"` // our mean minus the printed one; missing if one is missing
	Margin     files.Optional `csv:"margin"`     // in the unit of the numbers; of a ratio, upwards
	Low        files.Optional `csv:"low"`        // the interval of 95 % of the difference; missing without a spread
	High       files.Optional `csv:"high"`
	Verdict    Verdict        `csv:"verdict"`
	// of [Untold]: how many seeds of ours would tell, four times in five, if the means and spreads are as they are;
	// 0: no number up to 1000, as the difference is too near to the margin or the print is too wide
	Seeds   int  `csv:"seeds"`
	TooWide bool `csv:"too_wide"` // the spread and the seeds of the print alone leave it open
}

// Numbers compares a mean of ours with a printed one. A printed mean without a spread over seeds is a constant, whose
// own noise nobody knows; one of ours without a spread tells nothing.
func Numbers(ours, printed stats.Estimate, m Margin) (o Outcome) {
	o = Outcome{
		Difference: files.Some(ours.Mean - printed.Mean), Margin: files.Some(m.back(m.Width, printed.Mean)),
		Verdict: Untold,
	}
	d, can := differenceOf(ours, printed, m)
	if !can {
		return o
	}
	half := d.half(ours.N, 1-differLevel/2)
	o.Low = files.Some(m.back(d.mean-half, printed.Mean))
	o.High = files.Some(m.back(d.mean+half, printed.Mean))
	if o.Verdict = d.judge(m.Width); o.Verdict == Untold {
		o.Seeds = fewest(ours.N, func(n int) bool { return d.tells(n, m.Width) })
		exact := d
		exact.ours.Std.Value = 0
		o.TooWide = exact.judge(m.Width) == Untold && math.Abs(d.mean) != m.Width
	}
	return o
}

// differenceOf returns the difference on the scale of a margin, and whether there is one with a spread.
func differenceOf(ours, printed stats.Estimate, m Margin) (d difference, can bool) {
	if m.Log {
		if ours.Mean == 0 && printed.Mean == 0 {
			ours.Mean, printed.Mean = 1, 1
		}
		if !(ours.Mean > 0) || !(printed.Mean > 0) {
			return d, false
		}
		ours, printed = logarithm(ours), logarithm(printed)
	}
	d = difference{ours.Mean - printed.Mean, ours, printed}
	return d, ours.Std.Valid && ours.N > 1 && stats.Finite(d.mean, ours.Std.Value, printed.Std.Value)
}

// logarithm returns the estimate of the logarithm, with the spread that it has to the first order.
func logarithm(e stats.Estimate) stats.Estimate {
	e.Std.Value /= e.Mean
	e.Mean = math.Log(e.Mean)
	return e
}

// difference is a difference of two means; the printed one may have no spread.
type difference struct {
	mean          float64
	ours, printed stats.Estimate
}

// error returns the standard error with n seeds of ours, and its degrees of freedom: a tenth less than Welch's (1947),
// with which three seeds beside ten would be wrong in 5.3 cases of a hundred, and rounded down.
func (d *difference) error(n int) (se, df float64) {
	v := d.ours.Std.Value * d.ours.Std.Value / float64(n)
	if !d.printed.Std.Valid || d.printed.N < 2 {
		return math.Sqrt(v), float64(n - 1)
	}
	w := d.printed.Std.Value * d.printed.Std.Value / float64(d.printed.N)
	if v+w == 0 {
		return 0, float64(n - 1)
	}
	if v == 0 {
		return math.Sqrt(w), float64(d.printed.N - 1)
	}
	return math.Sqrt(v + w), math.Floor(max(1, 0.9*(v+w)*(v+w)/(v*v/float64(n-1)+w*w/float64(d.printed.N-1))))
}

// half returns half the width of an interval: the distance below which the mean is with this probability, if n seeds
// of ours have the spread of those that there are.
func (d *difference) half(n int, probability float64) float64 {
	se, df := d.error(n)
	if se == 0 {
		return stats.Roundoff * (math.Abs(d.ours.Mean) + math.Abs(d.printed.Mean))
	}
	return se * quantile(probability, df)
}

func (d *difference) judge(margin float64) Verdict {
	away := math.Abs(d.mean)
	switch {
	case away <= margin && away+d.half(d.ours.N, 1-equalLevel) <= margin:
		return Agrees
	case away > margin && away-d.half(d.ours.N, 1-differLevel/2) > margin:
		return Differs
	}
	return Untold
}

// tells reports whether n seeds would decide with [seedsPower].
func (d *difference) tells(n int, margin float64) bool {
	away, chance := math.Abs(d.mean), d.half(n, seedsPower)
	return away+chance+d.half(n, 1-equalLevel) <= margin || away-chance-d.half(n, 1-differLevel/2) > margin
}

// fewest returns the smallest number of seeds above n that tells; 0 if none up to [mostSeeds] does.
func fewest(n int, tells func(n int) bool) int {
	for n++; n <= mostSeeds; n++ {
		if tells(n) {
			return n
		}
		n += n / 50 // larger numbers need no more digits
	}
	return 0
}

// quantiles keeps those of Student's t by probability and degrees of freedom, which are few: all are whole numbers.
var quantiles sync.Map

func quantile(probability, df float64) float64 {
	key := [2]float64{probability, df}
	if kept, is := quantiles.Load(key); is {
		return kept.(float64)
	}
	q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(probability)
	quantiles.Store(key, q)
	return q
}

// Ahead answers whether all of some leads are above 0, each the mean difference of pairs of seeds: ahead of one, or of
// all. It agrees if each is above 0 by its own one-sided test. It differs if the smallest t is below what the smallest
// of as many independent ones is in one case of forty (max-t; Šidák 1967: dependent ones are so less often). seeds is
// as in [Outcome].
func Ahead(leads []stats.Estimate) (verdict Verdict, seeds int) {
	n := math.MaxInt
	for _, e := range leads {
		if !e.Std.Valid || e.N < 2 || !stats.Finite(e.Mean, e.Std.Value) {
			return Untold, 0
		}
		n = min(n, e.N)
	}
	if verdict = ahead(leads, n, 0.5); verdict == Untold && leads != nil {
		seeds = fewest(n, func(n int) bool { return ahead(leads, n, seedsPower) != Untold })
	}
	return verdict, seeds
}

// ahead is [Ahead] with n seeds, if chance moves every lead towards 0 by as much as it does with a probability.
func ahead(leads []stats.Estimate, n int, chance float64) Verdict {
	verdict, df := Untold, float64(n-1)
	if leads != nil {
		verdict = Agrees
	}
	move := quantile(chance, df)
	above := quantile(1-equalLevel, df) + move
	below := quantile(math.Pow(1-differLevel/2, 1/float64(len(leads))), df) + move
	for _, e := range leads {
		se := e.Std.Value / math.Sqrt(float64(n))
		switch {
		case -e.Mean > se*below:
			return Differs
		case !(e.Mean > se*above):
			verdict = Untold
		}
	}
	return verdict
}

// Share answers whether more than half of all runs do what yes of n runs did: it agrees if Wilson's interval of 95 %
// (1927) is above one half, and differs if it is below. Fewer than four runs never tell. seeds is as in [Outcome].
func Share(yes, n int) (verdict Verdict, low, high float64, seeds int) {
	if n == 0 {
		return Untold, 0, 1, 0
	}
	low, high = wilson(float64(yes)/float64(n), n)
	switch {
	case low > 0.5:
		return Agrees, low, high, 0
	case high < 0.5:
		return Differs, low, high, 0
	}
	return Untold, low, high, fewest(n, func(more int) bool {
		l, h := wilson(float64(yes)/float64(n), more)
		return l > 0.5 || h < 0.5
	})
}

func wilson(p float64, n int) (low, high float64) {
	z, m := distuv.UnitNormal.Quantile(1-differLevel/2), float64(n)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return (middle - half) / (1 + z*z/m), (middle + half) / (1 + z*z/m)
}

// All returns the verdict of a sentence whose parts all must hold: one that does not is enough. With no part it cannot
// be told.
func All(parts ...Verdict) Verdict {
	all := Agrees
	for _, v := range parts {
		switch v {
		case Differs:
			return Differs
		case Agrees:
		default:
			all = Untold
		}
	}
	if len(parts) == 0 {
		return Untold
	}
	return all
}

// Words returns the verdict for people, with what would tell where nothing does.
func (o Outcome) Words() string {
	switch {
	case o.Verdict != Untold:
		return string(o.Verdict)
	case o.Seeds > 0:
		return fmt.Sprintf("%s: %d seeds would tell", Untold, o.Seeds)
	case o.TooWide:
		return string(Untold) + ": the print is too wide"
	case o.Low.Valid:
		return string(Untold) + ": too near to the margin"
	}
	return string(Untold)
}
