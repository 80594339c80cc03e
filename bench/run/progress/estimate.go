package progress

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Work is the cost of a run. With the zero value the cost is not known, and no share and no end are shown.
type Work struct {
	Kind       string // runs of the same kind, those of a cell, take the same time
	Rounds     int
	From       int                     // the rounds before are another run's, from which this one is to resume
	Round      float64                 // FLOP of a round with all clients
	Evaluation func(round int) float64 // FLOP of the evaluation after so many rounds, 0: there is none; nil: never any
}

// evaluation returns the FLOP of the evaluations from round 0 to this round, both included.
func (w *Work) evaluation(rounds int) (flop float64) {
	if w.Evaluation == nil {
		return 0
	}
	for t := range rounds + 1 {
		flop += w.Evaluation(t)
	}
	return flop
}

func (w *Work) training(rounds int) float64 { return float64(rounds) * w.Round }

// Left returns the FLOP of a run that has made so many rounds and the evaluations up to there.
func (w *Work) Left(done int) float64 {
	return w.training(w.Rounds-done) + w.evaluation(w.Rounds) - w.evaluation(done)
}

// left returns the FLOP that the run still takes, of training and of evaluations.
func (r *run) left() (training, evaluation float64) {
	switch r.state {
	case hasEnded:
		return 0, 0
	case isAtWork:
		return r.work.training(r.work.Rounds - r.done), max(0, r.evaluation-r.evaluated)
	}
	return r.work.training(r.work.Rounds - r.work.From), r.evaluation - r.earlier
}

// whole returns the FLOP of the run.
func (r *run) whole() float64 {
	return r.work.training(r.work.Rounds-r.work.From) + r.evaluation - r.earlier
}

// all returns the runs of the command, also those that are expected.
func (c *Command) all() []*run { return slices.Concat(c.runs, c.expected) }

// doneFrac returns the share of all work that is done, 0 … 1. Kept and failed runs count as done. NaN: it is not known.
func (c *Command) doneFrac() float64 {
	left, all := 0.0, 0.0
	for _, r := range c.all() {
		training, evaluation := r.left()
		left, all = left+min(training+evaluation, r.whole()), all+r.whole()
	}
	return max(0, min(1, (all-left)/all))
}

// times is how long the work of a command has taken up to now.
type times struct {
	begun time.Time // when the first run started
	all   rates
	kinds map[string]*rates
}

// rates is how long training and evaluation have taken.
type rates struct{ train, evaluate spent }

// spent is the time and the work of n rounds or evaluations.
type spent struct {
	n         int
	sec, flop float64
	in        *spent // the sum over all kinds, which includes this kind; nil: this is the sum
}

// add adds a round or an evaluation to s and to the sum that includes it.
func (s *spent) add(took time.Duration, flop float64) {
	for ; s != nil; s = s.in {
		s.n, s.sec, s.flop = s.n+1, s.sec+took.Seconds(), s.flop+flop
	}
}

func (t *times) ofKind(kind string) *rates {
	if t.kinds == nil {
		t.kinds = map[string]*rates{}
	}
	if t.kinds[kind] == nil {
		t.kinds[kind] = &rates{train: spent{in: &t.all.train}, evaluate: spent{in: &t.all.evaluate}}
	}
	return t.kinds[kind]
}

// secFor returns how many seconds some work takes at the rate of its kind, or at the rate of all kinds if its kind has
// fewer than least measurements. NaN: there are too few.
func (s *spent) secFor(flop float64, least int) float64 {
	switch {
	case flop == 0:
		return 0
	case s.n >= least:
		return flop * s.sec / s.flop
	case s.in != nil:
		return s.in.secFor(flop, least)
	}
	return math.NaN()
}

// roundsMeasured is how many rounds an estimate needs: the first round prepares memory and graphs, and may be slow.
const roundsMeasured = 3

// left returns how long the command will still take; false: that is not known yet.
func (c *Command) left() (time.Duration, bool) {
	sec := 0.0
	for _, r := range c.all() {
		if r.state == hasEnded {
			continue
		}
		training, evaluation := r.left()
		of := c.times.ofKind(r.work.Kind)
		sec += of.train.secFor(training, min(roundsMeasured, r.work.Rounds)) + of.evaluate.secFor(evaluation, 1)
	}
	// The sum above is of runs one after the other. Runs at the same time share the clock, and opening data takes time
	// between runs: the ratio of passed time to measured work accounts for both.
	all := &c.times.all
	sec *= c.now().Sub(c.times.begun).Seconds() / (all.train.sec + all.evaluate.sec)
	if !(sec < 1e9) || math.IsNaN(c.doneFrac()) {
		return 0, false
	}
	return time.Duration(sec * float64(time.Second)), true
}

// Duration returns a time in two units at most: "45 s", "1 min 35 s", "12 min", "1 h 5 min", "2 d 3 h".
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		below, unit, part time.Duration
		words, partWords  string
	}{
		{time.Minute, time.Second, time.Second, "s", ""},
		{10 * time.Minute, time.Minute, time.Second, "min", "s"},
		{time.Hour, time.Minute, time.Minute, "min", ""},
		{day, time.Hour, time.Minute, "h", "min"},
		{math.MaxInt64, day, time.Hour, "d", "h"},
	} {
		rounded := d.Round(u.part)
		if rounded >= u.below {
			continue
		}
		text := fmt.Sprintf("%d %s", rounded/u.unit, u.words)
		if rest := rounded % u.unit / u.part; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, u.partWords)
		}
		return text
	}
	return "centuries" // no duration rounds to more than the longest
}
