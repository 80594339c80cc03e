package many

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets/gpu"
)

// Cards returns how many cards the sessions train on; 1 on the CPU, which they share.
func (p *Pool) Cards() int { return len(devices(p.Sessions)) }

// devices returns the devices of sessions, each once.
func devices(sessions []*run.Session) (all []string) {
	for _, ses := range sessions {
		if !slices.Contains(all, ses.Machine.Device) {
			all = append(all, ses.Machine.Device)
		}
	}
	return all
}

// workers returns the sessions that do so many jobs, and tells each how many of them share its device. On several
// cards all sessions work: those without a job take over when a card is lost.
func (p *Pool) workers(jobs int) []*run.Session {
	first := p.Sessions[:min(len(p.Sessions), jobs)]
	all := first
	if p.Cards() > 1 {
		all = p.Sessions
	}
	for _, ses := range all {
		sessions := 0
		for _, other := range first {
			if other.Machine.Device == ses.Machine.Device {
				sessions++
			}
		}
		ses.ShareDevice(max(1, sessions))
	}
	return all
}

// mostLost is how many cards may be lost at one run. Then the fault may be the run's, which would cost all of them.
const mostLost = 2

// crew is how many sessions of a pool work on each device, and what became of the devices.
type crew struct {
	at   map[string]int
	lost map[string]bool // the devices that are lost
	cost map[int]int     // how many devices were lost at a job
}

// newCrew returns a crew in which every session works.
func newCrew(sessions []*run.Session) crew {
	c := crew{at: map[string]int{}, lost: map[string]bool{}, cost: map[int]int{}}
	for _, ses := range sessions {
		c.at[ses.Machine.Device]++
	}
	return c
}

// workers returns how many workers there are on devices that are not lost.
func (c *crew) workers() (n int) {
	for device, workers := range c.at {
		if !c.lost[device] {
			n += workers
		}
	}
	return n
}

// errNoCard is the error of runs that are not made because the last card is lost.
var errNoCard = errors.New("no card is left: repeat the command to resume the other runs")

// isInterrupted reports whether a run was not begun, or not made to its end, for a reason that has nothing to do with
// the run: a repeated command makes it, or goes on with it.
func isInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, errNoCard)
}

// leaves decides whether, and why, a worker ends because of the error of its last job, which other workers then do.
func (w *poolRun) leaves(ctx context.Context, ses *run.Session, n int, err error) (line string, yes bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	device := ses.Machine.Device
	if err == nil || ctx.Err() != nil {
		return "", false
	}
	if w.crew.lost[device] {
		return "", !IsElsewhere(err) && !run.IsFinal(err) // such as a run that had diverged before
	}
	if run.CardIsLost(err) {
		w.crew.lost[device] = true
		w.crew.cost[n]++
		line = fmt.Sprintf("%s: lost (%s)", ses.CardName(), settings.ErrorLine(err))
		if w.crew.workers() > 0 {
			line += ": its runs resume on the other cards"
		} else {
			w.over = errNoCard
		}
		w.changed.Broadcast()
		return line, true
	}
	// The memory of a card is short because of the other engines on this card, that of the host because of all.
	if gpu.OutOfMemory(err) && w.crew.at[device] > 1 || run.FitsAlone(err) && w.crew.workers() > 1 {
		w.crew.at[device]--
		left := files.Count(w.crew.workers(), "run")
		return fmt.Sprintf("%s: %s at a time from now on", ses.OnCard(settings.ErrorLine(err)), left), true
	}
	return "", false
}

// giveBack puts the job of a worker that ends back into the queue, unless it has cost too many cards.
func (w *poolRun) giveBack(ctx context.Context, n int, err error, now time.Time) {
	if w.crew.cost[n] < mostLost || w.over != nil {
		w.queue.Return(n)
		return
	}
	w.jobs[n].Err = fmt.Errorf("%d cards were lost at this run, which is given no other: %w", mostLost, err)
	w.queue.Done(n, now)
	w.finishReady(ctx)
}

// close closes the session of a worker that ends: its engine and data set leave their memory to the other sessions.
func (w *poolRun) close(ses *run.Session) {
	if err := ses.Close(); err != nil {
		run.Logf(w.stderr, "rollcall: %s\n", settings.ErrorLine(err))
	}
}

// closeLost closes the session of a worker that ends, if its card is lost.
func (w *poolRun) closeLost(ses *run.Session) {
	w.lock.Lock()
	lost := w.crew.lost[ses.Machine.Device]
	w.lock.Unlock()
	if lost {
		w.close(ses)
	}
}

// dropLost removes the sessions of lost cards, which are closed, for the next call of [Pool.Run].
func (p *Pool) dropLost(c *crew) {
	if c.workers() == 0 {
		return
	}
	p.Sessions = slices.DeleteFunc(slices.Clone(p.Sessions), func(ses *run.Session) bool {
		return c.lost[ses.Machine.Device]
	})
}
