//go:build gpu && linux && cgo

package gpu

import (
	"cmp"
	"slices"
	"time"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
)

// profile times kernels one by one. While there is one, waves are launched kernel by kernel with events between them and
// not as CUDA graphs, so that a round takes longer than its kernels together.
type profile struct {
	start *driver.Event
	marks []mark // of the wave that runs
	spare []*driver.Event
	times map[string]*nets.KernelTime
}

// mark is an event behind a launch.
type mark struct {
	kernel string
	event  *driver.Event
}

// Profile implements [nets.Profiler].
func (e *Engine) Profile(on bool) error {
	return e.do(func() error {
		if !on {
			return e.endProfile()
		}
		if e.profile != nil {
			return nil
		}
		start, err := e.device.NewEvent()
		if err == nil {
			e.profile = &profile{start: start, times: map[string]*nets.KernelTime{}}
		}
		return err
	})
}

func (e *Engine) endProfile() error {
	p := e.profile
	if p == nil {
		return nil
	}
	e.profile = nil
	first := p.start.Destroy()
	for _, m := range p.marks {
		p.spare = append(p.spare, m.event)
	}
	for _, event := range p.spare {
		if err := event.Destroy(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Kernels implements [nets.Profiler]: of the waves since the profile was begun, the longest first.
func (e *Engine) Kernels() (times []nets.KernelTime) {
	_ = e.do(func() error {
		if e.profile != nil {
			for _, k := range e.profile.times {
				times = append(times, *k)
			}
		}
		return nil
	})
	slices.SortFunc(times, func(a, b nets.KernelTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Kernel, b.Kernel))
	})
	return times
}

// mark puts an event behind what has just been launched.
func (p *profile) mark(e *Engine, kernel string) error {
	var event *driver.Event
	if n := len(p.spare); n > 0 {
		event, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		var err error
		if event, err = e.device.NewEvent(); err != nil {
			return err
		}
	}
	p.marks = append(p.marks, mark{kernel, event})
	return event.Record(e.stream)
}

// add takes over the times of a wave that has been waited for.
func (p *profile) add() error {
	before := p.start
	for _, m := range p.marks {
		ms, err := m.event.Since(before)
		if err != nil {
			return err
		}
		k := p.times[m.kernel]
		if k == nil {
			k = &nets.KernelTime{Kernel: m.kernel}
			p.times[m.kernel] = k
		}
		k.Launches++
		k.Time += time.Duration(ms * float64(time.Millisecond))
		before = m.event
	}
	for _, m := range p.marks {
		p.spare = append(p.spare, m.event)
	}
	p.marks = p.marks[:0]
	return nil
}
