package nightly

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rollcall/results/track"
)

// sampleTime is how long a sample of a short metric takes. It repeats its call for that long, so that the resolution of
// the clock and a single interrupt do not matter.
const sampleTime = 20 * time.Millisecond

// maxRepeat is the most calls in a sample. It ends the search for a number of calls if a call takes next to no time.
const maxRepeat = 1 << 20

// units says how many of a unit a second has. Metrics of rounds, steps and evaluations are in ms, the others in µs.
var units = map[string]float64{"ms": 1e3, "µs": 1e6}

// short takes a sample of a call that is short. Once a night it finds out how many calls fill sampleTime, which warms
// the call up too. of is how many of the measured things one call does: a metric of local steps has calls of E steps.
func (b *Bench) short(ctx context.Context, metric, unit string, of int, call func() error) error {
	n := b.repeat[metric]
	if n == 0 {
		for n = 1; ; n = min(2*n, maxRepeat) {
			took, err := timed(ctx, n, call)
			if err != nil {
				return fmt.Errorf("track: %s: %w", metric, err)
			}
			if took >= sampleTime/2 || n == maxRepeat {
				// The time of these n calls is long enough to tell from it how many calls take sampleTime.
				n = max(1, min(maxRepeat, int(float64(n)*float64(sampleTime)/float64(max(took, 1)))))
				break
			}
		}
		b.repeat[metric] = n // the same in all passes, so that all samples are means over as many calls
	}
	return b.sample(ctx, metric, unit, n, of, call)
}

// sample measures n calls, each of which does `of` of the measured things, and records the mean time of one thing.
func (b *Bench) sample(ctx context.Context, metric, unit string, n, of int, call func() error) error {
	took, err := timed(ctx, n, call)
	if err != nil {
		return fmt.Errorf("track: %s: %w", metric, err)
	}
	b.record(metric, unit, took.Seconds()*units[unit]/float64(n*of))
	return nil
}

// record appends a sample to its metric. Metrics are in the order of their first samples, which a map would lose.
func (b *Bench) record(metric, unit string, x float64) {
	i := slices.IndexFunc(b.values, func(m track.Measurement) bool { return m.Metric == metric })
	if i < 0 {
		i = len(b.values)
		b.values = append(b.values, track.Measurement{Metric: metric, Unit: unit})
	}
	b.values[i].Samples = append(b.values[i].Samples, x)
}

// timed measures n calls. It looks at ctx before it begins only, since engines look at it while they train.
func timed(ctx context.Context, n int, call func() error) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	begun := time.Now()
	for range n {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}
