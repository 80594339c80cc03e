package predict

import (
	"math"
	"slices"
)

// Work is a launch among the launches of a step.
type Work struct {
	Times
	Share float64 // of the card's multiprocessors, busy on average while it runs alone: above 0, at most 1
	After []int   // the launches, by their numbers in the step, that have ended when it begins
}

// Work returns a launch for so many clients as a part of a step, in which it waits for some others. The multiprocessor
// with the most blocks ends last: those with fewer blocks are free for other launches before.
func (c Card) Work(l Launch, clients int, after []int) Work {
	blocks := float64(l.Blocks*clients) / float64(c.Multiprocessors)
	return Work{c.Predict(l, clients), blocks / math.Ceil(blocks), after}
}

// Ends returns the seconds after which each launch of a step ends. A launch waits only for launches before it in the
// list, and begins c.Launch after the last of them has ended.
//
// Launches that run at the same time share the multiprocessors: a launch gets the share that it keeps busy alone, if
// the launches that began before it leave so much, else what they leave, and is slower by as much. One that fills the
// card leaves nothing, even where the one is limited by memory and the other by issue. Beyond that they do not slow
// each other down: the model takes for granted that the blocks of two launches fit the free multiprocessors side by
// side, that those of launches with few blocks do not ask for more memory than there is, and that the driver lets as
// many launches run at once as may.
func (c Card) Ends(step []Work) []float64 {
	s := simulation{step: step, ends: make([]float64, len(step))}
	for i := range step {
		s.ends[i] = math.Inf(1)
		s.left = append(s.left, step[i].Total-c.Launch)
	}
	for s.open() > 0 {
		s.advance(c.Launch)
	}
	return s.ends
}

// simulation is a step that has run for some time.
type simulation struct {
	step    []Work
	now     float64
	left    []float64 // seconds that each launch would still take alone
	ends    []float64 // infinite: has not ended
	running []int     // in the order in which they began
}

// open returns how many launches have not ended.
func (s *simulation) open() (n int) {
	for _, end := range s.ends {
		if math.IsInf(end, 1) {
			n++
		}
	}
	return n
}

// begins returns when a launch begins; infinite if one that it waits for has not ended.
func (s *simulation) begins(i int, launch float64) float64 {
	last := 0.0
	for _, n := range s.step[i].After {
		last = max(last, s.ends[n])
	}
	return last + launch
}

// advance goes on until the next launch begins or ends.
func (s *simulation) advance(launch float64) {
	next := math.Inf(1)
	for i := range s.step {
		if !math.IsInf(s.ends[i], 1) || slices.Contains(s.running, i) {
			continue
		}
		if begins := s.begins(i, launch); begins <= s.now {
			s.running = append(s.running, i)
		} else {
			next = min(next, begins)
		}
	}
	speeds, free := make([]float64, len(s.running)), 1.0
	for n, i := range s.running {
		share := min(free, s.step[i].Share)
		free -= share
		if speeds[n] = share / s.step[i].Share; speeds[n] > 0 {
			next = min(next, s.now+s.left[i]/speeds[n])
		}
	}
	const tiny = 1e-15 // seconds: below what rounding leaves
	var still []int
	for n, i := range s.running {
		if s.left[i] -= speeds[n] * (next - s.now); s.left[i] > tiny {
			still = append(still, i)
		} else {
			s.ends[i] = next
		}
	}
	s.now, s.running = next, still
}
