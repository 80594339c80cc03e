//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"slices"
	"time"
	"unsafe"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// profile times kernels one by one. While there is one, waves are launched kernel by kernel with events between them
// and not as CUDA graphs, so that a round takes longer than its kernels together. What is shorter than a launch takes
// the processor is timed too long: benchmarks, not this, are for kernels of a few µs.
type profile struct {
	marks []mark // not yet added up
	spare []*driver.Event
	times map[string]*nets.KernelTime
}

// mark is an event behind a launch or a copy, what of that took; or, where what is empty, the beginning of a group of
// them.
type mark struct {
	what        string
	flop, bytes float64
	event       *driver.Event
}

// usage is how many slots of a wave are in use, and how many of these have rows of momentum and of drift.
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

// Kernels implements [nets.Profiler]: all since the profile was begun, the longest first.
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

// timing reports whether what is queued now is timed.
func (e *Engine) timing() bool { return e.profile != nil && !e.capturing }

// begin starts a group: what is marked next is timed from here. Without a profile begin, mark and collect do nothing.
func (e *Engine) begin() error { return e.mark("", 0, 0) }

// mark puts an event behind what has just been queued: from the mark or the beginning in front to here is its time.
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

// collect adds up the times of all marks; the stream has been waited for.
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

// use tells from the plan in the staging memory what a wave's kernels work on: its slots, and in evaluation the rows
// that are rounded for them. Nothing where nothing is timed.
func (e *Engine) use(w *wave) (slots, rows usage) {
	if !e.timing() {
		return usage{}, usage{}
	}
	count := func(work, at int) (u usage) {
		u.slots = int((*kernels.Work)(unsafe.Pointer(&e.staging[work])).Clients)
		for _, s := range unsafe.Slice((*kernels.Slot)(unsafe.Pointer(&e.staging[at])), u.slots) {
			if s.Momentum != 0 {
				u.momenta++
			}
			if s.Drift != 0 {
				u.drifts++
			}
		}
		return u
	}
	slots = count(w.at.work, w.at.slots)
	if w.key.train {
		return slots, slots
	}
	return slots, count(w.at.rows, w.at.rowSlots)
}
