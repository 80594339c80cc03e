package nightly

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rollcall/bench/run/conditions"
	"rollcall/nets/cpu/kernels/reference"
	"rollcall/results/stats"
	"rollcall/results/track"
)

// A sample of a short metric repeats its call for the suite's SampleTime, but leastParts times at least. It reads the
// clocks after every call, or after so many that they take partTime. The processor time of the sample is that of its
// fastest parts, the first tenth: those that no other process has interrupted, after which the caches hold something
// else.
const (
	partTime     = 300 * time.Microsecond
	leastParts   = 8
	fastestParts = 0.1
)

// maxRepeat is the most calls in a part. It ends the search for a number of calls if a call takes next to no time.
const maxRepeat = 1 << 20

// units says how many of a unit a second has. Metrics of rounds, steps and evaluations are in ms, the others in µs.
var units = map[string]float64{"ms": 1e3, "µs": 1e6}

type metric struct {
	name, unit string
	of         int             // of the measured things that one call does: a call of E local steps has E
	loop       *reference.Loop // on as many threads as the calls use; nil: without a reference, as on a card
}

// parts are the calls of a sample: how many calls a part has, and how many parts there are.
type parts struct{ calls, count int }

// short takes a sample of a short call. Once a night it finds out how many calls fill a part, which warms up too.
func (b *Bench) short(ctx context.Context, m metric, call func() error) error {
	p, known := b.repeat[m.name]
	if !known {
		var took time.Duration
		for p.calls = 1; ; p.calls = min(2*p.calls, maxRepeat) {
			var err error
			if took, err = timed(ctx, p.calls, call); err != nil {
				return fmt.Errorf("track: %s: %w", m.name, err)
			}
			if took >= partTime || p.calls == maxRepeat {
				break
			}
		}
		p.count = max(leastParts, int(b.Suite.SampleTime/max(took, 1)))
		b.repeat[m.name] = p // the same in all passes, so that all samples are of as many calls
	}
	return b.sample(ctx, m, p, call)
}

// sample measures parts of calls, between two runs of the reference loop, and records the sample. Counts are of all
// parts.
func (b *Bench) sample(ctx context.Context, m metric, p parts, call func() error) error {
	var before time.Duration
	if m.loop != nil {
		before = m.loop.Run()
	}
	processor := make([]float64, p.count)
	if _, err := b.counters.Read(); err != nil {
		return fmt.Errorf("track: %s: %w", m.name, err)
	}
	begun := time.Now()
	for i := range processor {
		from := conditions.ProcessorTime()
		if _, err := timed(ctx, p.calls, call); err != nil {
			return fmt.Errorf("track: %s: %w", m.name, err)
		}
		processor[i] = (conditions.ProcessorTime() - from).Seconds()
	}
	wall := time.Since(begun).Seconds()
	counts, err := b.counters.Read()
	if err != nil {
		return fmt.Errorf("track: %s: %w", m.name, err)
	}
	unit := units[m.unit] / float64(p.calls*m.of)
	if m.loop == nil {
		b.record(m, wall*unit/float64(p.count), 0, 0)
		return nil
	}
	// The faster one, which was disturbed less: what disturbs the loop did not disturb the fastest parts.
	loop := min(before, m.loop.Run()).Seconds()
	b.record(m, wall*unit/float64(p.count), stats.Quantile(processor, fastestParts).Value*unit, loop*units["µs"])
	calls := float64(p.calls * p.count * m.of)
	b.recordPlain("instructions/"+m.name, "count", counts.Instructions/calls)
	b.recordPlain("cycles/"+m.name, "count", counts.Cycles/calls)
	return nil
}

// record appends a sample to its metric: wall time and processor time in the unit of the metric, and the reference loop
// in µs. A sample without a loop, or of a system that does not say the processor time, has wall time alone. Metrics are
// in the order of their first samples, which a map would lose.
func (b *Bench) record(m metric, wall, processor, loop float64) {
	i := slices.IndexFunc(b.values, func(v track.Measurement) bool { return v.Metric == m.name })
	if i < 0 {
		i = len(b.values)
		b.values = append(b.values, track.Measurement{Metric: m.name, Unit: m.unit})
	}
	v := &b.values[i]
	v.Wall = append(v.Wall, wall)
	if processor > 0 && loop > 0 {
		v.Processor, v.Reference = append(v.Processor, processor), append(v.Reference, loop)
	}
}

// recordPlain appends a number that is no time to its metric. 0 stands for one that is not known.
func (b *Bench) recordPlain(name, unit string, value float64) {
	if value > 0 {
		b.record(metric{name: name, unit: unit}, value, 0, 0)
	}
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
