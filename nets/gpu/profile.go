//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"slices"
	"time"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// profile times kernels one by one. While an engine has a profile, waves are queued launch by launch, with an event
// after each, and not as CUDA graphs. A round therefore takes longer than its kernels together, and a kernel that is
// shorter than the processor's time for a launch seems longer than it is: time kernels of a few µs with benchmarks
// instead.
type profile struct {
	marks []mark                      // not yet added up
	spare []*driver.Event             // events to use again
	times map[string]*nets.KernelTime // by kernel
}

// mark is an event behind a launch or a copy in the stream. A mark without a name begins a group of launches.
type mark struct {
	what        string  // kernel or copy; "" begins a group
	flop, bytes float64 // operations, and bytes moved at the least
	event       *driver.Event
}

// usage counts the slots of a wave that are in use, and among them the slots with a row of momentum and the slots with
// a row of drift. The cost of a launch depends on it.
type usage struct{ slots, momenta, drifts int }

// Profile implements [nets.Profiler].
func (e *Engine) Profile(on bool) error {
	return e.do(func() error {
		if !on {
			return e.endProfile()
		}
		if e.profile == nil {
			e.profile = &profile{times: map[string]*nets.KernelTime{}}
		}
		return nil
	})
}

// endProfile stops the timing of kernels and gives the events back.
func (e *Engine) endProfile() error {
	p := e.profile
	if p == nil {
		return nil
	}
	e.profile = nil
	for _, m := range p.marks {
		p.spare = append(p.spare, m.event)
	}
	var first error
	for _, event := range p.spare {
		first = cmp.Or(first, event.Destroy())
	}
	return first
}

// Kernels implements [nets.Profiler]. Times count from the start of the profile.
func (e *Engine) Kernels() (times []nets.KernelTime) {
	_ = e.do(func() error {
		if e.profile == nil {
			return nil
		}
		if err := e.stream.Synchronize(); err != nil {
			return err
		}
		err := e.collect()
		for _, k := range e.profile.times {
			times = append(times, *k)
		}
		return err
	})
	slices.SortFunc(times, func(a, b nets.KernelTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Kernel, b.Kernel))
	})
	return times
}

// timing reports whether the launches that are queued now are timed.
func (e *Engine) timing() bool { return e.profile != nil }

// begin starts a group of launches: the time of the first one counts from here. Without a profile begin, mark and
// collect do nothing.
func (e *Engine) begin() error { return e.mark("", 0, 0) }

// mark puts an event behind the launch or copy that was just queued. The time since the event before it is the time of
// that launch.
func (e *Engine) mark(what string, flop, bytes float64) error {
	p := e.profile
	if !e.timing() {
		return nil
	}
	var event *driver.Event
	if n := len(p.spare); n > 0 {
		event, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		var err error
		if event, err = e.device.NewEvent(); err != nil {
			return err
		}
	}
	if err := event.Record(e.stream); err != nil {
		p.spare = append(p.spare, event)
		return err
	}
	p.marks = append(p.marks, mark{what, flop, bytes, event})
	return nil
}

// collect adds up the times of all marks. The caller has waited for the stream.
func (e *Engine) collect() error {
	p := e.profile
	if p == nil {
		return nil
	}
	var before *driver.Event
	for _, m := range p.marks {
		if m.what != "" {
			ms, err := m.event.Since(before)
			if err != nil {
				return err
			}
			k := p.times[m.what]
			if k == nil {
				k = &nets.KernelTime{Kernel: m.what}
				p.times[m.what] = k
			}
			k.Launches++
			k.Time += time.Duration(ms * float64(time.Millisecond))
			k.FLOP += m.flop
			k.Bytes += m.bytes
		}
		before = m.event
	}
	for _, m := range p.marks {
		p.spare = append(p.spare, m.event)
	}
	p.marks = p.marks[:0]
	return nil
}

// use reads the usage of a group of a wave from its plan: for the launches of a step, and for the launch that fills the
// weights. In evaluation the two differ, since units of one model share one row. Both are zero when launches are not
// timed.
func (e *Engine) use(w *wave, group int) (slots, rows usage) {
	if !e.timing() {
		return usage{}, usage{}
	}
	count := func(slots []kernels.Slot) usage {
		u := usage{slots: len(slots)}
		for _, s := range slots {
			if s.Momentum != 0 {
				u.momenta++
			}
			if s.Drift != 0 {
				u.drifts++
			}
		}
		return u
	}
	p := e.stagedPlan(w)
	slots = count(p.slots[group*w.frames[0].capacity:][:p.works[group].Clients])
	if w.key.train {
		return slots, slots
	}
	return slots, count(p.rowSlots[:p.rowWork.Clients])
}
